"""What people see in a terminal: clean text, tables, progress bars.

Label names and documents come from files of unknown origin. A terminal obeys escape codes wherever they stand, so no
text reaches it before `clean_text` has made every control character visible; rich markup is never parsed in such text.
Results go to standard output and everything about the way there (progress, notes, errors) to standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, Self, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from xcwork.export.text import clean_text
from xcwork.progress import Callback

FILE_COLUMNS = 240  # where the output is not a terminal: a file or a pipe should get whole names
UPDATES_PER_SECOND = 10
MIN_PHASE_SECONDS = 1.0  # in a file, phases that are shorter say nothing
LINE_INTERVAL_SECONDS = 10.0  # in a file, between two lines of a phase


def open_output() -> Console:
    """Return standard output, as it is now."""
    return _open_console(sys.stdout)


def open_messages() -> Console:
    """Return standard error, as it is now."""
    return _open_console(sys.stderr)


def _open_console(stream: TextIO) -> Console:
    """Return a console that shows text as it is: no markup, no emoji for `:name:`, no colours for numbers."""
    width = None if stream.isatty() else FILE_COLUMNS
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def print_note(text: object) -> None:
    """Print one line of information on standard error."""
    open_messages().print(Text(clean_text(text)), soft_wrap=True)


def render_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Return a table of plain values: numbers are right-aligned, everything else is cleaned text."""
    cells = [list(row) for row in rows]
    table = Table(header_style="bold", box=None, pad_edge=False)
    for position, column in enumerate(columns):
        numeric = all(isinstance(row[position], int | float | None) for row in cells) and bool(cells)
        table.add_column(Text(column), justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(_format_cell(value)) for value in row))
    return table


def _format_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}"
    return clean_text(value)


class ProgressBar(Callback):
    """A bar for every phase under way, on standard error; where that is no terminal, a line now and then.

    A `quiet` bar shows nothing.

        with ProgressBar() as bar:
            method.fit(train, callbacks=[bar])
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = open_messages()
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
            self._tasks[phase] = self._progress.add_task(_escape_markup(phase), total=total, values="")

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
            and now - max(self._begun[phase], self._shown.get(phase, 0.0)) >= LINE_INTERVAL_SECONDS
        ):
            self._shown[phase] = now
            print_note(f"{phase}: {step:,}" + ("" if total is None else f" of {total:,}"))
        return False

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        if phase in self._tasks:
            shown = "  ".join(f"{clean_text(name)} {value:.4g}" for name, value in values.items())
            self._progress.update(self._tasks[phase], values=_escape_markup(shown))

    def on_phase_end(self, phase: str) -> None:
        if phase not in self._tasks:
            return
        self._progress.update(self._tasks[phase], visible=False)
        seconds = time.monotonic() - self._begun[phase]
        if not self._live and not self._quiet and seconds >= MIN_PHASE_SECONDS:
            print_note(f"{phase}: {seconds:.1f} s")


def _escape_markup(text: str) -> str:
    """Return `text` for a rich column, which would read square brackets as markup."""
    return clean_text(text).replace("[", "\\[")
