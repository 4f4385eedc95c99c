"""Where every error of the command line ends: one sentence, and an exit code that says what kind it was.

2 is anything the user can put right: wrong usage, bad data, a missing file, a full disk, too little memory. 130 is
Ctrl-C. Whatever else escapes is a defect of xcwork and keeps its traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from xcwork.errors import XcworkError

USER_ERROR, INTERRUPTED = 2, 130


class Ended(XcworkError):
    """A verb ends before its result is there; `facts` (the run, its state) join the error in the JSON document."""

    def __init__(self, sentence: str, *, code: int = USER_ERROR, **facts: Any) -> None:
        super().__init__(sentence)
        self.code, self.facts = code, facts


class Commands(TyperGroup):
    """The verbs, with xcwork's way of ending."""

    def main(self, args: Any = None, standalone_mode: bool = True, **settings: Any) -> Any:
        args = sys.argv[1:] if args is None else list(args)
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show a character gets its code rather than a crash.
            stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args=args, standalone_mode=False, **settings)
        except typer.TyperException as wrong:
            _fail(f"{wrong.format_message()} (see `xcwork --help`)", args)
        except Ended as end:
            _fail(str(end), args, end.code, end.facts)
        except XcworkError as problem:
            _fail(str(problem), args)
        except MemoryError:
            _fail("there is not enough memory for this; use a smaller dataset or smaller parameters", args)
        except OSError as problem:
            where = f"{problem.filename}: " if problem.filename else ""
            _fail(f"{where}{problem.strerror or problem}", args)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: typer.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Ended("interrupted", code=INTERRUPTED) from None
        except BrokenPipeError:
            _leave_closed_pipe()


def _fail(sentence: str, args: list[str], code: int = USER_ERROR, facts: Mapping[str, Any] | None = None) -> NoReturn:
    from xcwork.cli.common import print_json
    from xcwork.export.terminal import clean, note

    if "--json" in args:
        print_json({"error": clean(sentence)} | dict(facts or {}))
    note(f"xcwork: {sentence}")
    sys.exit(code)


def _leave_closed_pipe() -> NoReturn:
    """The reader of our output (`| head`) has seen enough; ending quietly is what every tool does then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
