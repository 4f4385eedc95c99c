"""Text of unknown origin must not reach a terminal as commands."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from xcwork.export import terminal
from xcwork.export.terminal import ProgressBar, render_table
from xcwork.export.text import clean_text
from xcwork.progress import listen, report, track

OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "L", "Zl"]), max_size=60))
def test_cleaned_text_is_one_line_that_no_terminal_obeys(text: str) -> None:
    cleaned = clean_text(text)
    assert not OBEYED.search(cleaned)
    assert len(cleaned.splitlines()) <= 1
    cleaned.encode("utf-8")


def test_harmless_text_stays_as_it_is() -> None:
    assert clean_text("Größe: naïve café 東京 [bold]") == "Größe: naïve café 東京 [bold]"


def _rendered(made: object) -> str:
    screen = io.StringIO()
    Console(file=screen, width=100, force_terminal=False).print(made)
    return screen.getvalue()


def test_a_table_shows_markup_and_escape_codes_as_text() -> None:
    shown = _rendered(render_table(("label", "score"), [("[red]\x1b[2Jx", 1.234), ("[/]", None)]))
    assert "[red]\\x1b[2Jx" in shown
    assert "[/]" in shown
    assert "1.23" in shown
    assert "–" in shown


def test_numbers_stand_right_and_text_left() -> None:
    lines = _rendered(render_table(("name", "n"), [("a", 5), ("b", 12345)])).splitlines()
    assert lines[1].rstrip().endswith("     5")
    assert lines[2].rstrip().endswith("12,345")
    assert lines[1].startswith("a")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that have passed; a test moves it."""
    moment = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: moment[0])
    return moment


def test_a_bar_away_from_a_terminal_writes_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], clock: list[float]
) -> None:
    with ProgressBar() as bar, listen([bar]):
        for _ in track(range(6), "long [phase]"):
            report("long [phase]", loss=0.5)
            clock[0] += 4
            for _ in track(range(1000), "quick"):
                pass
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["long [phase]: 3 of 6", "long [phase]: 6 of 6", "long [phase]: 24.0 s"]


def test_a_bar_on_a_terminal_names_phase_count_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(terminal, "open_messages", lambda: Console(file=screen, force_terminal=True, width=120))
    with ProgressBar() as bar, listen([bar]):
        for step in track(range(4), "fitting [x]"):
            report("fitting [x]", loss=0.25)
            if step == 2:
                bar.refresh()
    shown = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert "fitting [x]" in shown
    assert "loss 0.25" in shown
    assert "/4" in shown


def test_a_bar_never_asks_to_stop_and_joins_a_phase_under_way() -> None:
    with ProgressBar() as bar:
        assert bar.on_step("already running", 5, 10) is False
        bar.on_phase_end("already running")
        bar.on_phase_end("never begun")
