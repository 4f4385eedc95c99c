"""Parallel work keeps its order, reports its steps and stops when asked."""

from __future__ import annotations

import threading

import pytest

from tests.support.waiting import PATIENCE_SECONDS
from xcwork.compute.parallel import parallel_map
from xcwork.errors import Cancelled
from xcwork.progress import Callback, listen


class Recorder(Callback):
    def __init__(self, stop_at: int | None = None) -> None:
        self.steps: list[tuple[str, int, int | None]] = []
        self.stop_at = stop_at

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.steps.append((phase, step, total))
        return self.stop_at is not None and step >= self.stop_at


@pytest.mark.parametrize("n_jobs", [1, 3, -1])
def test_results_come_in_the_order_of_the_items(n_jobs: int) -> None:
    assert parallel_map(lambda item: item * item, range(50), "squaring", n_jobs=n_jobs) == [i * i for i in range(50)]


def test_every_item_is_a_step_with_a_known_total() -> None:
    recorder = Recorder()
    with listen([recorder]):
        parallel_map(str, [1, 2, 3], "printing", n_jobs=2)
    assert recorder.steps == [("printing", done, 3) for done in range(4)]


def test_a_callback_stops_the_work() -> None:
    recorder = Recorder(stop_at=2)
    with listen([recorder]), pytest.raises(Cancelled, match="stopped during counting"):
        parallel_map(str, range(1000), "counting", n_jobs=1)
    assert recorder.steps[-1][1] == 2


def test_an_error_in_the_work_reaches_the_caller() -> None:
    def refuse(item: int) -> int:
        if item == 3:
            raise ValueError("three")
        return item

    with pytest.raises(ValueError, match="three"):
        parallel_map(refuse, range(10), "refusing", n_jobs=2)


def test_work_really_runs_on_several_threads() -> None:
    meeting = threading.Barrier(2, timeout=PATIENCE_SECONDS)

    def meet(item: int) -> int:
        return meeting.wait() * 0 + item  # only passes when two items are under way at once

    assert parallel_map(meet, [1, 2], "meeting", n_jobs=2) == [1, 2]
