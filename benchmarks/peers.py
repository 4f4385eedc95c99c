"""xcwork beside the programs people would use instead: precision, time, memory and size, in one run.

    pip install .[peers]
    python -m benchmarks.peers DATA … [--systems "a;b"] [--repeats 3] [--once-above 30] [--budget SECONDS]
                               [--pecos PYTHON] [--prepared FOLDER] [--out FILE.json]

Every system gets the same unit rows (of texts 50,000 words and 50,000 pairs) and trains and predicts in a process of
its own on all cores: label trees with one and with three trees, a beam of 10 and at most 100 labels a leaf; PECOS
XR-Linear and napkinXC with their defaults, napkinXC also with squared hinge and a beam. `--pecos` names the interpreter
of an environment with `pip install libpecos "numpy<2"`. *ms/document* is a batch of all test documents on all cores,
*ms alone* the median of documents asked for one by one, *load ms* the time from a saved model to the first answer.
*×* is the training time of the system over that of `xcwork label_tree` with one tree, on the clock; the processor
seconds beside it are less sensitive to what else runs on the machine. A system that trains in less than `--once-above`
seconds is repeated; the median is shown, and the spread of training (largest over smallest processor time).

`--prepared` keeps the features, so that another run does not make them again. Rows that FILE has are not measured
again, so a run that was cut short goes on.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks._common import combined, conditions, described, earlier, machine, markdown_table, versions, write_json
from benchmarks._peers import SYSTEMS, in_own_process, prepare

COLUMNS = (
    "system",
    "P@1",
    "P@3",
    "P@5",
    "PSP@1",
    "PSP@3",
    "PSP@5",
    "train s",
    "train CPU s",
    "train ×",
    "spread",
    "ms/document",
    "CPU ms/document",
    "predict ×",
    "ms alone",
    "load ms",
    "peak MB",
    "model MB",
)
REFERENCE = "xcwork label_tree, 1 tree"


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every row with its times over those of the reference."""
    reference = next((row for row in rows if row["system"] == REFERENCE and "failed" not in row), None)
    if reference is None:
        return rows
    pairs = {"train ×": "train s", "predict ×": "ms/document"}
    return [
        row if "failed" in row else row | {name: row[of] / reference[of] for name, of in pairs.items()} for row in rows
    ]


def features_of(source: str, folder: Path) -> dict[str, int]:
    """How large the data are; their features are in the folder afterwards."""
    size = folder / "size.json"
    if not size.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(size, prepare(source, folder))
    return earlier(size)


def measured(system: str, folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """All repeats of a system; one is enough for what takes long, or fails."""
    how = {"budget": options.budget} | ({"python": options.pecos} if system.startswith("PECOS") else {})
    rows = [in_own_process(system, folder, **how) | {"load": machine()["load"]}]
    while len(rows) < options.repeats and rows[0].get("train s", options.once_above) < options.once_above:
        rows.append(in_own_process(system, folder, **how) | {"load": machine()["load"]})
    return rows


def main(description: str = __doc__, systems: Iterable[str] = SYSTEMS) -> None:
    """Measure `systems`, unless the command line names others."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", help="built-in names or paths")
    parser.add_argument("--systems", default=";".join(systems), help="separated by semicolons")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--once-above", type=float, default=30, help="seconds of training that are not repeated")
    parser.add_argument("--budget", type=float, help="seconds that one process may take")
    parser.add_argument("--pecos", help="the interpreter of an environment with libpecos")
    parser.add_argument("--prepared", type=Path, help="keep the features of all data in this folder")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    facts = conditions(versions=versions("omikuji", "napkinxc") | pecos_version(options.pecos))
    tables = earlier(options.out).get("tables", {})
    systems = [name for name in options.systems.split(";") if options.pecos or not name.startswith("PECOS")]
    for source in options.data:
        with tempfile.TemporaryDirectory() as place:
            folder = (options.prepared or Path(place)) / Path(source).name
            table = tables.setdefault(Path(source).name, {"size": features_of(source, folder), "raw": {}})
            for name in systems:
                if name not in table["raw"]:
                    table["raw"][name] = measured(name, folder, options)
                table["rows"] = with_ratios([combined(rows, "train CPU s") for rows in table["raw"].values()])
                if options.out:
                    write_json(options.out, {"conditions": facts, "tables": tables})
    for name, table in tables.items():
        about = ", ".join(f"{number:,} {what}" for what, number in table["size"].items())
        print(f"\n### {name}: {about}\n\n{markdown_table(table['rows'], COLUMNS)}\n\n{described(facts)}", flush=True)


def pecos_version(python: str | None) -> dict[str, str]:
    """The version of PECOS in its environment."""
    if python is None:
        return {}
    question = "from importlib.metadata import version; print(version('libpecos'))"
    done = subprocess.run([python, "-c", question], capture_output=True, text=True, encoding="utf-8", check=True)
    return {"libpecos": done.stdout.strip()}


if __name__ == "__main__":
    main()
