"""Run the guided notebooks from top to bottom and store what they show.

    python scripts/run_notebooks.py [NAME ...]           runs notebooks and writes their outputs back
    python scripts/run_notebooks.py --check [NAME ...]   only runs them

A notebook is written only after all of it ran. What would differ between machines is left out of the file: names and
times of the machine, paths, versions. Datasets and runs land in a temporary home folder. Where chromium is
installed every Plotly figure also gets a picture, which viewers without scripts show.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from notebook_pictures import NOTEBOOKS, add_pictures, browser_path, painter, store

SECONDS_A_CELL = 600  # many times what it needs; a busy machine is no failure
LARGEST = 1_000_000  # bytes of a notebook
# One thread, because sums of several threads may differ in the last digit.
SURROUNDINGS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TERM": "dumb"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


class NotebookError(Exception):
    """A notebook that does not run, with the cell and the reason."""


def names_of(chosen: list[str]) -> list[str]:
    """Names of the chosen notebooks (`02`, `02_zestxml` or a path); all of them when none is chosen."""
    known = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    found = []
    for name in chosen:
        matching = [each for each in known if each.startswith(Path(name).stem)]
        if not matching:
            raise NotebookError(f"there is no notebook {name}; known are {', '.join(known)}")
        found += matching
    return found or known


def execute(notebook: NotebookNode, name: str, home: Path) -> NotebookNode:
    """Run all cells in a fresh kernel that works in `home`; the notebook given is changed."""
    # The kernel of this environment, whatever kernels the machine has besides.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    settings = {**os.environ, **SURROUNDINGS, "XCWORK_HOME": str(home), "PATH": path}
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        kernel_name="python3",
        record_timing=False,
        extra_arguments=["--IPKernelApp.log_level=40"],  # a note about encryption on this very machine
        resources={"metadata": {"path": str(home)}},
    )
    reached: list[int] = []
    client.on_cell_execute = lambda cell, cell_index: reached.append(cell_index)
    try:
        client.execute(env=settings)
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as failure:
        message = COLOUR_CODES.sub("", str(failure)).strip()
        raise NotebookError(f"{name}: cell {reached[-1] + 1 if reached else 1}: {message}") from None
    return notebook


def normalised(notebook: NotebookNode, name: str) -> NotebookNode:
    """The notebook without what differs from machine to machine or from run to run."""
    notebook.metadata = NotebookNode(kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python"))
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{name.replace('_', '-')}-{number:02d}"
        cell.metadata = NotebookNode({key: cell.metadata[key] for key in ("tags", "jupyter") if key in cell.metadata})
        if cell.cell_type == "code":
            cell.outputs = joined_streams(cell.outputs)
    return notebook


def joined_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Neighbouring pieces of printed text as one: where they were cut depends on timing."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == "stream" == last.output_type and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def run(name: str, home: Path, *, write: bool) -> float:
    """Run one notebook; the seconds it took."""
    file = NOTEBOOKS / f"{name}.ipynb"
    notebook = nbformat.read(file, as_version=4)
    begin = time.monotonic()
    execute(notebook, name, home)
    seconds = time.monotonic() - begin
    if write:
        normalised(notebook, name)
        if browser_path():
            with painter() as draw:
                add_pictures(notebook, draw)
        size = len(nbformat.writes(notebook).encode())
        if size > LARGEST:
            raise NotebookError(f"{name}: {size / 1e6:.1f} MB with outputs; show fewer points or figures")
        store(notebook, file)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of notebooks; all of them when left out")
    parser.add_argument("--check", action="store_true", help="run without writing")
    parser.add_argument("--home", type=Path, help="a home folder to use and keep, so that built-in data is made once")
    arguments = parser.parse_args()
    if not arguments.check and not browser_path():
        print("There is no chromium, so figures get no pictures for viewers without scripts.", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(arguments.home or temporary).resolve()
        home.mkdir(parents=True, exist_ok=True)
        try:
            for name in names_of(arguments.names):
                seconds = run(name, home, write=not arguments.check)
                print(f"{name}: {seconds:.0f} s", flush=True)
        except NotebookError as problem:
            raise SystemExit(str(problem)) from None


if __name__ == "__main__":
    main()
