"""The thresholds that a session tries or that are stored with a run, and what they do; kept between reruns."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state
from xcwork_app.sources import Source
from xcwork_app.views import run_findings

from xcwork.analysis import decision_view
from xcwork.decisions import thresholds
from xcwork.decisions.choice import DECISIONS_FILE, Decisions
from xcwork.paths import find_home
from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.decisions.calibration import Calibration
    from xcwork.decisions.thresholds import Choice

USUAL_K = 5  # labels per document for which goals are compared


def get_calibration(run: Run) -> Calibration | None:
    """Return what turns the scores of a run into percentages; None if it was not calibrated."""
    return _read_calibration(str(run.folder), *_stamp(run))


@st.cache_resource(max_entries=8, show_spinner=False)
def _read_calibration(folder: str, model: int, evaluation: int) -> Calibration | None:
    return Run(folder).read_calibration()


def _stamp(run: Run) -> tuple[int, int]:
    """Return what changes with the calibration of a run, and with its stored predictions."""
    return caches.get_stamp(run.folder / "model" / "calibration"), caches.get_stamp(run.folder / "eval")


def list_facts(run: Run, source: Source, decisions: Decisions | None = None) -> tuple[Hashable, ...]:
    """Return what charts of a run, and of decisions, are drawn from: they change when one of these does."""
    chosen = "" if decisions is None else json.dumps(decisions.to_dict())
    return str(run.folder), *_stamp(run), source, source.make_stamp(), chosen


def is_stored(run: Run) -> bool:
    """Return whether somebody has chosen thresholds for a run."""
    return (run.folder / DECISIONS_FILE).is_file()


def get_candidate(run: Run) -> Decisions:
    """Return the thresholds that the session tries, or those of the run; an address that cannot be is corrected."""
    stored, view = run.read_decisions(), state.view()
    if not view.assign and not view.suggest:
        return stored
    usual = to_percents(stored)
    suggest, assign = (_read_percent(name, usual[at]) for at, name in enumerate(("suggest", "assign")))
    if suggest > assign:
        note = f"A label cannot be suggested from {suggest} % and assigned from {assign} %; it is suggested from there."
        state.fall_back("suggest", str(assign), note)
        suggest = assign
    return stored if (suggest, assign) == usual else Decisions(assign=assign / 100, suggest=suggest / 100)


def to_percents(decisions: Decisions) -> tuple[int, int]:
    """Return (suggest, assign) in whole percents, as the slider shows them; never assigning is 100."""
    return round(100 * min(decisions.suggest, 1.0)), round(100 * min(decisions.assign, 1.0))


def _read_percent(name: str, usual: int) -> int:
    text = getattr(state.view(), name)
    if not text:
        return usual
    if text.isascii() and text.isdecimal() and len(text) <= 3 and int(text) <= 100:
        return int(text)
    state.fall_back(name, "", f"{state.quote(text)} is not a percentage; {usual} % is shown instead.")
    return usual


def choose_for_precision(run: Run, precision: float, by: str) -> Choice:
    """Return thresholds at which the wanted share (0 to 1) of the assigned labels of a calibrated run is right."""
    return _choose_for_precision(str(run.folder), *_stamp(run), precision, by)


@st.cache_resource(max_entries=100, show_spinner=False)
def _choose_for_precision(folder: str, model: int, evaluation: int, precision: float, by: str) -> Choice:
    calibration = get_calibration(Run(folder))
    assert calibration is not None  # only calibrated runs have goals
    return thresholds.choose_for_precision(calibration.evidence, precision, by=by)


def choose_for_f1(run: Run) -> Decisions:
    """Return the threshold with the best micro-F1 of a calibrated run."""
    return _choose_for_f1(str(run.folder), *_stamp(run))


@st.cache_resource(max_entries=8, show_spinner=False)
def _choose_for_f1(folder: str, model: int, evaluation: int) -> Decisions:
    calibration = get_calibration(Run(folder))
    assert calibration is not None  # only calibrated runs have goals
    return thresholds.choose_for_f1(calibration.evidence)


def get_judged(run: Run, source: Source) -> decision_view.JudgedPredictions:
    """Return the predictions of a run for the test split with percentages."""
    run_findings.get_findings(run, source, k=USUAL_K, bands=run_findings.get_band_definition())  # do they still fit?
    return _judge(str(run.folder), *_stamp(run), source, str(find_home()), source.make_stamp())


@st.cache_resource(max_entries=4, show_spinner=False)
def _judge(
    folder: str, model: int, evaluation: int, source: Source, home: str, changed: str
) -> decision_view.JudgedPredictions:
    run = Run(folder)
    return decision_view.judge_predictions(run, caches.get_dataset(source), caches.get_topk(run))


def get_summary(run: Run, source: Source, decisions: Decisions) -> decision_view.DecisionSummary:
    """Return the three groups that thresholds make of the predictions."""
    return _summarise(str(run.folder), *_stamp(run), source, source.make_stamp(), json.dumps(decisions.to_dict()))


@st.cache_resource(max_entries=200, show_spinner=False)
def _summarise(
    folder: str, model: int, evaluation: int, source: Source, changed: str, decisions: str
) -> decision_view.DecisionSummary:
    return decision_view.summarise_decisions(
        get_judged(Run(folder), source), Decisions.from_dict(json.loads(decisions))
    )


def get_curve(run: Run, source: Source) -> pd.DataFrame:
    """Return what one threshold after the other gives."""
    return _trace(str(run.folder), *_stamp(run), source, source.make_stamp())


@st.cache_resource(max_entries=8, show_spinner=False)
def _trace(folder: str, model: int, evaluation: int, source: Source, changed: str) -> pd.DataFrame:
    return decision_view.trace_thresholds(get_judged(Run(folder), source))


def get_reliability(run: Run, source: Source) -> list[dict[str, float]]:
    """Return what the percentages say against what happens."""
    return _tabulate(str(run.folder), *_stamp(run), source, source.make_stamp())


@st.cache_resource(max_entries=8, show_spinner=False)
def _tabulate(folder: str, model: int, evaluation: int, source: Source, changed: str) -> list[dict[str, float]]:
    return decision_view.tabulate_reliability(get_judged(Run(folder), source))


def compare_goals(run: Run, source: Source) -> dict[str, dict[str, float]]:
    """Return what labels chosen for one goal cost the others."""
    return _compare(str(run.folder), *_stamp(run), source, source.make_stamp())


@st.cache_resource(max_entries=8, show_spinner="Choosing labels for each goal.")
def _compare(folder: str, model: int, evaluation: int, source: Source, changed: str) -> dict[str, dict[str, float]]:
    return decision_view.compare_goals(get_judged(Run(folder), source), USUAL_K)
