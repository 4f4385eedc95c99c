"""Where every error of the command line ends: one sentence, and an exit code that says what kind it was.

2 is anything the user can put right: wrong usage, bad data, a missing file, a full disk, too little memory. 130 is
Ctrl-C. Whatever else escapes is a defect of xcwork and keeps its traceback.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from xcwork.errors import XcworkError

USER_ERROR_CODE = 2
INTERRUPTED_CODE = 130
PYTHON_OPTION = re.compile(r"\b([a-z]+(?:_[a-z]+)*)='([^']*)'")


class Ended(XcworkError):
    """A verb ends before its result is there; `facts` (the run, its state) join the error in the JSON document."""

    def __init__(self, sentence: str, *, code: int = USER_ERROR_CODE, **facts: Any) -> None:
        super().__init__(sentence)
        self.code, self.facts = code, facts


class Commands(TyperGroup):
    """The verbs, with xcwork's way of ending."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a verb and end the process, whatever happens, in xcwork's way."""
        args = sys.argv[1:] if args is None else list(args)
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show a character gets its code rather than a crash.
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except typer.TyperException as wrong:
            _exit_with(f"{wrong.format_message()} (see `xcwork --help`)", args)
        except Ended as end:
            _exit_with(str(end), args, end.code, end.facts)
        except XcworkError as problem:
            _exit_with(str(problem), args)
        except MemoryError:
            _exit_with("there is not enough memory for this; use a smaller dataset or smaller parameters", args)
        except OSError as problem:
            where = f"{problem.filename}: " if problem.filename else ""
            _exit_with(f"{where}{problem.strerror or problem}", args)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        """Run a verb; Ctrl-C and a closed pipe end it in order."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Ended("interrupted", code=INTERRUPTED_CODE) from None
        except BrokenPipeError:
            _leave_closed_pipe()


def _exit_with(
    sentence: str, args: Sequence[str], code: int = USER_ERROR_CODE, facts: Mapping[str, Any] | None = None
) -> NoReturn:
    from xcwork.cli.output import print_json
    from xcwork.export.terminal import print_note
    from xcwork.export.text import clean_text

    sentence = rewrite_options(sentence)
    if "--json" in args:
        print_json({"error": clean_text(sentence)} | dict(facts or {}))
    print_note(f"xcwork: {sentence}")
    sys.exit(code)


def rewrite_options(sentence: str) -> str:
    """Return an error with options of datasets as a shell takes them: --option text_column=request."""
    if not PYTHON_OPTION.search(sentence):
        return sentence
    from xcwork.data.readers import list_formats

    known = {name for declared in list_formats() for name in declared.options}

    def rewrite(found: re.Match[str]) -> str:
        name, value = found.groups()
        return f"--option {name}={shlex.quote(value)}" if name in known else found[0]

    return PYTHON_OPTION.sub(rewrite, sentence)


def _leave_closed_pipe() -> NoReturn:
    """End quietly, as every tool does when the reader of its output (`| head`) has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)
