"""State in the address: a link opens the same view of every page, and what it says that cannot be is left out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import Train, find_box, go_back, read_component, send_event, table
from xcwork.runs import Run, RunStore

if TYPE_CHECKING:
    from streamlit.proto.PageLink_pb2 import PageLink

pytestmark = pytest.mark.slow


@pytest.fixture
def run(corpus: Path, train: Train) -> Run:
    return train("tfidf", {}, corpus, "by words")


@pytest.mark.parametrize(
    ("page", "key", "value"),
    [
        ("labs", "labs.lab", "rank"),
        ("errors", "errors.section", "documents"),
        ("compare", "compare.section", "curves"),
        ("errors", "errors.bands", "shots"),
    ],
)
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
    named = {"data", "run"} | ({"runs"} if page == "compare" else set())
    assert set(again.query_params) == named, "what is usual needs no place in the address"


def test_a_search_of_documents_goes_into_the_address(open_page, run: Run) -> None:
    again = open_page("predict", data="fruit.csv", run=run.id, **{"predict.search": "plum"})
    assert again.text_input(key="predict.search").value == "plum"


def test_searches_and_own_texts_are_shared(open_page, run: Run) -> None:
    asked = {"data.view": "Documents", "data.part": "test", "data.search": "plum number"}
    page = open_page("data", data="fruit.csv", **asked)
    assert page.segmented_control(key="data.view").value == "Documents"
    assert page.segmented_control(key="data.part").value == "test"
    assert all(text.startswith("plum") for text in table(page, "text", "labels")["text"])
    page = open_page("predict", data="fruit.csv", run=run.id, **{"predict.where": "My text", "predict.text": "a pear"})
    assert read_component(page, "predict_text_editor")["text"] == "a pear"
    assert read_component(page, "predict_labels")["groups"][0]["rows"][0]["id"] == "pear"
    page = send_event(page, "predict_text_editor", "plum " * 1000, event="edited")
    assert "predict.text" not in page.query_params, "a longer address would be cut off on its way"


def test_a_link_opens_a_bound_search(open_page, run: Run) -> None:
    page = open_page("errors", data="fruit.csv", run=run.id, outcome="found", **{"errors.search": "plum"})
    assert page.text_input(key="errors.search").value == "plum"
    assert page.query_params["errors.search"] in ("plum", ["plum"])
    rows = read_component(page, "errors_rows")["groups"][0]["rows"]
    assert [row["name"] for row in rows] == ["plum"]


def test_another_page_forgets_them(open_page, run: Run) -> None:
    page = open_page("data", data="fruit.csv", **{"data.search": "plum", "predict.text": "left over"})
    page.switch_page("app_pages/errors.py").run()
    assert not page.exception
    assert "data.search" not in page.query_params
    assert "predict.text" not in page.query_params


def note(page: AppTest) -> str:
    """The line about what the address asked for in vain; there is one at most."""
    lines = [each.value.replace("\\", "") for each in page.warning if each.icon == ":material/link_off:"]
    assert len(lines) <= 1
    return "".join(lines)


def test_an_address_that_cannot_be_opens_the_usual_view(open_page, run: Run) -> None:
    wrong = {"errors.suspicious": "<b>", "outcome": "sideways", "errors.none": "1"}
    page = open_page("errors", data="fruit.csv", run=run.id, section="suspicious", **wrong)
    assert not page.error
    assert page.segmented_control(key="errors.suspicious").value == "Likely missing"
    assert "There is no outcome “sideways”; “missed” is shown instead." in note(page)


@pytest.mark.parametrize(
    ("page_name", "field", "text", "sentence"),
    [
        ("errors", "run", "gone", "There is no run “gone”; by words is shown instead."),
        ("predict", "document", "999999", "There is no document “999999”; "),
        ("predict", "document", "first", "There is no document “first”; 0 is shown instead."),
        ("predict", "document", "9" * 5000, "There is no document “999"),
        ("predict", "label", "no such label", "There is no label with “no such label” in its name."),
        ("predict", "family", "nowhere", "There is no family of reasons “nowhere” here; all are shown."),
        ("predict", "word", "zzyzx", "The word “zzyzx” does not count for this label; none is open."),
        ("predict", "k", "1000", "There is no list length “1000”; 100 is shown instead."),
        ("errors", "label", "no such label", "There is no label “no such label”; the first one is shown instead."),
        ("errors", "outcome", "101-200", "There is no outcome “101-200”; “missed” is shown instead."),
        ("errors", "band", "none", "There is no band “none”; “all bands” is shown instead."),
        ("errors", "bands", "size", "There is no definition of bands “size”; “by count” is shown instead."),
        ("train", "method", "magic", "There is no method “magic”; ZestXML is shown instead."),
        ("compare", "runs", "gone,lost", "Not among the runs with results here: “gone”, “lost”; the best ones"),
        ("compare", "reference", "gone", "There is no reference “gone”; "),
        ("compare", "against", "gone", "There is no other run “gone”; "),
        ("compare", "scope", "some", "There is no choice of labels “some”; “All” is shown instead."),
        ("compare", "change", "lost", "There is no kind of document “lost”; “all” is shown instead."),
        ("compare", "sort", "colour", "There is no column to sort by “colour”; P@1 is shown instead."),
        ("label_map", "layout", "tree", "There is no layout “tree”; “Neighbourhood map” is shown instead."),
        ("label_map", "colour", "blue", "There is no colour “blue”; “Found” is shown instead."),
        ("label_map", "region", "nowhere", "There is no region “nowhere” on this map."),
        ("label_map", "lasso", "0,0;1", "There is no lasso “0,0;1” on this map."),
        ("label_map", "label", "no such label", "There is no label with “no such label” in its name."),
    ],
)
def test_what_an_address_asks_for_in_vain_is_said_in_one_line(
    open_page, run: Run, corpus: Path, train: Train, page_name: str, field: str, text: str, sentence: str
) -> None:
    train("popularity", {}, corpus, "by count")
    page = open_page(page_name, **({"data": "fruit.csv", "run": run.id} | {field: text}))
    assert not page.error
    assert note(page).startswith(sentence)
    assert page.query_params.get(field) != text, "the address names what is shown"
    page.button(key="shell.lesson").click().run()
    assert note(page) == "", "it stays until somebody chooses something"


def test_a_dataset_that_is_gone_is_said(open_page) -> None:
    page = open_page("home", data="gone.csv", run="20200101-000000-aaaa-gone")
    assert "There is no dataset “gone.csv”; pyseealso is shown instead." in note(page)
    assert "There is no run “20200101-000000-aaaa-gone”; there is none on pyseealso." in note(page)
    assert page.selectbox(key="shell.data").value == "pyseealso"
    assert page.query_params == {"data": "pyseealso"}


def test_a_run_brings_its_dataset_along(open_page, run: Run) -> None:
    page = open_page("errors", run=run.id)
    assert page.query_params == {"data": "fruit.csv", "run": run.id}
    assert note(page) == ""
    page = open_page("errors", run=run.id, data="synthetic")
    assert page.query_params == {"data": "fruit.csv", "run": run.id}
    assert note(page) == "by words is a run on fruit.csv, which is shown instead of synthetic."


def test_a_run_that_goes_while_it_is_shown_is_said(open_page, corpus: Path, run: Run, train: Train) -> None:
    other = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=other.id)
    assert note(page) == ""
    shutil.rmtree(other.folder)
    page.run()
    assert note(page) == f"There is no run “{other.id}”; by words is shown instead."
    assert page.query_params["run"] == run.id
    page.switch_page("app_pages/compare.py").run()
    assert note(page) == "", "another page is about the run that is left"


def test_the_address_names_what_is_shown_by_default(open_page, corpus: Path, run: Run, train: Train) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("compare", data="fruit.csv")
    assert page.query_params["run"] == run.id
    assert page.query_params["runs"] == f"{run.id},{poor.id}"
    assert open_page("errors", data="fruit.csv").query_params == {"data": "fruit.csv", "run": run.id}


def test_a_link_opens_better_and_worse_documents_as_they_were(open_page, corpus: Path, run: Run, train: Train) -> None:
    runs = [run, *(train(method, {}, corpus, method) for method in ("popularity", "nearest_documents"))]
    page = open_page("compare", data="fruit.csv", section="curves", k="1")
    page.selectbox(key="compare.reference").set_value(runs[1].id).run()
    usual = page.selectbox(key="compare.against").value
    other = next(each.id for each in runs if each.id not in (usual, runs[1].id))
    page.selectbox(key="compare.against").set_value(other).run()
    page.button(key="compare_change_worse").click().run()
    again = open_page("compare", **page.query_params)
    assert again.selectbox(key="compare.reference").value == runs[1].id
    assert again.selectbox(key="compare.against").value == other
    assert again.query_params["change"] == "worse"
    assert dict(again.query_params) == dict(page.query_params)


def test_back_restores_choices_searches_and_filters(open_page, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page("errors", data="fruit.csv", run=run.id)
    first = dict(page.query_params)
    page.selectbox(key="errors.bands").set_value("shots").run()
    page.button(key="errors_all_found").click().run()
    second = dict(page.query_params)
    assert second == first | {"bands": "shots", "outcome": "found"}
    page.segmented_control(key="errors.section").set_value("documents").run()
    assert page.query_params["section"] == "documents"
    go_back(page, second, monkeypatch)
    assert page.segmented_control(key="errors.section").value == "labels"
    assert page.button(key="errors_chip_outcome")
    go_back(page, first, monkeypatch)
    assert page.selectbox(key="errors.bands").value == "count"
    assert dict(page.query_params) == first
    go_back(page, second, monkeypatch)
    assert page.selectbox(key="errors.bands").value == "shots"


def test_back_to_where_a_row_was_chosen_shows_the_list_as_it_was(
    open_page, corpus: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=poor.id, k="1", outcome="missed")
    rows = read_component(page, "errors_rows")["groups"][0]["rows"]
    send_event(page, "errors_rows", rows[-1]["id"])
    before = dict(page.query_params)
    page.button(key="errors.why_not").click().run()
    assert page.title[0].value == "Predict"
    opened = dict(page.query_params)
    assert opened["label"] == rows[-1]["name"]
    assert "section" not in opened
    page.switch_page("app_pages/errors.py")
    go_back(page, before, monkeypatch)
    assert read_component(page, "errors_rows")["selected"] == rows[-1]["id"]
    assert dict(page.query_params) == before


def test_a_choice_counts_although_the_browser_still_has_the_address_before(open_page, run: Run) -> None:
    page = open_page("errors", data="fruit.csv", run=run.id, k="3")
    before = dict(page.query_params)
    page.segmented_control(key="errors.k").set_value(10).run()
    page.query_params.clear()
    page.query_params.update(before)  # on its way, but not there yet when the next choice is made
    page.selectbox(key="errors.bands").set_value("shots").run()
    assert page.segmented_control(key="errors.k").value == 10
    assert page.query_params["k"] == "10"


def test_a_widget_that_lags_behind_back_is_no_choice(
    open_page, corpus: Path, run: Run, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=poor.id)
    find_box(page, "shell.run").set_value(poor.id)  # what the browser still shows when Forward was pressed
    go_back(page, dict(page.query_params) | {"run": run.id}, monkeypatch)
    find_box(page, "shell.run").set_value(poor.id)
    go_back(page, dict(page.query_params) | {"run": run.id, "k": "3"}, monkeypatch)
    assert page.query_params["run"] == run.id
    assert find_box(page, "shell.run").value == run.id


def test_a_text_too_long_for_the_address_survives_back(open_page, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page("predict", data="fruit.csv", run=run.id, **{"predict.where": "My text", "predict.text": "a pear"})
    page = send_event(page, "predict_text_editor", "plum " * 1000, event="edited")
    go_back(page, dict(page.query_params), monkeypatch)
    assert read_component(page, "predict_text_editor")["text"] == "plum " * 1000


def test_links_of_the_menu_say_all_that_their_pages_will(open_page, corpus: Path, run: Run, train: Train) -> None:
    train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", section="documents", outcome="found")
    for name in ("compare", "predict", "errors"):
        target = next(link.query_string for link in menu_of(page) if link.page == name)
        page.query_params.clear()
        page.query_params.update(dict(parse_qsl(target)))
        page.switch_page(f"app_pages/{name}.py").run()
        assert dict(page.query_params) == dict(parse_qsl(target)), "nothing is left to write: one step in the history"
    assert page.segmented_control(key="errors.section").value == "documents", "a page is found as it was left"


def test_a_chosen_run_stays_chosen_on_other_pages(open_page, corpus: Path, run: Run, train: Train) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("data", data="fruit.csv", run=poor.id)
    for name in ("errors", "predict"):
        target = next(link.query_string for link in menu_of(page) if link.page == name)
        page.query_params.clear()
        page.query_params.update(dict(parse_qsl(target)))
        page.switch_page(f"app_pages/{name}.py").run()
        assert page.selectbox(key="shell.run").value == poor.id
        assert page.query_params["run"] == poor.id


def menu_of(page: AppTest) -> list[PageLink]:
    return [each.proto for each in page.sidebar.get("page_link")]


def test_a_page_that_ends_early_has_its_address_and_its_note(open_page, corpus: Path) -> None:
    waiting = RunStore().create("gated", None, corpus, name="waiting")
    page = open_page("errors", run=waiting.id, section="pairs", k="many")
    assert any("is queued and has no results" in text.value for text in page.markdown)
    assert page.query_params == {"data": "fruit.csv", "run": waiting.id, "section": "pairs"}
    assert note(page) == "There is no list length “many”; 5 is shown instead."
