"""Progress reaches whoever listens, and a wish to stop takes effect at the next step."""

from __future__ import annotations

import numpy as np
import pytest

from xcwork.errors import Cancelled
from xcwork.progress import Callback, listen, report, track, track_batches


class Diary(Callback):
    """Writes everything down; asks to stop after `patience` steps of a phase."""

    def __init__(self, patience: int | None = None) -> None:
        self.entries: list[tuple] = []
        self.patience = patience

    def on_phase(self, phase: str, total: int | None) -> None:
        self.entries.append(("begin", phase, total))

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.entries.append(("step", step))
        return self.patience is not None and step >= self.patience

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        self.entries.append(("values", phase, values))

    def on_phase_end(self, phase: str) -> None:
        self.entries.append(("end", phase))


def test_a_loop_tells_its_phase_its_steps_and_its_end() -> None:
    diary = Diary()
    with listen([diary]):
        assert list(track("ab", "reading")) == ["a", "b"]
    assert diary.entries == [("begin", "reading", 2), ("step", 0), ("step", 1), ("step", 2), ("end", "reading")]


def test_a_generator_has_no_total() -> None:
    diary = Diary()
    with listen([diary]):
        list(track((i for i in range(2)), "counting"))
    assert diary.entries[0] == ("begin", "counting", None)


def test_a_wish_to_stop_ends_the_loop_after_the_step() -> None:
    seen: list[int] = []
    with listen([Diary(), Diary(patience=2)]), pytest.raises(Cancelled, match="stopped during counting"):
        seen.extend(track(range(10), "counting"))
    assert seen == [0, 1]


def test_a_wish_that_came_earlier_stops_before_any_work() -> None:
    seen: list[int] = []
    with listen([Diary(patience=0)]), pytest.raises(Cancelled):
        seen.extend(track(range(10), "counting"))
    assert seen == []


def test_every_listener_hears_the_step_at_which_another_stops() -> None:
    first, second = Diary(patience=1), Diary()
    with listen([first, second]), pytest.raises(Cancelled):
        list(track(range(5), "counting"))
    assert ("step", 1) in second.entries


def test_listeners_nest_and_leave() -> None:
    outer, inner = Diary(), Diary()
    with listen([outer]):
        with listen([inner]):
            report("training", loss=0.5)
        report("training", loss=0.25)
    report("training", loss=0.125)
    assert inner.entries == [("values", "training", {"loss": 0.5})]
    assert outer.entries == [("values", "training", {"loss": 0.5}), ("values", "training", {"loss": 0.25})]


@pytest.mark.parametrize(("rows", "size"), [(0, 3), (1, 3), (3, 3), (7, 3)])
def test_batches_cover_every_row_once(rows: int, size: int) -> None:
    X = np.arange(rows * 2).reshape(rows, 2)
    blocks = list(track_batches(X, size, "scoring"))
    assert all(len(block) <= size for block in blocks)
    np.testing.assert_array_equal(np.concatenate([*blocks, X[:0]]), X)
