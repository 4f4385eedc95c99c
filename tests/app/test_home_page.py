"""The home page: the best run in plain facts, next steps, datasets, runs; and what stands there without any run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from xcwork_app.views import home_facts, next_steps

from tests.support.pages import find_box, read_component, send_event
from xcwork.data.load import load_dataset
from xcwork.runs import Run, RunStore


def list_rows(page) -> list[dict]:
    """The rows of the list of runs, group after group."""
    return [row for group in read_component(page, "home_run_list")["groups"] for row in group["rows"]]


def read_html(page, start: str) -> str:
    return next((each.proto.body for each in page.get("html") if each.proto.body.startswith(start)), "")


@pytest.mark.slow
def test_an_empty_home_says_how_to_begin(open_page) -> None:
    page = open_page()
    assert page.title[0].value == "Home"
    assert page.selectbox(key="shell.data").options == ["pyseealso", "synthetic"]
    assert not any(button.key == "home.predict" for button in page.button)
    page.button(key="home.first").click().run()
    assert page.title[0].value == "Train"
    assert page.query_params["method"] == "bm25"


def test_the_best_run_is_told_in_plain_facts(open_page, finished: Run, corpus: Path) -> None:
    page = open_page(data="fruit.csv")
    shown = read_html(page, '<div class="home-best"')
    metrics = finished.read_report().metrics
    counts = np.diff(load_dataset(corpus).test.Y.indptr)
    highest = 100 * np.minimum(counts, 5).mean() / 5
    assert f"{metrics['P@1']:.0f} of 100" in shown
    assert f"({metrics['P@5']:.1f} of at most {highest:.1f})" in shown
    assert "done &lt;b&gt;" in shown
    assert "no training" not in shown, "every label occurs in training: there is nothing to say about unseen ones"


def test_a_run_whose_dataset_is_gone_has_facts_all_the_same(open_page, finished: Run, corpus: Path) -> None:
    corpus.unlink()
    page = open_page(data="fruit.csv")
    assert "of at most" not in read_html(page, '<div class="home-best"')
    assert "of 100" in read_html(page, '<div class="home-best"')


def test_runs_of_the_dataset_are_listed_best_first(open_page, finished: Run, corpus: Path, train) -> None:
    other = train("popularity", None, corpus, "popular")
    elsewhere = RunStore().create("gated", None, "synthetic", name="elsewhere")
    page = open_page(data="fruit.csv")
    rows = list_rows(page)
    active, over = rows[0], rows[1:]
    assert (active["id"], active["note"]) == (elsewhere.id, "queued, next in line")
    by_precision = sorted((finished, other), key=lambda run: -run.read_report().metrics["P@1"])
    assert [row["id"] for row in over] == [run.id for run in by_precision]
    assert over[0]["value"] == f"{by_precision[0].read_report().metrics['P@1']:.1f}"
    assert over[0]["mark"] is not None


def test_all_runs_are_grouped_by_dataset(open_page, finished: Run, home: Path, train) -> None:
    second = home / "data" / "second.csv"
    second.write_text((home / "data" / "fruit.csv").read_text())
    train("gated", {"steps": 3}, second, "on the second")
    page = open_page(data="fruit.csv")
    assert [row["name"] for row in list_rows(page)] == ["done <b>"]
    page.button(key="home.all").click().run()
    groups = read_component(page, "home_run_list")["groups"]
    assert {group["title"]: [row["name"] for row in group["rows"]] for group in groups} == {
        "fruit.csv": ["done <b>"],
        "second.csv": ["on the second"],
    }


def test_an_unreadable_run_is_listed_with_its_reason(open_page, finished: Run) -> None:
    (finished.folder / "config.json").write_text("{")
    page = open_page(data="fruit.csv")
    row = list_rows(page)[-1]
    assert row["note"] == "unreadable"
    assert "config.json" in row["below"]
    assert row["menu"] == ["Open folder", "Delete"]


def test_choosing_a_run_makes_it_current(open_page, finished: Run) -> None:
    page = open_page(data="pyseealso")
    page.button(key="home.all").click().run()
    send_event(page, "home_run_list", finished.id)
    assert page.query_params["data"] == "fruit.csv"
    assert page.query_params["run"] == finished.id
    find_box(page, "shell.data").set_value("pyseealso").run()
    assert page.query_params["data"] == "pyseealso", "the earlier choice does not undo it"


def test_a_first_visit_opens_on_the_dataset_worked_with_last(open_page, finished: Run) -> None:
    RunStore().create("gated", None, "synthetic", name="not yet")
    page = open_page()
    assert page.query_params["data"] == "fruit.csv", "the newest one that has something to show"
    assert [row["name"] for row in list_rows(page)][-1] == "done <b>"
    find_box(page, "shell.data").set_value("pyseealso").run()
    assert page.query_params["data"] == "pyseealso", "a choice counts"
    page.run()
    assert page.query_params["data"] == "pyseealso"


def test_a_first_visit_to_another_page_has_something_to_show(open_page, finished: Run) -> None:
    page = open_page("predict")
    assert page.query_params["run"] == finished.id
    assert read_component(page, "predict_labels")["groups"]


@pytest.mark.parametrize(("key", "title"), [("predict", "Predict"), ("errors", "Errors"), ("decisions", "Decisions")])
def test_a_question_opens_its_page_on_the_best_run_anywhere(open_page, finished: Run, key: str, title: str) -> None:
    page = open_page(data="pyseealso")
    assert page.selectbox(key="shell.no_run").disabled, "there is none on this dataset"
    assert "Best run on fruit.csv" in read_html(page, '<div class="home-best"')
    page.button(key=f"home.{key}").click().run()
    assert page.title[0].value == title
    assert (page.query_params["data"], page.query_params["run"]) == ("fruit.csv", finished.id)


def test_a_typed_text_has_labels_at_once(open_page, corpus: Path, train) -> None:
    run = train("one_vs_all", None, corpus, "words")
    page = open_page(data="fruit.csv")
    page.text_input(key="home.text").set_value("a plum and one more plum").run()
    chips = read_html(page, '<div class="home-chips"')
    assert 'title="plum"' in chips
    page.button(key="home.why").click().run()
    assert page.title[0].value == "Predict"
    assert page.query_params["run"] == run.id
    assert page.query_params["predict.text"] in ("a plum and one more plum", ["a plum and one more plum"])
    assert read_component(page, "predict_labels")["groups"][0]["rows"][0]["name"] == "plum"


def test_a_text_without_a_known_word_says_so(open_page, corpus: Path, train) -> None:
    train("one_vs_all", None, corpus, "words")
    page = open_page(data="fruit.csv")
    page.text_input(key="home.text").set_value("zzzz <b>qqqq</b>").run()
    chips = read_html(page, '<div class="home-chips"')
    assert "word" in chips
    assert "<b>qqqq" not in chips


def test_dataset_cards_switch_the_dataset(open_page, finished: Run) -> None:
    page = open_page(data="pyseealso")
    labels = {button.key: button.label for button in page.button if (button.key or "").startswith("home.dataset.")}
    assert "1 run" in labels["home.dataset.fruit.csv"]
    page.button(key="home.dataset.fruit.csv").click().run()
    assert page.query_params["data"] == "fruit.csv"


def test_where_to_begin_keeps_the_dataset(open_page, finished: Run) -> None:
    page = open_page(data="fruit.csv")
    page.button(key="home.start.data").click().run()
    assert page.title[0].value == "Data"
    assert page.query_params["add"] == "file"
    assert page.query_params["data"] == "fruit.csv"
    assert page.file_uploader


def test_steps_name_what_is_open(open_page, finished: Run, corpus: Path) -> None:
    failed = RunStore().create("gated", None, corpus, name="stuck")
    status = failed.folder / "status.json"
    status.write_text(json.dumps(json.loads(status.read_text()) | {"state": "failed", "message": "no more memory"}))
    page = open_page(data="fruit.csv")
    steps = [each.proto.body for each in page.get("html") if each.proto.body.startswith('<div class="home-step"')]
    assert 1 <= len(steps) <= next_steps.MAX_STEPS
    assert "Resume stuck" in steps[0]
    assert "No more memory." in steps[0]
    page.button(key="home.step.train.1").click().run()
    assert page.title[0].value == "Train"
    assert page.query_params["run"] == failed.id


def test_sizes_of_datasets_are_known_without_reading_them(open_page, finished: Run, monkeypatch) -> None:
    open_page(data="fruit.csv")  # within a session
    facts = {each.source.id: each for each in home_facts.list_dataset_facts(home_facts.Source("fruit.csv"))}
    assert facts["fruit.csv"].sizes == "72 documents, 5 labels"
    assert facts["pyseealso"].sizes == "not read yet"
    assert next(iter(facts)) == "fruit.csv"
