"""What people see in a terminal: clean text, tables, progress bars.

Label names and documents come from files of unknown origin. A terminal obeys escape codes wherever they stand, so no
text reaches it before `clean` has made every control character visible; rich markup is never parsed in such text.
Results go to standard output and everything about the way there (progress, notes, errors) to standard error.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from xcwork.progress import Callback

# C0 and C1 control characters, DEL, line and paragraph separators, marks that reorder text, lone surrogates.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
WIDE = 240  # columns where the output is not a terminal: a file or a pipe should get whole names
UPDATES_PER_SECOND = 10
WORTH_A_LINE, LINE_EVERY = 1.0, 10.0  # seconds: in a file, quick phases say nothing and long ones not too much


def clean(text: object) -> str:
    r"""`text` on one line, with every character that a terminal would obey made visible.

    >>> clean("red \x1b[31m label\nsecond line")
    'red \\x1b[31m label second line'
    """
    return UNSAFE.sub(_visible, " ".join(re.split(r"[\t\r\n\v\f]+", str(text))))


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def output() -> Console:
    """Standard output, as it is now."""
    return _console(sys.stdout)


def messages() -> Console:
    """Standard error, as it is now."""
    return _console(sys.stderr)


def _console(stream: TextIO) -> Console:
    """Shows text as it is: no markup, no emoji for `:name:`, no colours for what looks like a number."""
    return Console(file=stream, width=None if stream.isatty() else WIDE, markup=False, emoji=False, highlight=False)


def note(text: object) -> None:
    """One line of information on standard error."""
    messages().print(Text(clean(text)), soft_wrap=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table of plain values: numbers stand to the right, everything else is cleaned text."""
    cells = [list(row) for row in rows]
    made = Table(header_style="bold", box=None, pad_edge=False)
    for position, column in enumerate(columns):
        numeric = all(isinstance(row[position], int | float | None) for row in cells) and bool(cells)
        made.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        made.add_row(*(Text(_shown(value)) for value in row))
    return made


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}"
    return clean(value)


class ProgressBar(Callback):
    """A bar for every phase under way, on standard error; where that is no terminal, a line now and then.

    A `quiet` bar shows nothing.

    with ProgressBar() as bar:
        method.fit(train, callbacks=[bar])
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = messages()
        self._live, self._quiet = self._console.is_terminal and not quiet, quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[values]}"),
            console=self._console,
            transient=True,
            disable=not self._live,
            # Left to itself, rich would send what is printed meanwhile to standard error, results included.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._tasks: dict[str, TaskID] = {}
        self._shown: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def refresh(self) -> None:
        """Draw now rather than at the next tick."""
        self._progress.refresh()

    def on_phase(self, phase: str, total: int | None) -> None:
        self._begun[phase] = time.monotonic()
        if phase in self._tasks:
            self._progress.reset(self._tasks[phase], total=total, visible=True)
        else:
            self._tasks[phase] = self._progress.add_task(_escaped(phase), total=total, values="")

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        if phase not in self._tasks:  # attached while the phase was already under way
            self.on_phase(phase, total)
        now = time.monotonic()
        if self._live and (now - self._shown.get(phase, 0.0) >= 1 / UPDATES_PER_SECOND or step == total):
            self._shown[phase] = now
            self._progress.update(self._tasks[phase], completed=step, total=total)
        elif (
            not self._live
            and not self._quiet
            and now - max(self._begun[phase], self._shown.get(phase, 0.0)) >= LINE_EVERY
        ):
            self._shown[phase] = now
            note(f"{phase}: {step:,}" + ("" if total is None else f" of {total:,}"))
        return False

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        if phase in self._tasks:
            shown = "  ".join(f"{clean(name)} {value:.4g}" for name, value in values.items())
            self._progress.update(self._tasks[phase], values=_escaped(shown))

    def on_phase_end(self, phase: str) -> None:
        if phase not in self._tasks:
            return
        self._progress.update(self._tasks[phase], visible=False)
        seconds = time.monotonic() - self._begun[phase]
        if not self._live and not self._quiet and seconds >= WORTH_A_LINE:
            note(f"{phase}: {seconds:.1f} s")


def _escaped(text: str) -> str:
    """`text` for a rich column, which would read square brackets as markup."""
    return clean(text).replace("[", "\\[")
