"""State in the address: a link opens the same view of every page, and what it says that cannot be is left out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app import state

from tests.support.pages import Train, choose_row, table
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
        ("data", "data.way", "generate"),
        ("labs", "labs.lab", "rank"),
        ("predict", "predict.view", "runs"),
        ("errors", "errors.section", "missed"),
        ("compare", "compare.section", "curves"),
        ("data", "data.part", "test"),
        ("errors", "errors.documents.state", "any"),
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
    page = open_page("predict", data="fruit.csv", run=run.id)
    page.text_input(key="predict.search").set_value("plum").run()
    assert page.query_params["predict.search"] in ("plum", ["plum"])
    again = open_page("predict", data="fruit.csv", run=run.id, **{"predict.search": "plum"})
    assert again.text_input(key="predict.search").value == "plum"


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


def note(page: AppTest) -> str:
    """The line about what the address asked for in vain; there is one at most."""
    lines = [each.value.replace("\\", "") for each in page.warning if each.icon == ":material/link_off:"]
    assert len(lines) <= 1
    return "".join(lines)


def go_back(page: AppTest, address: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """Let the browser return to an address, as Back and Forward do."""
    page.query_params.clear()
    page.query_params.update(address)
    with monkeypatch.context() as patch:
        patch.setattr(state, "is_history_navigation", lambda: True)
        page.run()
    assert not page.exception
    return page


def test_an_address_that_cannot_be_opens_the_usual_view(open_page, run: Run) -> None:
    wrong = {"errors.documents.state": "<b>", "errors.documents.order": "sideways", "errors.none": "1"}
    page = open_page("errors", data="fruit.csv", run=run.id, **wrong)
    assert not page.error
    assert page.selectbox(key="errors.documents.state").value == "missed"
    assert page.selectbox(key="errors.documents.order").value == "worst"
    assert "There is no state “<b>”; the usual choice is shown instead." in note(page)
    assert "There is no order “sideways”" in note(page)


@pytest.mark.parametrize(
    ("page_name", "field", "text", "sentence"),
    [
        ("errors", "run", "gone", "There is no run “gone”; by words is shown instead."),
        ("predict", "document", "999999", "There is no document “999999”; "),
        ("predict", "document", "first", "There is no document “first”; 0 is shown instead."),
        ("predict", "document", "9" * 5000, "There is no document “999"),
        ("predict", "label", "no such label", "There is no label with “no such label” in its name."),
        ("predict", "section", "nowhere", "There is no section “nowhere”; “Why this label” is shown instead."),
        ("predict", "k", "1000", "There is no list length “1000”; 100 is shown instead."),
        ("errors", "label", "no such label", "There is no label with “no such label” in its name."),
        ("errors", "band", "none", "There is no band “none”; “all bands” is shown instead."),
        ("errors", "bands", "size", "There is no definition of bands “size”; “by count” is shown instead."),
        ("train", "method", "magic", "There is no method “magic”; zestxml is shown instead."),
        ("compare", "runs", "gone,lost", "Not among the runs with results here: “gone”, “lost”; the best ones"),
        ("compare", "reference", "gone", "There is no reference “gone”; "),
        ("compare", "against", "gone", "There is no other run “gone”; "),
        ("compare", "scope", "some", "There is no choice of labels “some”; “All labels” is shown instead."),
        ("compare", "compare.states", "fixed,lost", "There is no set of states “fixed,lost”"),
        ("label_map", "section", "structure", "There is no section “structure”; “Map” is shown instead."),
        ("label_map", "layout", "tree", "There is no layout “tree”; “PCA” is shown instead."),
        ("label_map", "colour", "blue", "There is no colour “blue”; “Band” is shown instead."),
    ],
)
def test_what_an_address_asks_for_in_vain_is_said_in_one_line(
    open_page, run: Run, corpus: Path, train: Train, page_name: str, field: str, text: str, sentence: str
) -> None:
    train("popularity", {}, corpus, "by count")
    section = {
        ("errors", "label"): "label",
        ("compare", "against"): "changes",
        ("compare", "compare.states"): "changes",
    }
    given = {"data": "fruit.csv", "run": run.id, "section": section.get((page_name, field), ""), field: text}
    page = open_page(page_name, **{name: value for name, value in given.items() if value})
    assert not page.error
    assert note(page).startswith(sentence)
    assert page.query_params.get(field) != text, "the address names what is shown"
    page.toggle(key="shell.guided").set_value(True).run()
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


def test_a_link_opens_documents_fixed_and_broken_as_they_were(open_page, corpus: Path, run: Run, train: Train) -> None:
    runs = [run, *(train(method, {}, corpus, method) for method in ("popularity", "nearest_documents"))]
    page = open_page("compare", data="fruit.csv", section="changes")
    page.selectbox(key="compare.reference").set_value(runs[1].id).run()
    usual = page.selectbox(key="compare.against").value
    other = next(each.id for each in runs if each.id not in (usual, runs[1].id))
    page.selectbox(key="compare.against").set_value(other).run()
    page.button_group(key="compare.states").set_value(["mixed"]).run()
    again = open_page("compare", **page.query_params)
    assert again.selectbox(key="compare.reference").value == runs[1].id
    assert again.selectbox(key="compare.against").value == other
    assert again.button_group(key="compare.states").value == ["mixed"]
    assert dict(again.query_params) == dict(page.query_params)


def test_back_restores_choices_searches_and_filters(open_page, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page("errors", data="fruit.csv", run=run.id)
    first = dict(page.query_params)
    page.selectbox(key="errors.documents.state").set_value("any").run()
    page.text_input(key="errors.documents.search").set_value("plum").run()
    second = dict(page.query_params)
    assert second == first | {"errors.documents.state": "any", "errors.documents.search": "plum"}
    page.segmented_control(key="errors.section").set_value("missed").run()
    assert page.query_params["section"] == "missed"
    go_back(page, second, monkeypatch)
    assert page.text_input(key="errors.documents.search").value == "plum"
    go_back(page, first, monkeypatch)
    assert page.segmented_control(key="errors.section").value == "documents"
    assert page.text_input(key="errors.documents.search").value == ""
    assert page.selectbox(key="errors.documents.state").value == "missed"
    assert dict(page.query_params) == first
    go_back(page, second, monkeypatch)
    assert page.selectbox(key="errors.documents.state").value == "any"


def test_back_to_where_a_row_was_chosen_shows_the_list_as_it_was(
    open_page, corpus: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=poor.id, k="1", section="missed")
    page.text_input(key="errors.missed.search").set_value("plum").run()
    before = dict(page.query_params)
    choose_row(page, "errors.missed", 0)
    assert page.title[0].value == "Predict"
    opened = dict(page.query_params)
    assert opened["label"] == "plum"
    assert "section" not in opened
    page.switch_page("app_pages/errors.py")
    go_back(page, opened, monkeypatch)  # the entry that Streamlit leaves behind: the new address at the old page
    assert page.text_input(key="errors.missed.search").value == "plum"
    assert dict(page.query_params) == before


def test_a_choice_counts_although_the_browser_still_has_the_address_before(open_page, run: Run) -> None:
    page = open_page("errors", data="fruit.csv", run=run.id, k="3")
    before = dict(page.query_params)
    page.number_input(key="errors.k").set_value(4).run()
    page.query_params.clear()
    page.query_params.update(before)  # on its way, but not there yet when the next choice is made
    page.selectbox(key="errors.documents.order").set_value("number").run()
    assert page.number_input(key="errors.k").value == 4
    assert page.query_params["k"] == "4"


def test_a_text_too_long_for_the_address_survives_back(open_page, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page("predict", data="fruit.csv", run=run.id, **{"predict.where": "own", "predict.text": "a pear"})
    page.text_area(key="predict.text").set_value("plum " * 1000)
    page.button(key="predict.submit").click().run()
    go_back(page, dict(page.query_params), monkeypatch)
    assert page.text_area(key="predict.text").value == "plum " * 1000


def test_links_of_the_menu_say_all_that_their_pages_will(open_page, corpus: Path, run: Run, train: Train) -> None:
    train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", **{"section": "missed", "errors.missed.search": "plum"})
    for name in ("compare", "predict", "errors"):
        target = next(link.query_string for link in menu_of(page) if link.page == name)
        page.query_params.clear()
        page.query_params.update(dict(parse_qsl(target)))
        page.switch_page(f"app_pages/{name}.py").run()
        assert dict(page.query_params) == dict(parse_qsl(target)), "nothing is left to write: one step in the history"
    assert page.text_input(key="errors.missed.search").value == "plum", "a page is found as it was left"


def menu_of(page: AppTest) -> list[PageLink]:
    return [each.proto for each in page.sidebar.get("page_link")]


def test_a_page_that_ends_early_has_its_address_and_its_note(open_page, corpus: Path) -> None:
    waiting = RunStore().create("gated", None, corpus, name="waiting")
    page = open_page("errors", run=waiting.id, section="missed", k="many")
    assert any("is queued and has no results" in text.value for text in page.markdown)
    assert page.query_params == {"data": "fruit.csv", "run": waiting.id, "section": "missed"}
    assert note(page) == "There is no list length “many”; 5 is shown instead."


def script_with_a_choice_that_shrinks() -> None:
    import streamlit as st
    from xcwork_app import state

    trees = st.session_state.get("trees", 9)
    state.link("label_map.tree", 1, range(1, trees + 1))
    st.number_input("Tree", 1, trees, key="label_map.tree")


def test_a_linked_widget_returns_to_usual_when_its_value_is_no_longer_offered() -> None:
    page = AppTest.from_function(script_with_a_choice_that_shrinks, default_timeout=60).run()
    page.number_input(key="label_map.tree").set_value(7).run()
    page.session_state["trees"] = 3
    page.run()
    assert not page.exception
    assert page.number_input(key="label_map.tree").value == 1
