"""The predict page: suggested labels, their reasons, runs side by side, a new label, an edited text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import Train
from xcwork.data.load import load_dataset
from xcwork.runs import Run

FRUIT = "apple apple apple"


@pytest.fixture
def matched(corpus: Path, train: Train) -> Run:
    """A finished run of a zero-shot method."""
    return train("tfidf", {}, corpus, "by words")


@pytest.fixture
def popular(corpus: Path, train: Train) -> Run:
    """A finished run of a method that knows labels from documents alone."""
    return train("popularity", {}, corpus, "by counts")


def opened(open_page, run: Run, **query: str) -> AppTest:
    return open_page("predict", data="fruit.csv", run=run.id, **query)


def said(page: AppTest) -> str:
    shown = (*page.markdown, *page.caption, *page.warning, *page.info)
    return " ".join(each.value for each in shown).replace("\\", "")


def labels(page: AppTest) -> list[str]:
    return list(page.dataframe[0].value["label"])


def typed(page: AppTest, text: str) -> AppTest:
    page.segmented_control(key="predict.where").set_value("own").run()
    page.text_area(key="predict.text").set_value(text)
    return page.button(key="FormSubmitter:predict.form-Predict").click().run()


def test_without_a_run_the_page_says_what_to_do(open_page, corpus: Path) -> None:
    page = open_page("predict", data="fruit.csv")
    assert "no finished run" in said(page)


def test_a_test_document_has_its_labels_marked(open_page, matched: Run) -> None:
    page = opened(open_page, matched)
    table = page.dataframe[0].value
    assert set(table["sign"]) <= {"✓", "✗", "○"}
    assert "✓" in set(table["sign"])  # every document about fruit names its fruit
    assert page.get("plotly_chart")


def test_the_first_label_is_explained_and_the_parts_add_up(open_page, corpus: Path, matched: Run) -> None:
    page = opened(open_page, matched)
    label = page.selectbox(key="predict.label").value
    assert label == labels(page)[0]
    parts = next(each.value for each in page.dataframe if "document_term" in each.value)
    document = load_dataset(corpus).test.take([0])
    assert parts["value"].sum() == pytest.approx(matched.model().explain(document, label).score)
    assert ("makes up the score" if len(parts) == 1 else "add up to the score") in said(page)


def test_a_typed_text_is_predicted(open_page, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    assert labels(page)[0] == "apple"


def test_a_text_of_unknown_words_is_said_to_be_unknown(open_page, matched: Run) -> None:
    page = typed(opened(open_page, matched), "zzyzx qwrtp")
    assert not page.exception
    assert "No word of this text is known" in said(page)


def test_another_label_is_found_by_a_part_of_its_name(open_page, matched: Run) -> None:
    page = opened(open_page, matched, label="plu")
    assert not page.warning
    assert "plum" in said(page)


def test_a_label_that_does_not_exist_is_said_not_to_exist(open_page, matched: Run) -> None:
    assert "There is no label with “durian”" in said(opened(open_page, matched, label="durian"))


def test_a_new_label_gets_its_rank(open_page, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    page.segmented_control(key="predict.view").set_value("new").run()
    page.text_input(key="predict.new_label").set_value("apple number")
    page.button(key="FormSubmitter:predict.new-Try it").click().run()
    assert not page.exception
    assert "apple number comes" in said(page)
    assert "apple number" not in matched.model().labels_.names


def test_a_method_that_cannot_take_new_labels_says_why(open_page, popular: Run) -> None:
    page = opened(open_page, popular)
    page.segmented_control(key="predict.view").set_value("new").run()
    assert "cannot score a new one" in said(page)


def test_runs_stand_side_by_side_with_agreement(open_page, matched: Run, popular: Run) -> None:
    page = opened(open_page, matched)
    page.segmented_control(key="predict.view").set_value("runs").run()
    grid = page.dataframe[1].value
    assert len(grid) == 2
    assert any("by words" in name for name in grid["run"])
    assert "In the list of every run" in said(page)


def test_an_edit_shows_what_changed(open_page, matched: Run) -> None:
    page = opened(open_page, matched)
    page.button(key="predict.edit").click().run()
    text = page.text_area(key="predict.text").value
    assert text
    page.text_area(key="predict.text").set_value("plum plum plum")
    page.button(key="FormSubmitter:predict.form-Predict").click().run()
    page.segmented_control(key="predict.view").set_value("edited").run()
    assert not page.exception
    assert "Of the labels in either list" in said(page)


def test_a_search_finds_documents_to_choose_from(open_page, matched: Run) -> None:
    page = opened(open_page, matched)
    page.text_input(key="predict.search").set_value("plum").run()
    found = page.selectbox(key="predict.found.plum")
    assert found.options
    found.set_value(found.options[0]).run()
    assert not page.exception
    assert "plum" in labels(page)
    page.text_input(key="predict.search").set_value("durian").run()
    assert "No test document matches" in said(page)


def test_a_run_whose_model_is_gone_is_a_sentence(open_page, matched: Run) -> None:
    shutil.rmtree(matched.folder / "model")
    page = opened(open_page, matched)
    assert page.error


def test_a_link_opens_the_same_document_and_label(open_page, matched: Run) -> None:
    page = opened(open_page, matched, document="3", label="pear", k="2")
    assert page.number_input(key="predict.row").value == 3
    assert page.selectbox(key="predict.label").value == "pear"
    assert sum(sign != "○" for sign in page.dataframe[0].value["sign"]) <= 2
