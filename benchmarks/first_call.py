"""What a first training and a first prediction cost, with nothing compiled and with everything compiled.

    python -m benchmarks.first_call [--methods label_tree zestxml …] [--folder FOLDER] [--out FILE.json]

Each is a process of its own: the method trains on a few hundred documents and answers one text, first with an empty
folder for compiled code, then with what `xcwork compile` left in another one. Seconds are of the processor, because
compiling is all of the difference and a busy machine multiplies the clock; of the clock they are given beside them.
`kernels` counts the compiled functions, the helpers of numba included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks._common import conditions, described, markdown_table, timed, write_json

METHODS = ("label_tree", "zestxml", "one_vs_all", "tfidf", "siamesexml")
DATA = {"n_documents": 400, "n_labels": 150, "n_topics": 8}
SETTINGS = {"siamesexml": {"epochs": 1, "classifier_epochs": 1}}


@contextmanager
def counted_kernels() -> Iterator[list[str]]:
    """Note the functions that numba compiles in the block."""
    from numba.core import event

    names: list[str] = []

    class Compiled(event.Listener):
        def on_start(self, event: Any) -> None:
            pass

        def on_end(self, event: Any) -> None:
            names.append(event.data["dispatcher"].py_func.__name__)

    with event.install_listener("numba:compile", Compiled()):
        yield names


def measure(part: str, method: str, folder: str) -> dict[str, Any]:
    import xcwork
    from xcwork.data.synthetic import make_synthetic

    data = make_synthetic(**DATA) if part == "training" else None
    with counted_kernels() as names, timed() as timing:
        if data is not None:
            trained = xcwork.create(method, **SETTINGS.get(method, {})).fit(data.train)
        else:
            xcwork.load_method(folder).predict("w12 w3 w40", k=5)
    if data is not None:
        trained.save(folder)
    return {"s": round(timing.seconds, 2), "CPU s": round(timing.cpu_seconds, 2), "kernels": len(names)}


def in_own_process(*arguments: str, cache: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_call", "--part", *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def compile_all(methods: list[str], cache: Path) -> None:
    options = [part for name in methods for part in ("--method", name)]
    subprocess.run(
        [sys.executable, "-P", "-m", "xcwork", "compile", *options, "--json"],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        check=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(measure(*options.part)))
        return
    facts, rows = conditions(), []
    with tempfile.TemporaryDirectory() as place:
        compile_all(options.methods, Path(place) / "compiled")
        for method in options.methods:
            model = str(Path(place) / f"model-{method}")
            for part in ("training", "prediction"):
                row: dict[str, Any] = {"method": method, "first": part}
                for cache, name in ((f"empty-{method}-{part}", "nothing compiled"), ("compiled", "compiled")):
                    found = in_own_process(part, method, model, cache=Path(place) / cache)
                    row |= {f"{name}, {what}": value for what, value in found.items()}
                rows.append(row)
                print(json.dumps(row), file=sys.stderr, flush=True)
    print(f"{markdown_table(rows)}\n\n{described(facts)}")
    if options.out:
        write_json(options.out, {"rows": rows, **facts})


if __name__ == "__main__":
    main()
