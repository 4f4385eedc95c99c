"""Label trees with one and with three trees: xcwork beside omikuji and napkinXC, on the same features and in one run.

    pip install .[peers]
    python benchmarks/label_tree.py DATA [--trees 1,3] [--systems a;b] [--set name=value …] [--out FILE.json]

Every system gets the same unit rows (of texts 50,000 words and 50,000 pairs), appends its bias feature, and trains and
predicts in a process of its own on all cores, with the settings of Parabel: balanced halves, at most 100 labels a leaf,
weights below 0.1 dropped, a beam of 10. napkinXC is measured with its own defaults, which are logistic loss and an
exact search, and with squared hinge loss and a beam. `_peers` says what the times contain.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from _common import conditions, described, markdown_table, versions, write_json
from _peers import in_own_process, prepare

SYSTEMS = ("xcwork label_tree", "omikuji", "napkinXC, squared hinge", "napkinXC, logistic")
COLUMNS = (
    "system", "trees", "P@1", "P@3", "P@5", "train s", "train CPU s", "ms/document", "CPU ms/document", "peak MB",
    "model MB",
)  # fmt: skip


def settings_of(system: str, trees: int, given: list[str]) -> dict[str, Any]:
    """What a system is told about the number of trees, and xcwork what the command line says."""
    if system.startswith("napkinXC"):
        return {"ensemble": trees if trees > 1 else 0}
    if system == "omikuji":
        return {"trees": trees}
    from xcwork.methods import method_class

    known = method_class("label_tree").parameters()
    return {"trees": trees} | {name: known[name].parse(value) for name, value in (one.split("=", 1) for one in given)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a built-in name or a path")
    parser.add_argument("--trees", default="1,3", help="numbers of trees, separated by commas")
    parser.add_argument("--systems", default=";".join(SYSTEMS), help="separated by semicolons")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="parameters of xcwork")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    facts = conditions(versions=versions("omikuji", "napkinxc"))
    with tempfile.TemporaryDirectory() as place:
        prepare(options.data, Path(place))
        rows = [
            in_own_process(system, Path(place), settings_of(system, trees, options.set)) | {"trees": trees}
            for trees in map(int, options.trees.split(","))
            for system in options.systems.split(";")
        ]
    print(f"{markdown_table(rows, COLUMNS)}\n\n{described(facts)}", flush=True)
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
