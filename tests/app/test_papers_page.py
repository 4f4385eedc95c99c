"""Papers: counts equal rows, squares equal rows, an open row says why, and its buttons lead somewhere."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import Open, read_component, send_event
from xcwork.published.claims import PAPERS, SIGNS, VERDICTS, count_verdicts, read_claims, select_claims
from xcwork.runs import Run

CLAIMS = read_claims()
TABLE = "papers_table"


def list_rows(page: AppTest) -> list[dict[str, object]]:
    return read_component(page, TABLE)["groups"][0]["rows"]


def find_button(page: AppTest, label: str):
    return next(button for button in page.button if button.label == label)


def read_options(page: AppTest) -> list[str]:
    return next(each for each in page.button_group if each.key == "papers.verdict").proto.options


def test_every_claim_is_a_row_and_the_counts_say_so(open_page: Open) -> None:
    page = open_page("papers")
    assert page.title[0].value == "Papers"
    assert [row["id"] for row in list_rows(page)] == [claim.id for claim in CLAIMS]
    shown = [option.content for option in read_options(page)]
    expected = [f"{verdict} {count}" for verdict, count in count_verdicts(CLAIMS).items()]
    assert shown == [f"All {len(CLAIMS)}", *expected]


def test_a_card_has_a_square_for_each_of_its_claims(open_page: Open) -> None:
    page = open_page("papers")
    cards = [html.proto.body for html in page.get("html") if 'class="papers-squares"' in html.proto.body]
    assert len(cards) == len(PAPERS)
    for card, name in zip(cards, PAPERS, strict=True):
        own = count_verdicts(select_claims(CLAIMS, paper=name))
        for verdict in VERDICTS:
            assert card.count(f'<i class="papers-{verdict.replace(" ", "-")}">') == own[verdict]
            assert not own[verdict] or f"{SIGNS[verdict]}&#8239;{own[verdict]}<" in card


def test_a_card_and_a_verdict_limit_the_rows_and_a_link_keeps_them(open_page: Open) -> None:
    page = open_page("papers", verdict="contradicted")
    find_button(page, "EAGLE").click().run()
    own = select_claims(CLAIMS, paper="EAGLE", verdict="contradicted")
    assert [row["id"] for row in list_rows(page)] == [claim.id for claim in own]
    assert {"paper": "EAGLE", "verdict": "contradicted"}.items() <= _get_query(page).items()
    find_button(page, "EAGLE").click().run()
    assert "paper" not in _get_query(page)


def test_words_are_searched_and_nothing_found_can_be_cleared(open_page: Open) -> None:
    page = open_page("papers", q="toy example")
    assert {row["id"] for row in list_rows(page)} == {claim.id for claim in select_claims(CLAIMS, text="toy example")}
    search = next(each for each in page.text_input if each.label == "Find a claim")
    search.input("perpetual motion").run()
    assert any("No claim matches these filters" in each.value for each in page.markdown)
    find_button(page, "Clear").click().run()
    assert len(list_rows(page)) == len(CLAIMS)


def test_an_open_row_has_its_command_and_its_reason_and_closes_again(open_page: Open) -> None:
    page = open_page("papers")
    send_event(page, TABLE, "multi-head-theorem-3-1")
    assert read_component(page, TABLE)["selected"] == "multi-head-theorem-3-1" == _get_query(page)["claim"]
    (row,) = [row for row in list_rows(page) if row["details"]]
    details = dict(row["details"])
    assert details["Command"] == "xcwork study multihead-theorem-3"
    assert "every point is its own class" in details["Why"]
    assert [title for _, title in row["actions"]] == ["Run the check", "Open the lab", "Train mhc"]
    send_event(page, TABLE, "multi-head-theorem-3-1")
    assert read_component(page, TABLE)["selected"] == ""


def test_what_nobody_measured_says_so(open_page: Open) -> None:
    page = open_page("papers", verdict="open")
    assert {row["cells"][2] for row in list_rows(page)} == {"not measured here"}
    send_event(page, TABLE, list_rows(page)[0]["id"])
    assert "Would be measured by" in dict(next(row["details"] for row in list_rows(page) if row["details"]))


def test_the_check_behind_a_claim_runs_in_a_dialog(open_page: Open) -> None:
    page = open_page("papers", claim="multi-head-theorem-4-1")
    send_event(page, TABLE, "study:multihead-theorem-4", event="action")
    assert any("Does not hold" in each.value for each in page.markdown)
    assert any(each.value == "xcwork study multihead-theorem-4" for each in page.code)


@pytest.mark.slow
def test_a_row_leads_to_the_lab_and_to_the_training(open_page: Open) -> None:
    page = open_page("papers", claim="multi-head-theorem-3-1")
    send_event(page, TABLE, "lab:rank", event="action")
    assert page.title[0].value == "Labs"
    page = open_page("papers", claim="multi-head-theorem-3-1")
    send_event(page, TABLE, "train:mhc", event="action")
    assert page.title[0].value == "Train"
    assert _get_query(page)["method"] == "mhc"


def test_a_row_leads_to_a_run_of_the_method(open_page: Open, corpus, train) -> None:
    run: Run = train("label_tree", {"trees": 1}, corpus, "a tree")
    page = open_page("papers", data="fruit.csv", claim="zestxml-table-1-eurlex-4-3k-7")
    (row,) = [row for row in list_rows(page) if row["details"]]
    assert [f"run:{run.id}", "See the run a tree"] in row["actions"]
    send_event(page, TABLE, f"run:{run.id}", event="action")
    assert page.title[0].value == "Predict"


def test_an_unknown_claim_or_paper_is_said_in_one_line(open_page: Open) -> None:
    page = open_page("papers", claim="theorem-of-everything", paper="Parabel")
    said = " ".join(each.value for each in [*page.info, *page.warning, *page.caption, *page.markdown])
    assert re.search(r"no claim .*theorem\W+of\W+everything", said)
    assert "no paper “Parabel”" in said
    assert len(list_rows(page)) == len(CLAIMS)


def test_the_command_does_what_the_page_shows(open_page: Open) -> None:
    page = open_page("papers", paper="Multi-head", verdict="not checkable", q="GPU")
    assert any(
        each.value == "xcwork papers --paper multi-head --verdict not-checkable --find GPU" for each in page.code
    )


def _get_query(page: AppTest) -> dict[str, str]:
    return {name: values[0] if isinstance(values, list) else values for name, values in page.query_params.items()}
