"""Processor time becomes time on the clock: by the cores, and by what others do with them."""

from __future__ import annotations

import math

import psutil
import pytest

from xcwork.compute.busyness import (
    AVERAGING_SECONDS,
    SERIAL_SHARE,
    estimate_clock_seconds,
    limit_load,
    measure_load,
)


def test_a_quiet_machine_is_held_up_by_the_serial_share_only() -> None:
    assert estimate_clock_seconds(10.0, n_cores=1) == pytest.approx(10.0)
    assert estimate_clock_seconds(10.0, n_cores=2) == pytest.approx(7.7)
    assert estimate_clock_seconds(10.0, n_cores=10**6) == pytest.approx(10.0 * SERIAL_SHARE, rel=1e-3)


def test_threads_of_others_take_their_share_of_the_cores() -> None:
    assert estimate_clock_seconds(10.0, 1.0, n_cores=2) == pytest.approx(7.7), "a core is free anyway"
    assert estimate_clock_seconds(10.0, 30.0, n_cores=2) == pytest.approx(80.0), "2 of 32 threads on 2 cores"
    assert estimate_clock_seconds(10.0, 5.0, n_cores=1) == pytest.approx(60.0)


def test_a_run_that_has_just_ended_limits_the_load() -> None:
    assert limit_load(20.0, 15.0, 10.0, n_cores=2) == pytest.approx(4.0)
    assert estimate_clock_seconds(10.0, limit_load(20.0, 15.0, 10.0, n_cores=2), n_cores=2) == pytest.approx(15.0)
    assert limit_load(1.0, 50.0, 10.0, n_cores=2) == 1.0, "what was busy then is over"
    assert limit_load(20.0, 4.0, 10.0, n_cores=2) == 0.0, "it had both cores"


def test_what_runs_of_ours_have_in_the_load_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "getloadavg", lambda: (5.0, 0.0, 0.0))
    assert measure_load() == 5.0
    assert measure_load([(1e6, 0.0)], own_threads=2) == pytest.approx(3.0), "under way for long"
    ended = (2 * AVERAGING_SECONDS, AVERAGING_SECONDS)
    assert measure_load([ended], own_threads=2) == pytest.approx(5.0 - 2 * (math.exp(-1) - math.exp(-2)))
    assert measure_load([(1e6, 0.0)], own_threads=20) == 0.0
