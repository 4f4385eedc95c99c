"""`xcwork bench` runs a benchmark of the checkout; an installed package has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from xcwork.cli.arguments import Home, Json
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError, XcworkError

CHECKOUT = Path(__file__).resolve().parents[2]  # or the folder of installed packages


def find_benchmarks() -> list[str]:
    """Return the names of the benchmarks beside this package; none where it was installed from a wheel."""
    folder = CHECKOUT / "benchmarks"
    return [path.stem for path in sorted(folder.glob("[!_]*.py"))] if (CHECKOUT / "pyproject.toml").is_file() else []


def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Which one; without it they are listed.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Run a benchmark of the checkout; further arguments go to it."""
    found = find_benchmarks()
    if not found:
        raise ConfigError(f"benchmarks come with the source tree, and {CHECKOUT} is not one; run this in a checkout")
    if name is None:
        print_result(as_json, {"benchmarks": found}, *found)
        return
    if name not in found:
        raise ConfigError(f"there is no benchmark called {name!r}; choose one of {', '.join(found)}")
    # With --json the benchmark's own tables become part of the document.
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"benchmarks.{name}", *context.args],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(CHECKOUT), os.environ.get("PYTHONPATH"))))},
        stdout=subprocess.PIPE if as_json else None,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise XcworkError(f"the benchmark {name} ended with exit code {done.returncode}")
    if as_json:
        print_result(True, {"benchmark": name, "arguments": context.args, "output": done.stdout})
