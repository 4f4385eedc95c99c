"""Write the table of methods into README.md from the methods' own declarations: `python scripts/methods_table.py`."""

from __future__ import annotations

import re
from pathlib import Path

from xcwork.methods.registry import METHODS, find_method_class

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- methods -->", "<!-- /methods -->"


def methods_table() -> str:
    """One row per method: name, idea, paper, and whether it finds labels that no training document has."""
    rows = ["| name | idea | paper | zero-shot |", "| --- | --- | --- | --- |"]
    for name in METHODS:
        cls = find_method_class(name)
        idea = (cls.__doc__ or "").strip().splitlines()[0].rstrip(".")
        rows.append(f"| `{name}` | {idea} | {cls.paper or '–'} | {'yes' if cls.capabilities.zero_shot else '–'} |")
    return "\n".join(rows)


def with_table(readme: str) -> str:
    """`readme` with the table between its two marks."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{methods_table()}\n{END}", readme, flags=re.DOTALL)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text("utf-8")), "utf-8")
