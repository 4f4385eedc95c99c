"""The frame around every page: grouped menu, page header, way back, marks of runs, the run under way, lesson."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app import caches, navigation, sidebar, tokens, training_end
from xcwork_app.panels.shared import lesson as lessons

from tests.support.pages import Train, read_component, send_event
from tests.support.waiting import until
from xcwork.export.palette import DARK, LIGHT
from xcwork.methods.names import METHODS
from xcwork.runs import Run, RunStore, jobs
from xcwork.runs.status import read_status, write_status

pytestmark = pytest.mark.slow
PAGES = [place.name for place in navigation.list_places()]


def list_html(page: AppTest) -> list[str]:
    return [each.proto.body for each in page.get("html")]


def list_commands(page: AppTest) -> list[str]:
    return [each.value for each in page.code if each.value.startswith("xcwork ")]


def test_the_menu_has_groups(open_page) -> None:
    page = open_page()
    shown = [each.proto.label if each.type == "page_link" else each.value for each in menu_entries(page)]
    assert shown == [
        "**Home**",
        "Prepare",
        "Data",
        "Train",
        "Use",
        *(["Predict"] + [place.title for place in navigation.list_places() if place.name in ("decisions", "review")]),
        "Understand",
        "Errors",
        "Compare",
        "Label map",
        "Learn",
        *[place.title for place in navigation.list_places() if place.group == "Learn"],
    ]


def menu_entries(page: AppTest) -> list:
    """Links and headings of the menu, in order."""
    titles = {place.group for place in navigation.PLACES}
    return [
        each
        for each in page.sidebar
        if each.type == "page_link" or (each.type == "caption" and each.value in titles and each.value)
    ]


def test_a_page_that_waits_for_answers_has_its_number_in_the_menu(open_page, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"errors": lambda: 1130, "compare": lambda: 0, "labs": lambda: None}
    monkeypatch.setattr(sidebar, "WAITING_COUNTS", counts)
    labels = [each.proto.label for each in open_page().sidebar.get("page_link")]
    assert {"Errors :gray[1,130]", "Compare", "Labs"} <= set(labels)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_says_its_title_and_question_once(open_page, finished: Run, name: str) -> None:
    page = open_page(name, data="fruit.csv", run=finished.id)
    place = navigation.get_place(name)
    assert [each.value for each in page.title] == [place.title]
    assert [each.value for each in page.markdown].count(place.question) == 1
    assert len([each for each in page.get("bidi_component") if each.proto.component_name == "xcwork_copy_link"]) == 1


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("data", "xcwork describe fruit.csv"),
        ("errors", "xcwork report {run}"),
        ("compare", "xcwork report {run}"),
        ("predict", "xcwork predict {run} --document 0 -k 5"),
        ("train", "xcwork train bm25 --data fruit.csv"),
    ],
)
def test_the_header_has_the_command(open_page, finished: Run, name: str, command: str) -> None:
    page = open_page(name, data="fruit.csv", run=finished.id, method="bm25", document="0")
    assert list_commands(page) == [command.format(run=finished.id)]


def test_a_page_opened_from_a_list_leads_back_to_it(open_page, corpus: Path, train: Train) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=poor.id, k="1", outcome="missed")
    rows = read_component(page, "errors_rows")["groups"][0]["rows"]
    send_event(page, "errors_rows", rows[1]["id"])
    before = dict(page.query_params)
    page.button(key="errors.why_not").click().run()
    page.switch_page("app_pages/predict.py")
    assert page.title[0].value == "Predict"
    assert page.button(key="page.back").label == "Errors"
    page.button(key="page.back").click().run()
    assert page.title[0].value == "Errors"
    assert read_component(page, "errors_rows")["selected"] == rows[1]["id"]
    assert dict(page.query_params) == before
    assert not any(button.key == "page.back" for button in page.button)


def test_the_way_back_ends_when_somebody_turns_the_page(open_page, corpus: Path, train: Train) -> None:
    poor = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=poor.id, k="1")
    page.button(key="errors.why_not").click().run()
    page.switch_page("app_pages/predict.py")
    page.button(key="shell.lesson").click().run()
    assert any(button.key == "page.back" for button in page.button), "it stays while the page does"
    for name in ("labs", "predict"):
        page.switch_page(f"app_pages/{name}.py").run()
        assert not any(button.key == "page.back" for button in page.button)


def test_a_run_has_one_look_in_side_bar_home_and_compare(open_page, corpus: Path, train: Train) -> None:
    first, second = train("popularity", {}, corpus, "by count"), train("tfidf", {}, corpus, "by words")
    assert [run.number for run in (first, second)] == [0, 1]
    page = open_page("home", data="fruit.csv", run=second.id)
    assert tokens.make_mark(1) in list_html(page)
    rows = read_component(page, "home_run_list")["groups"][0]["rows"]
    marks = {row["name"]: row["mark"]["colour"] for row in rows}
    assert marks == {"by words": tokens.get_look(1).colour, "by count": tokens.get_look(0).colour}
    page = open_page("compare", data="fruit.csv", run=first.id)
    rows = read_component(page, "compare_table")["groups"][0]["rows"]
    for run in (first, second):
        look = tokens.get_look(run.number)
        row = next(row for row in rows if row["name"] == run.name)
        assert row["mark"] == {"colour": look.colour, "shape": look.mark}


def test_a_run_keeps_its_look_in_figures(open_page, corpus: Path, train: Train) -> None:
    from xcwork.viz import style_run

    runs = [train(method, {}, corpus, method) for method in ("popularity", "tfidf")]
    page = open_page("compare", data="fruit.csv", section="curves")
    drawn = page.get("plotly_chart")[0].proto.spec
    for run in runs:
        assert style_run(run.number, LIGHT).colour.lower() in drawn.lower()
    assert [style_run(number, DARK).marker for number in (0, 7, 14)] == ["circle", "circle-open", "square"]
    assert len({(style_run(n).colour, style_run(n).dash, style_run(n).hatch) for n in range(21)}) == 21


def test_runs_from_before_have_looks_as_well(open_page, finished: Run) -> None:
    (finished.folder / "identity.json").unlink()
    page = open_page("home", data="fruit.csv")
    assert tokens.make_mark(0) in list_html(page)
    assert caches.glance(finished).number == 0
    assert (finished.folder / "identity.json").is_file()


def test_the_run_under_way_is_at_the_foot_of_the_side_bar(open_page, corpus: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    run = jobs.launch(RunStore().create("gated", {"steps": 4, "gate": str(gate)}, corpus, name="at work *"))
    RunStore().create("gated", None, corpus, name="later")
    (gate / "open-0").touch()
    until(lambda: (gate / "reached-1").exists(), "the second step")
    page = open_page("data", data="fruit.csv")
    shown = next(each.proto.text for each in page.sidebar.get("progress"))
    assert shown.startswith(r"at work \*  ")
    assert "1 waiting" in shown
    (gate / "open").touch()
    jobs.wait(run)


def test_nothing_is_watched_while_nothing_runs(open_page, finished: Run) -> None:
    assert not open_page("data", data="fruit.csv").sidebar.get("progress")


@pytest.mark.parametrize("name", PAGES)
def test_the_lesson_opens_from_the_address_on_every_page_that_has_one(open_page, finished: Run, name: str) -> None:
    page = open_page(name, data="fruit.csv", run=finished.id, lesson="1")
    if lessons.has_lesson(name):
        assert page.radio(key=f"lesson.{name}.answer").options
        assert page.query_params["lesson"] == "1"
    else:
        assert not any(button.key == "shell.lesson" for button in page.button)


def test_lecture_size_enlarges_all_type_and_is_part_of_the_address(open_page) -> None:
    page = open_page("labs", lesson="1")
    assert not any("18px" in html for html in list_html(page))
    page.toggle(key="lesson.lecture").set_value(True).run()
    assert any("html { font-size: 18px" in html for html in list_html(page))
    assert page.query_params["lecture"] == "1"
    links = [dict(parse_qsl(each.proto.query_string)) for each in page.sidebar.get("page_link")]
    assert all(link["lecture"] == "1" for link in links), "other pages are as large"
    page.toggle(key="lesson.lecture").set_value(False).run()
    assert "lecture" not in page.query_params


def test_the_side_bar_can_be_hidden_and_brought_back(open_page) -> None:
    page = open_page("labs", lesson="1")
    assert not any("stSidebar]" in html and "none" in html for html in list_html(page))
    page.toggle(key="lesson.wide").set_value(True).run()
    assert page.query_params["wide"] == "1"
    assert any("[data-testid=stSidebar]" in html and "display: none" in html for html in list_html(page))
    page.button(key="page.side_bar").click().run()
    assert "wide" not in page.query_params
    assert not any(button.key == "page.side_bar" for button in page.button)


def test_the_lesson_of_a_page_about_a_run_speaks_of_its_method(open_page, corpus: Path, train: Train) -> None:
    run = train("popularity", {}, corpus, "by count")
    page = open_page("errors", data="fruit.csv", run=run.id, lesson="1")
    assert any(
        each.value.startswith("**This run, by count.** Every document gets the labels") for each in page.markdown
    )
    page = open_page("data", data="fruit.csv", run=run.id, lesson="1")
    assert not any("This run" in each.value for each in page.markdown)


def test_every_method_has_its_text_for_the_lesson() -> None:
    texts = lessons.read_method_texts(lessons.METHOD_TEXTS.read_text("utf-8"))
    assert texts.keys() == METHODS.keys() - {"gated"}
    assert all(2 <= text.count(".") <= 5 for name, text in texts.items() if name != "flat")


def launch_behind_a_gate(corpus: Path, gate: Path, name: str) -> Run:
    gate.mkdir()
    return jobs.launch(RunStore().create("gated", {"steps": 2, "gate": str(gate)}, corpus, name=name))


def test_when_a_training_ends_a_toast_and_the_side_bar_name_the_next_steps(
    open_page, corpus: Path, tmp_path: Path
) -> None:
    run = launch_behind_a_gate(corpus, tmp_path / "gate", "new *")
    page = open_page("data", data="fruit.csv")
    assert not page.toast
    (tmp_path / "gate" / "open").touch()
    jobs.wait(run)
    page.run()
    said = page.toast[0].value
    assert said.startswith(r"**new \*** has finished: P@1 ")
    assert [
        word for word in ("[Try it](predict?", "[See errors](errors?", "[Compare](compare?") if word not in said
    ] == []
    assert f"run={run.id}" in said
    page.run()
    assert not page.toast, "it is said once"
    steps = {each.proto.label: each.proto.query_string for each in page.sidebar.get("page_link")}
    assert {"Try it", "See errors", "Compare"} <= steps.keys()
    page.query_params.clear()
    page.query_params.update(dict(parse_qsl(steps["See errors"])))
    page.switch_page("app_pages/errors.py").run()
    assert page.query_params["run"] == run.id
    assert "Try it" not in [each.proto.label for each in page.sidebar.get("page_link")], "the step was taken"


def test_a_training_that_fails_says_where_to_see_why(open_page, corpus: Path, tmp_path: Path) -> None:
    run = launch_behind_a_gate(corpus, tmp_path / "gate", "doomed")
    page = open_page("data", data="fruit.csv")
    jobs.cancel(run)
    jobs.wait(run)
    page.run()
    assert not page.toast, "somebody did that"
    write_status(run.folder, replace(read_status(run.folder), state="failed", message="no memory"))
    page.session_state[training_end.ACTIVE] = frozenset({run.id})
    page.run()
    assert "See why" in page.toast[0].value
    assert "Try it" not in [each.proto.label for each in page.sidebar.get("page_link")]
