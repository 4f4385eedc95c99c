"""xcwork beside the programs people would use instead: precision, time, memory and size, in one run.

    pip install .[peers]
    python benchmarks/peers.py DATA … [--systems a;b] [--repeats 3] [--pecos PYTHON] [--out FILE.json]

Every system gets the same unit rows (of texts 50,000 words and 50,000 pairs) and trains and predicts in a process of
its own on all cores: label trees with three trees, a beam of 10 and at most 100 labels a leaf, PECOS XR-Linear,
omikuji and napkinXC with their defaults, napkinXC also with squared hinge and a beam. `--pecos` names the interpreter
of an environment with `pip install libpecos "numpy<2"`. *ms/document* is a batch of all test documents on all cores,
*ms alone* the median of documents asked for one by one. *×* is the time of the system over that of `xcwork label_tree`.
With repeats the median is shown, and the spread of training (largest over smallest) as the last column.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from _common import combined, conditions, described, markdown_table, versions, write_json
from _peers import SYSTEMS, in_own_process, prepare

COLUMNS = (
    "system", "P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5", "train s", "train CPU s", "train ×", "ms/document",
    "predict ×", "ms alone", "peak MB", "model MB", "spread",
)  # fmt: skip
REFERENCE = "xcwork label_tree"


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    reference = next((row for row in rows if row["system"] == REFERENCE and "failed" not in row), None)
    if reference is None:
        return rows
    pairs = {"train ×": "train s", "predict ×": "ms/document"}
    return [
        row if "failed" in row else row | {name: row[of] / reference[of] for name, of in pairs.items()} for row in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="separated by semicolons")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--pecos", help="the interpreter of an environment with libpecos")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    facts, tables = conditions(versions=versions("omikuji", "napkinxc")), {}
    systems = [name for name in options.systems.split(";") if options.pecos or not name.startswith("PECOS")]
    for source in options.data:
        with tempfile.TemporaryDirectory() as folder:
            size = prepare(source, Path(folder))
            found: dict[str, list[dict[str, Any]]] = {name: [] for name in systems}
            for _ in range(options.repeats):
                for name, rows in found.items():
                    python = {"python": options.pecos} if name.startswith("PECOS") else {}
                    rows.append(in_own_process(name, Path(folder), **python))
        rows = with_ratios([combined(rows) for rows in found.values()])
        tables[source] = {"size": size, "rows": rows, "raw": found}
        about = ", ".join(f"{number:,} {name}" for name, number in size.items())
        print(
            f"\n### {Path(source).name}: {about}\n\n{markdown_table(rows, COLUMNS)}\n\n{described(facts)}", flush=True
        )
        if options.out:
            write_json(options.out, {"conditions": facts, "tables": tables})


if __name__ == "__main__":
    main()
