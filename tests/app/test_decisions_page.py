"""The decisions page: thresholds, what they give, goals; percentages on Predict, a file of texts, trust on Errors."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app.panels.predict import file_of_texts

from tests.support.orchard import WORDS, write_orchard
from tests.support.pages import Open, read_component, table
from tests.support.waiting import until
from xcwork.analysis.decision_view import judge_predictions, list_predictions_between, summarise_decisions
from xcwork.data.load import load_dataset
from xcwork.decisions import thresholds
from xcwork.decisions.choice import Decisions, read_decisions
from xcwork.runs import Run, RunStore, prediction_jobs, worker
from xcwork.viz import decisions as viz_decisions

pytestmark = pytest.mark.slow

SLIDER = "decisions.thresholds"


@pytest.fixture
def run(home: Path, workshop: Path) -> Run:
    """A calibrated run; trained once a session."""
    return copy_run(home, workshop, "auto")


@pytest.fixture
def uncalibrated(home: Path, workshop: Path) -> Run:
    return copy_run(home, workshop, "none")


def copy_run(home: Path, workshop: Path, way: str) -> Run:
    data = write_orchard(home / "data" / "orchard", 600)
    made = RunStore().create("one_vs_all", {}, data, name=f"orchard {way}", calibration=way)
    kept = workshop / "trained" / f"orchard-{way}"
    if kept.is_dir():
        shutil.copytree(kept, made.folder, dirs_exist_ok=True)
        return made
    assert worker.main(made.folder) == 0
    shutil.copytree(made.folder, kept, ignore=shutil.ignore_patterns("notes.md", "identity.json"))
    return made


def opened(open_page: Open, run: Run, page: str = "decisions", **query: str) -> AppTest:
    return open_page(page, data="orchard", run=run.id, **query)


def said(page: AppTest) -> str:
    shown = (*page.markdown, *page.caption, *page.warning, *page.info)
    return " ".join(each.value for each in shown).replace("\\", "").replace("*", "")


def read_figures(page: AppTest) -> list[str]:
    return [each.proto.body for each in page.get("html") if 'class="figure"' in each.proto.body]


def test_the_cards_say_what_the_engine_counts(open_page: Open, run: Run) -> None:
    page = opened(open_page, run, assign="60", suggest="30")
    judged = judge_predictions(run, load_dataset(run.home / "data" / "orchard"))
    summary = summarise_decisions(judged, Decisions(assign=0.6, suggest=0.3))
    assert sum(group.n for group in summary.groups.values()) == int(judged.listed.sum()) == summary.n_listed
    assert sum(sum(bars) for bars in summary.bars.values()) == summary.n_listed
    first, second, third = read_figures(page)
    assert f"{summary.groups['assign'].n:,} label" in first
    assert f"{summary.groups['suggest'].n:,} label" in second
    assert f"{summary.missed_share:.0f} %" in third
    assert page.slider(key=SLIDER).value == (30, 60)


def test_moving_the_slider_changes_cards_and_address_and_stores_nothing(open_page: Open, run: Run) -> None:
    page = opened(open_page, run)
    before = read_figures(page)
    page.slider(key=SLIDER).set_value((10, 40)).run()
    assert read_figures(page) != before
    assert page.query_params["assign"] == "40"
    assert page.query_params["suggest"] == "10"
    assert read_decisions(run.folder) == Decisions()


def test_stored_thresholds_are_those_of_predict(open_page: Open, run: Run) -> None:
    page = opened(open_page, run)
    page.slider(key=SLIDER).set_value((15, 55)).run()
    page.button(key="decisions.use").click().run()
    assert not page.exception
    assert read_decisions(run.folder) == Decisions(assign=0.55, suggest=0.15)
    assert page.button(key="decisions.use").disabled
    assert "assign" not in page.query_params
    predict = opened(open_page, run, "predict")
    assert "Assign from 55 %, suggest from 15 %" in said(predict)
    groups = read_component(predict, "predict_labels")["groups"]
    shares = {group["title"]: [row["share"] for row in group["rows"]] for group in groups}
    assert all(share >= 0.55 for share in shares.get("Assign", []))
    assert all(0.15 <= share < 0.55 for share in shares.get("Suggest", []))
    listed = [share for group in shares.values() for share in group if share is not None]
    assert listed == sorted(listed, reverse=True), "percentages fall down the list"


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"assign": "40", "suggest": "70"}, (40, 40)),
        ({"assign": "much"}, (20, 80)),
        ({"assign": "101", "suggest": "-3"}, (20, 80)),
    ],
)
def test_an_address_that_cannot_be_is_corrected_and_said(open_page: Open, run: Run, query, shown) -> None:
    page = opened(open_page, run, **query)
    low, high = page.slider(key=SLIDER).value
    assert (low, high) == shown
    assert low <= high
    assert page.warning


def test_another_run_brings_its_own_thresholds(open_page: Open, run: Run, home: Path, workshop: Path) -> None:
    other = copy_run(home, workshop, "auto")
    other.rename("another")
    page = opened(open_page, run, assign="60", suggest="30")
    page.selectbox(key="shell.run").set_value(other.id).run()
    assert page.slider(key=SLIDER).value == (20, 80)


def test_a_run_without_calibration_says_what_to_do(open_page: Open, uncalibrated: Run) -> None:
    sentence = f"Not calibrated: train again or run `xcwork calibrate {uncalibrated.id}`."
    assert sentence in said(opened(open_page, uncalibrated))
    page = opened(open_page, uncalibrated, "predict")
    assert sentence in said(page)
    assert all(row["share"] is None for row in read_component(page, "predict_labels")["groups"][0]["rows"])


def test_few_held_out_documents_give_ranges(open_page: Open, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert " % right" in said(opened(open_page, run, assign="50"))
    monkeypatch.setattr("xcwork_app.panels.decisions.figures.MIN_CERTAIN_DOCUMENTS", 10**6)
    judged = judge_predictions(run, load_dataset(run.home / "data" / "orchard"))
    group = summarise_decisions(judged, Decisions(assign=0.5, suggest=0.2)).groups["assign"]
    assert f"{group.low:.0f} to {group.high:.0f} % right" in said(opened(open_page, run, assign="50"))


def test_a_precision_becomes_a_threshold_that_can_be_stored(open_page: Open, run: Run) -> None:
    page = opened(open_page, run)
    page.number_input(key="decisions.precision").set_value(60).run()
    assert "of the documents get a label without a check" in said(page)
    page.segmented_control(key="decisions.precision_by").set_value("By band").run()
    page.button(key="decisions.use_goal").click().run()
    assert not page.exception
    stored = read_decisions(run.folder)
    assert (stored.asked_precision, stored.by) == (0.6, "band")
    assert any("--precision 0.6 --by band" in each.value for each in page.code)


def test_a_precision_that_cannot_be_promised_is_said(open_page: Open, run: Run) -> None:
    page = opened(open_page, run)
    page.number_input(key="decisions.precision").set_value(100).run()
    assert "cannot be promised" in said(page)


@pytest.mark.parametrize("goal", ["micro-f1", "macro-f1", "coverage"])
def test_a_goal_can_be_stored_and_its_cost_is_shown(open_page: Open, run: Run, goal: str) -> None:
    page = opened(open_page, run)
    page.segmented_control(key="decisions.goal").set_value(goal.capitalize().replace("f1", "F1")).run()
    page.toggle(key="decisions.costs").set_value(True).run()
    costs = table(page, "chosen for")
    assert list(costs["chosen for"]) == ["Precision", "Macro-F1", "Coverage"]
    page.button(key="decisions.use_goal").click().run()
    assert not page.exception
    assert read_decisions(run.folder).goal == goal
    assert not opened(open_page, run, "predict").exception


def test_labels_that_reach_a_precision_on_their_own(open_page: Open, run: Run) -> None:
    page = opened(open_page, run, by="label")
    page.number_input(key="decisions.wanted").set_value(50).run()
    shown = table(page, "label", "cases", "right")
    assert (shown["cases"] >= 5).all()
    assert (shown["right"] >= 50).all()
    assert set(shown["label"]) <= set(WORDS)
    page.number_input(key="decisions.wanted").set_value(100).run()
    assert not page.exception


def test_why_says_how_the_score_becomes_the_percentage(open_page: Open, run: Run) -> None:
    page = opened(open_page, run, "predict")
    why = read_component(page, "predict_reasons")
    assert "times in 100" in why["facts"]
    steps = [value for _, value in why["steps"]]
    assert sum(map(float, steps[:-3])) == pytest.approx(float(steps[-3]), abs=0.03)
    first = read_component(page, "predict_labels")["groups"][0]["rows"][0]["share"]
    assert float(steps[-1].removesuffix(" %")) == pytest.approx(100 * first, abs=0.06)


def open_reliability(page: AppTest) -> AppTest:
    """Open the popover in the header of Errors."""
    page.session_state["errors.reliable"] = True
    return page.run()


def test_errors_show_how_far_percentages_can_be_trusted(open_page: Open, run: Run, uncalibrated: Run) -> None:
    page = open_reliability(opened(open_page, run, "errors"))
    figures = run.read_report().calibration
    shown = {each.label: each.value for each in page.metric}
    assert {f"ECE@{k}": f"{value:.2f}" for k, value in figures["ece"].items()}.items() <= shown.items()
    assert dict(table(page, "band", "Brier score").to_numpy().tolist()) == pytest.approx(figures["brier"])
    assert "Not calibrated" in said(open_reliability(opened(open_page, uncalibrated, "errors")))


def test_pasted_lines_become_labels_and_exports(open_page: Open, run: Run) -> None:
    page = opened(open_page, run, "predict", **{"predict.where": "A file of texts"})
    assert "No file yet" in said(page)
    assert page.button(key="predict.start_file").disabled
    page.text_area(key="predict.pasted").set_value("apple number1\n\n=plum()\nzzyzx").run()
    page.button(key="predict.start_file").click().run()
    assert not page.exception
    (job,) = prediction_jobs.list_jobs(run)
    until(lambda: job.status.is_over, "the end of the job")
    assert job.status.state == "finished"
    page.run()
    assert list(table(page, "text", "assigned", "suggested")["text"]) == ["apple number1", "=plum()", "zzyzx"]
    exported = pd.read_csv(io.BytesIO(file_of_texts.render_export(job, "csv")))
    assert {"text", "label", "percent", "decision", "rank"} <= set(exported.columns)
    assert not exported["text"].str.startswith("=").any()
    assert len(pd.read_parquet(io.BytesIO(file_of_texts.render_export(job, "parquet")))) == len(exported)
    assert file_of_texts.render_export(job, "jsonl").count(b"\n") == 3
    page.text_input(key="predict.file_search").set_value("zzy").run()
    assert list(table(page, "text", "assigned")["text"]) == ["zzyzx"]
    page.button(key="predict.delete_file").click().run()
    assert prediction_jobs.list_jobs(run) == []


def test_a_lost_job_can_be_resumed_from_the_page(open_page: Open, run: Run) -> None:
    job = prediction_jobs.create_job(run, "a.txt", b"apple\npear\n", k=2)
    prediction_jobs.write_status(job.folder, prediction_jobs.replace(job.status, state="cancelled", message="stopped"))
    page = opened(open_page, run, "predict", **{"predict.where": "A file of texts"})
    assert "Cancelled: stopped" in said(page)
    page.button(key="predict.resume_file").click().run()
    until(lambda: job.status.is_over, "the end of the job")
    assert job.status.state == "finished"


def test_a_file_of_texts_works_without_calibration(open_page: Open, uncalibrated: Run) -> None:
    job = prediction_jobs.create_job(uncalibrated, "a.txt", b"apple\n", k=2)
    prediction_jobs.start(job)
    until(lambda: job.status.is_over, "the end of the job")
    page = opened(open_page, uncalibrated, "predict", **{"predict.where": "A file of texts"})
    assert "apple" in table(page, "text", "labels")["labels"].iloc[0]


def click_bar(page: AppTest, tenth: int) -> AppTest:
    """Let the page open the list of a bar, as the callback of its chart does."""
    page.session_state["decisions.opened"] = tenth
    page.run()
    assert not page.exception
    return page


@pytest.mark.parametrize("opens", ["Review", "Predict"])
def test_a_bar_lists_its_predictions_and_a_row_opens_its_own(open_page: Open, run: Run, opens: str) -> None:
    judged = judge_predictions(run, load_dataset(run.home / "data" / "orchard"))
    for tenth in range(10):
        expected = list_predictions_between(judged, tenth / 10, (tenth + 1) / 10, 200)
        page = click_bar(opened(open_page, run), tenth)
        shown = table(page, "document", "label", "opens")
        pd.testing.assert_frame_equal(shown.drop(columns="opens"), expected)
        rows = [row for row, page_name in enumerate(shown["opens"]) if page_name.startswith(opens)]
        if rows:
            break
    chosen = shown.iloc[rows[-1]]
    # The list is a dialog, which runs alone in a browser; here it opens with the row chosen.
    page = opened(open_page, run)
    page.session_state["decisions.list"] = {"selection": {"rows": [rows[-1]], "columns": [], "cells": []}}
    click_bar(page, tenth)
    if opens == "Review":
        assert page.query_params["item"] == chosen["item"]
        assert page.get("bidi_component")  # the queue, with the item in it
    else:
        assert page.query_params["document"] == str(chosen["document"])
        assert page.query_params["label"] == chosen["label"]
    assert not page.warning


def test_charts_are_drawn_and_goals_computed_when_they_are_new(
    open_page: Open, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def count(module: ModuleType, name: str) -> None:
        work = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **named: (called.append(name), work(*given, **named))[1])

    for name in ("draw_probability_bars", "draw_threshold_curve", "draw_reliability"):
        count(viz_decisions, name)
    count(thresholds, "choose_for_precision")
    page = opened(open_page, run)
    assert sorted(called) == [
        *("choose_for_precision", "draw_probability_bars", "draw_reliability", "draw_threshold_curve")
    ]
    shown = [chart.proto.spec for chart in page.get("plotly_chart")]
    called.clear()
    page.run()
    assert not called
    assert [chart.proto.spec for chart in page.get("plotly_chart")] == shown
    page.slider(key=SLIDER).set_value((10, 40)).run()
    assert sorted(called) == ["draw_probability_bars", "draw_threshold_curve"], "what the thresholds change"
