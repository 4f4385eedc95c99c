"""The home page: what to do first, the three questions, the list of runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from xcwork_app import navigation

from xcwork.runs import Run, RunStore


def test_an_empty_home_says_how_to_begin(open_page) -> None:
    page = open_page()
    assert page.title[0].value == "xcwork"
    assert any("No runs yet" in text.value for text in page.markdown)
    assert page.selectbox(key="shell.data").options == ["pyseealso", "synthetic"]
    assert any("threads" in caption.value for caption in page.caption)


def test_runs_are_listed_with_state_and_metrics_what_waits_last(open_page, finished: Run, corpus: Path) -> None:
    RunStore().create("gated", None, corpus, name="waiting")
    page = open_page(data="fruit.csv")
    table = page.dataframe[0].value
    assert list(table["run"]) == ["done <b>", "waiting"]
    assert list(table["data"]) == ["fruit.csv", "fruit.csv"]
    assert table["state"][0] == "finished"
    assert table["state"][1] == "queued"
    assert table["P@1"][0] == pytest.approx(finished.report().metrics["P@1"])
    assert table["P@1"].isna()[1]
    assert table["unseen P@5"].isna().all(), "every label occurs in training: there is nothing to measure, not 0"
    assert any(caption.value.startswith("2 runs, some under way") for caption in page.caption)


def test_choosing_a_row_makes_it_the_current_run(open_page, finished: Run) -> None:
    page = open_page()
    page.session_state["home.runs"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    page.run()
    assert page.query_params["data"] == "fruit.csv"
    assert page.query_params["run"] == finished.id
    page.selectbox(key="shell.data").set_value("pyseealso").run()
    assert page.query_params["data"] == "pyseealso", "the row that is still chosen does not undo it"


def test_a_question_opens_its_page_on_a_finished_run(open_page, finished: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(data="fruit.csv")
    page.button(key="home.train").click().run()
    assert page.title[0].value == "Train"
    assert page.query_params["run"] == finished.id


def test_questions_open_the_best_run_anywhere(open_page, finished: Run) -> None:
    page = open_page(data="pyseealso")
    assert page.selectbox(key="shell.no_run").disabled, "there is none on this dataset"
    assert not any(page.button(key=f"home.{name}").disabled for name in ("predict", "errors", "compare"))
    said = " ".join(caption.value.replace("\\", "") for caption in page.caption)
    assert "No run has finished on pyseealso yet: these open done <b> on fruit.csv." in said
    page.button(key="home.errors").click().run()
    assert page.title[0].value == "Errors"
    assert (page.query_params["data"], page.query_params["run"]) == ("fruit.csv", finished.id)


def test_where_to_begin_keeps_the_dataset(open_page, finished: Run) -> None:
    page = open_page(data="synthetic:n_documents=60,n_labels=12")
    page.button(key="home.train").click().run()
    assert page.title[0].value == "Train"
    assert page.query_params["data"].startswith("synthetic:")


def test_a_question_prefers_a_finished_run_to_the_chosen_one(open_page, finished: Run, corpus: Path) -> None:
    waiting = RunStore().create("gated", None, corpus, name="waiting")
    page = open_page(data="fruit.csv", run=waiting.id)
    page.button(key="home.predict").click().run()
    assert page.query_params["run"] == finished.id


def test_questions_wait_for_the_first_finished_run(open_page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for place in navigation.PLACES:
        content = place.file.read_text() if place.file.is_file() else "import streamlit as st\nst.title('x')\n"
        (folder / place.file.name).write_text(content)
    monkeypatch.setattr(navigation, "FOLDER", folder)
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file(str(Path(navigation.__file__).with_name("main.py")), default_timeout=60).run()
    assert not page.exception
    assert all(page.button(key=f"home.{name}").disabled for name in ("predict", "errors", "compare"))
    assert any("as soon as the first run" in caption.value for caption in page.caption)
