"""Write the formats into data/README.md from the readers' declarations: `python scripts/format_docs.py`.

The table of formats stands between `<!-- formats -->` and `<!-- /formats -->`, the example and the options of a format
between `<!-- format: NAME -->` and `<!-- /format -->`; everything else in the file is written by hand.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

from xcwork.data.readers import FORMATS, import_reader

README = Path(__file__).resolve().parents[1] / "data" / "README.md"
LANGUAGES = {".csv": "csv", ".json": "json", ".jsonl": "json", ".xml": "xml", ".ttl": "turtle"}


def render_table() -> str:
    """Return a row per format, in the order in which they are tried."""
    rows = ["| format | files |", "| --- | --- |"]
    for name in FORMATS:
        rows.append(f"| [`{name}`](#{name}) | {_escape_cell(import_reader(name).FORMAT.title)} |")
    return "\n".join(rows)


def render_format(reader: ModuleType) -> str:
    """Return the example of a format and the table of its options."""
    blocks = [
        f"`{file}`:\n\n```{LANGUAGES.get(Path(file).suffix, '')}\n{content.rstrip()}\n```"
        for file, content in reader.FORMAT.example.items()
    ]
    if reader.FORMAT.example_code:
        blocks.append(f"```python\n{reader.FORMAT.example_code.rstrip()}\n```")
    defaults = {name: each.default for name, each in inspect.signature(reader.read).parameters.items()}
    rows = ["| option | default | meaning |", "| --- | --- | --- |"]
    for name, words in reader.FORMAT.options.items():
        default = "" if defaults[name] is None else f"`{str(defaults[name]).lower()}`"
        rows.append(f"| `{name}` | {default} | {_escape_cell(words)} |")
    return "\n\n".join([*blocks, "\n".join(rows)])


def fill_readme(readme: str) -> str:
    """Return the text of data/README.md with everything between marks written again."""

    def replace_format(found: re.Match[str]) -> str:
        return f"<!-- format: {found[1]} -->\n\n{render_format(import_reader(found[1]))}\n\n<!-- /format -->"

    filled = re.sub(r"<!-- format: (\w+) -->.*?<!-- /format -->", replace_format, readme, flags=re.DOTALL)
    table = f"<!-- formats -->\n\n{render_table()}\n\n<!-- /formats -->"
    return re.sub(r"<!-- formats -->.*?<!-- /formats -->", lambda _: table, filled, flags=re.DOTALL)


def _escape_cell(text: str) -> str:
    """Return text for a cell of a Markdown table, where a bar would begin the next one."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    README.write_text(fill_readme(README.read_text("utf-8")), "utf-8")
