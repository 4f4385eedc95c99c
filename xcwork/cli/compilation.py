"""`xcwork compile`: machine code for the kernels now, so that no first training or prediction waits for it."""

from __future__ import annotations

from typing import Annotated

import typer

from xcwork.cli.arguments import Home, Json
from xcwork.cli.output import print_result


def compile_kernels(
    method: Annotated[
        list[str] | None, typer.Option("--method", metavar="NAME", help="Only of this method. Repeatable.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Compile the kernels of all methods now, rather than when they are first used."""
    from xcwork.export.terminal import ProgressBar
    from xcwork.methods.names import find_class
    from xcwork.progress import listen
    from xcwork.runs import compilation

    for name in method or ():
        find_class(name)
    with listen([ProgressBar()]):
        seconds = compilation.compile_kernels(method)
    done = f"compiled for {', '.join(seconds)}" if seconds else "nothing to compile"
    rounded = {name: round(value, 2) for name, value in seconds.items()}
    print_result(as_json, {"compiled": rounded}, f"{done} ({sum(seconds.values()):.0f} s)" if seconds else done)
