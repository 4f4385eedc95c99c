"""State in the address: a link opens the same view of every page, and what it says that cannot be is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import Train, table
from xcwork.runs import Run


@pytest.fixture
def run(corpus: Path, train: Train) -> Run:
    return train("tfidf", {}, corpus, "by words")


@pytest.mark.parametrize(
    ("page", "key", "value"),
    [
        ("data", "data.way", "generate"), ("labs", "labs.lab", "rank"), ("predict", "predict.view", "runs"),
        ("errors", "errors.section", "missed"), ("compare", "compare.section", "curves"),
        ("data", "data.part", "test"), ("errors", "errors.documents.state", "any"),
    ],
)  # fmt: skip
def test_a_choice_goes_into_the_address_and_comes_back(open_page, run: Run, page: str, key: str, value: str) -> None:
    first = open_page(page, data="fruit.csv", run=run.id)
    usual = first.session_state[key]
    assert usual != value
    widgets = [*first.get("button_group"), *first.selectbox]
    next(each for each in widgets if each.key == key).set_value(value).run()
    address = dict(first.query_params)
    again = open_page(page, **{name: each[0] if isinstance(each, list) else each for name, each in address.items()})
    assert again.session_state[key] == value
    next(each for each in [*again.get("button_group"), *again.selectbox] if each.key == key).set_value(usual).run()
    assert set(again.query_params) == {"data", "run"}, "what is usual needs no place in the address"


def test_searches_and_own_texts_are_shared(open_page, run: Run) -> None:
    page = open_page("data", data="fruit.csv", **{"data.search": "plum number"})
    assert all(text.startswith("plum") for text in table(page, "text", "labels")["text"])
    page = open_page("predict", data="fruit.csv", run=run.id, **{"predict.where": "own", "predict.text": "a pear"})
    assert page.text_area(key="predict.text").value == "a pear"
    assert page.dataframe[0].value["label"][0] == "pear"
    page.text_area(key="predict.text").set_value("plum " * 1000)
    page.button(key="predict.submit").click().run()
    assert "predict.text" not in page.query_params, "a longer address would be cut off on its way"


def test_another_page_forgets_them(open_page, run: Run) -> None:
    page = open_page("data", data="fruit.csv", **{"data.search": "plum", "predict.text": "left over"})
    page.switch_page("app_pages/errors.py").run()
    assert not page.exception
    assert "data.search" not in page.query_params
    assert "predict.text" not in page.query_params


def test_an_address_that_cannot_be_opens_the_usual_view(open_page, run: Run) -> None:
    wrong = {"errors.documents.state": "<b>", "errors.documents.order": "sideways", "errors.none": "1"}
    page = open_page("errors", data="fruit.csv", run=run.id, **wrong)
    assert not page.error
    assert page.selectbox(key="errors.documents.state").value == "missed"
    assert page.selectbox(key="errors.documents.order").value == "worst"
