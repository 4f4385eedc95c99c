"""Whose text is predicted: the next document, one's own text, an edited document, one with filter pairs."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import HOSTILE, Open, Train, read_component, send_event
from tests.support.predict_page import FRUIT, labels, listed, look, opened, rows, said, typed, why
from xcwork.runs import Run, RunStore, worker

pytestmark = pytest.mark.slow


@pytest.fixture
def linked(home: Path) -> Run:
    """A finished run on a dataset with a filter pair: `apple` must not be predicted for the first test document."""
    folder = home / "data" / "links"
    folder.mkdir()
    names = ["apple", "pear", "plum"]
    train = [(f"{name} number {i}", [label]) for i in range(4) for label, name in enumerate(names)]
    test = [("apple apple pear", [1]), ("plum pear", [2])]
    for file, documents in (("trn", train), ("tst", test)):
        rows = [
            {"uid": f"{file}{i}", "title": text, "content": "", "target_ind": ids}
            for i, (text, ids) in enumerate(documents)
        ]
        write_json_lines(folder / f"{file}.json.gz", rows)
    write_json_lines(folder / "lbl.json.gz", [{"uid": f"label{i}", "title": name} for i, name in enumerate(names)])
    (folder / "filter_labels_test.txt").write_text("0 0\n")
    run = RunStore().create("tfidf", {}, folder, name="linked")
    assert worker.main(run.folder) == 0
    return run


def write_json_lines(path: Path, rows: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_a_link_opens_the_same_document_and_label(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, document="3", label="pear", k="2")
    assert page.number_input(key="predict.row").value == 4, "people count from 1"
    assert why(page)["title"] == "Why pear?"
    assert len(listed(page)) <= 2


def test_next_previous_and_random_go_through_the_test_documents(open_page: Open, matched: Run) -> None:
    page, seen = opened(open_page, matched, document="1", family="words in common", word="apple"), []
    n_documents = int(page.number_input(key="predict.row").max)
    for _ in range(n_documents):
        page.button(key="predict.another").click().run()
        seen.append(page.number_input(key="predict.row").value)
    assert sorted(seen) == list(range(1, n_documents + 1))
    assert seen[-1] == 2
    page.button(key="predict.previous").click().run()
    assert page.number_input(key="predict.row").value == 1
    assert page.button(key="predict.previous").disabled
    page.button(key="predict.next").click().run()
    page.number_input(key="predict.row").set_value(n_documents).run()
    assert page.button(key="predict.next").disabled
    assert "word" not in page.query_params, "what was open belongs to another document"


def test_a_typed_text_stays_while_somebody_looks_elsewhere(open_page: Open, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    page.segmented_control(key="predict.where").set_value("test").run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert read_component(page, "predict_text_editor")["text"] == FRUIT
    assert labels(page)[0] == "apple"
    page.switch_page("app_pages/errors.py").run()
    assert "predict.text" not in page.query_params
    page.switch_page("app_pages/predict.py").run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert read_component(page, "predict_text_editor")["text"] == FRUIT


def test_a_new_label_stays_while_somebody_looks_at_another_view(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, **{"predict.view": "New label"})
    page.text_input(key="predict.new_label").set_value("apple number").run()
    page = look(look(page, "Why"), "New label")
    assert page.text_input(key="predict.new_label").value == "apple number"


def edited(page: AppTest, text: str) -> AppTest:
    page.button(key="predict.edit").click().run()
    page = send_event(page, "predict_text_editor", text, event="edited")
    return look(page, "What if")


def test_an_edit_stays_an_edit_of_its_document(open_page: Open, matched: Run) -> None:
    page = edited(opened(open_page, matched, document="3"), FRUIT)
    assert "Edited from document 4" in said(page)
    page.segmented_control(key="predict.where").set_value("test").run()
    page.button(key="predict.another").click().run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert "test document 4" in said(page)
    bound = {"predict.where": "My text", "predict.view": "What if"}  # which the browser writes
    again = open_page("predict", **(page.query_params | bound))
    assert "test document 4" in said(again), "the link of an edit opens the edit"


@pytest.mark.parametrize("begin_anew", ["button", "empty box"])
def test_a_new_text_is_not_compared_with_the_document_of_an_earlier_edit(
    open_page: Open, matched: Run, begin_anew: str
) -> None:
    page = edited(opened(open_page, matched), FRUIT)
    if begin_anew == "button":
        page.button(key="predict.new_text").click().run()
    else:
        page = send_event(page, "predict_text_editor", "", event="edited")
    assert read_component(page, "predict_text_editor")["text"] == ""
    page = send_event(page, "predict_text_editor", "plum", event="edited")
    assert "Edited from" not in said(page)
    assert "Edit the text" in said(page)


def test_an_edit_is_forgotten_with_its_dataset_and_the_text_is_not(open_page: Open, matched: Run, linked: Run) -> None:
    page = edited(opened(open_page, matched), FRUIT)
    page.selectbox(key="shell.data").set_value("links").run()
    assert read_component(page, "predict_text_editor")["text"] == FRUIT
    assert "Edited from" not in said(page)


def test_a_text_beyond_the_limit_is_kept_and_the_limit_is_said(open_page: Open, matched: Run) -> None:
    long = "apple " * 40_000
    page = typed(opened(open_page, matched), long)
    assert read_component(page, "predict_text_editor")["text"] == long
    (problem,) = page.error
    assert "240,000 characters; the limit is 200,000" in problem.value
    assert labels(page) == []


def test_every_ranking_of_an_edited_document_keeps_its_filter_pairs(open_page: Open, linked: Run) -> None:
    page = open_page("predict", data="links", run=linked.id)
    assert listed(page) == ["pear"]
    page = edited(page, "apple plum")
    assert labels(page) == ["plum"], "the list of labels"
    changes = next(each.proto.body for each in page.get("html") if "before" in each.proto.body)
    assert "plum" in changes
    assert "apple" not in changes
    page = look(page, "New label")
    page.text_input(key="predict.new_label").set_value("apple plum").run()
    table = next(each.proto.body for each in page.get("html") if "before" in each.proto.body)
    assert ">apple<" not in table


def test_the_explanation_of_a_filtered_label_says_that_it_is_never_listed(open_page: Open, linked: Run) -> None:
    page = open_page("predict", data="links", run=linked.id, label="apple")
    assert "A filter pair of the dataset keeps it out" in why(page)["facts"]
    assert "filter pair" not in why(open_page("predict", data="links", run=linked.id, label="pear"))["facts"]


@pytest.mark.parametrize("text", [None, "apple plum", "apple\n\nplum", "plum " * 200])
def test_the_command_of_the_page_lists_the_same_labels(
    open_page: Open, linked: Run, tmp_path: Path, text: str | None
) -> None:
    from typer.testing import CliRunner

    from xcwork.cli import app

    page = open_page("predict", data="links", run=linked.id)
    if text is not None:
        page = edited(page, text)
    command, _, file = page.code[0].value.partition(" < ")
    assert file == ("document.txt" if text is not None and len(text) > 400 else "")
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"], input=text if file else None)
    assert [each["label"] for each in json.loads(done.stdout)["predictions"]] == listed(page)


def test_strange_texts_and_labels_are_shown_as_they_are(open_page: Open, home: Path, train: Train) -> None:
    long = "x" * 300
    names = [HOSTILE, "=cmd()", "*bold* _it_", long, "深さ優先探索"]
    lines = [f"{['apple', 'pear', 'plum', 'fig', 'kiwi'][i % 5]} text {i},{names[i % 5]}" for i in range(40)]
    file = home / "data" / "strange.csv"
    file.write_text("\n".join(["text,labels", *lines]) + "\n", encoding="utf-8")
    run = train("one_vs_all", {}, file, "strange")
    page = open_page("predict", data="strange.csv", run=run.id)
    assert {row["path"] + row["name"] for row in rows(page)} <= set(names)
    page = typed(page, f"{HOSTILE} fig 😀 *plum* {long}")
    assert not page.exception
    parts = read_component(page, "predict_text_editor")["parts"]
    assert "".join(part["text"] for part in parts) == f"{HOSTILE} fig 😀 *plum* {long}"
    page = send_event(page, "predict_labels", long)
    assert why(page)["title"] == f"Why {long}?"


def test_a_dataset_of_features_cannot_read_a_text(open_page: Open, home: Path) -> None:
    lines = ["12 4 3", *(f"{i % 3} {i % 4}:1.0 {(i + 1) % 4}:0.5" for i in range(12))]
    file = home / "data" / "features.txt"
    file.write_text("\n".join(lines) + "\n")
    run = RunStore().create("one_vs_all", {}, file, name="numbers")
    assert worker.main(run.folder) == 0
    page = open_page("predict", data="features.txt", run=run.id)
    assert labels(page)
    assert not any(button.key == "predict.edit" for button in page.button)
    page.segmented_control(key="predict.where").set_value("own").run()
    assert "This dataset has no texts, so it cannot read yours." in said(page)
