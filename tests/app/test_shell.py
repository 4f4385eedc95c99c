"""What surrounds the pages: menu, side bar, header, address, lesson, errors as sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app import navigation, state, widgets
from xcwork_app.panels.shared import lesson as lessons
from xcwork_app.sources import Source

from tests.support.pages import read_component
from xcwork.runs import Run, RunStore


def test_the_menu_lists_only_pages_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"home", "data", "train"} <= {place.name for place in navigation.list_places()}
    monkeypatch.setattr(navigation, "PLACES", (*navigation.PLACES, navigation.Place("nowhere", "Nowhere", "?")))
    assert not navigation.has_page("nowhere")


def test_every_page_is_short() -> None:
    for file in navigation.FOLDER.glob("*.py"):
        assert len(file.read_text().splitlines()) <= 150, file.name


def test_a_view_survives_the_address() -> None:
    view = state.View(data="my file.csv?text_column=a", run="r-1", document=7, k=3, lesson=True)
    assert state.from_query(state.to_query(view)) == view
    assert state.to_query(state.View()) == {}


@pytest.mark.parametrize("bad", [{"k": "many"}, {"document": "-1"}, {"lesson": "²"}, {"unknown": "1"}])
def test_an_address_that_cannot_be_is_a_default_view(bad: dict[str, str]) -> None:
    assert state.from_query(bad) == state.View()
    assert state.from_query({"k": "1000"}).k == 100


@pytest.mark.parametrize(
    "source",
    [
        Source("pyseealso"),
        Source("synthetic:n_labels=50,seed=1"),
        Source("/data/a b?c%20.csv", (("labels_column", "x & y"), ("text_column", "a=b"))),
    ],
)
def test_a_source_survives_its_id(source: Source) -> None:
    assert Source.from_id(source.id) == source


def test_a_file_of_the_data_folder_goes_by_its_name(corpus: Path) -> None:
    assert Source.from_data(corpus, {"test_share": 0.5}) == Source("fruit.csv", (("test_share", "0.5"),))
    assert Source.from_id(str(corpus)) == Source("fruit.csv")
    assert Source.from_data(corpus).location == str(corpus)
    assert Source.from_data(corpus, {"test_share": 0.5}).load_options() == {"test_share": 0.5}


def test_a_link_opens_the_same_view(open_page, finished: Run) -> None:
    page = open_page("train", data="fruit.csv", run=finished.id, method="popularity")
    assert page.selectbox(key="shell.data").value == "fruit.csv"
    assert page.selectbox(key="shell.run").value == finished.id
    assert read_component(page, "train_methods")["selected"] == "popularity"
    page.button(key="shell.lesson").click().run()
    assert page.query_params["lesson"] == "1"
    assert page.query_params["run"] == finished.id


def test_another_dataset_means_another_run(open_page, finished: Run) -> None:
    page = open_page("home", data="fruit.csv", run=finished.id)
    page.selectbox(key="shell.data").set_value("pyseealso").run()
    assert page.query_params == {"data": "pyseealso"}
    assert page.selectbox(key="shell.no_run").disabled


def test_a_lesson_explains_and_checks_answers(open_page) -> None:
    page = open_page("home", lesson="1")
    lesson = lessons.read_lesson((lessons.FOLDER / "home.md").read_text())
    question = page.radio(key="lesson.home.answer")
    assert question.options == list(lesson.answers)
    question.set_value(next(answer for answer in lesson.answers if answer != lesson.right)).run()
    assert page.warning[0].value == f"Not quite. {lesson.reason}"
    page.radio(key="lesson.home.answer").set_value(lesson.right).run()
    assert lesson.reason in page.success[0].value


@pytest.mark.parametrize("file", sorted(lessons.FOLDER.glob("*.md")), ids=lambda file: file.stem)
def test_every_lesson_has_its_parts(file: Path) -> None:
    lesson = lessons.read_lesson(file.read_text())
    assert lesson.title
    assert "$" in lesson.text
    assert lesson.question.endswith("?")
    assert lesson.right in lesson.answers
    assert len(lesson.answers) >= 3
    assert lesson.reason
    assert lesson.notebook.endswith(".ipynb")


def test_text_from_outside_is_never_markdown() -> None:
    assert widgets.escape_text("a *b* [c](d) <e> $f$\n:red[g]") == r"a \*b\* \[c\]\(d\) \<e\> \$f\$ \:red\[g\]"


def script_with_errors() -> None:
    from xcwork_app import widgets

    from xcwork.errors import ConfigError, DataError

    with widgets.catch_errors("The file"):
        raise DataError("line <b>1</b> is odd", file="a.csv", line=1, remedy="look at it")
    with widgets.catch_errors():
        raise ConfigError("k must be at least 1, got 0")
    with widgets.catch_errors():
        raise OSError(28, "No space left on device", "runs/x")
    with widgets.catch_errors():
        raise MemoryError


def test_errors_become_sentences_and_the_page_goes_on() -> None:
    shown = [error.value.replace("\\", "") for error in AppTest.from_function(script_with_errors).run().error]
    assert shown[0] == "The file: a.csv, line 1: line <b>1</b> is odd.  \nLook at it."
    assert shown[1] == "K must be at least 1, got 0."
    assert "No space left on device (runs/x)" in shown[2]
    assert "memory" in shown[3]


def script_with_table() -> None:
    import pandas as pd
    from xcwork_app import widgets

    frame = pd.DataFrame({"label": ["=cmd()", "<script>"] + ["x"] * 1200, "score": 0.5})
    widgets.show_table(frame, key="t", name="labels")


def test_tables_are_cut_for_the_browser_and_say_so() -> None:
    page = AppTest.from_function(script_with_table).run()
    assert not page.exception
    assert len(page.dataframe[0].value) == widgets.MAX_ROWS
    assert "1,202 rows" in page.caption[0].value


def test_a_damaged_run_does_not_hide_the_others(open_page, corpus: Path) -> None:
    store = RunStore()
    damaged, other = (store.create("gated", None, corpus, name=name) for name in ("damaged", "sound"))
    (damaged.folder / "config.json").write_text("{")
    page = open_page("home", data="fruit.csv")
    groups = read_component(page, "home_run_list")["groups"]
    assert {row["name"] for group in groups for row in group["rows"]} == {"sound", "damaged"}
    assert page.selectbox(key="shell.run").options == [f"{other.name} · queued"]


def script_of_a_later_page() -> None:
    from contextlib import suppress

    import streamlit as st
    from xcwork_app import caches, widgets
    from xcwork_app.page_header import show_page_header
    from xcwork_app.panels.shared.finished_run import require_finished_run

    with suppress(widgets.PageEnd):
        show_page_header("papers")
        run = require_finished_run()
        st.title(run.name)
        assert caches.get_model(run) is caches.get_model(run)
        st.caption(type(caches.get_model(run)).__name__)


def test_a_page_gets_its_run_and_model(finished: Run) -> None:
    page = AppTest.from_function(script_of_a_later_page, default_timeout=300)
    page.query_params["data"] = "fruit.csv"
    page.run()
    assert not page.exception
    assert (page.title[1].value, page.caption[0].value) == ("done <b>", "Gated")


@pytest.mark.parametrize("state", ["none", "queued"])
def test_a_page_without_a_finished_run_says_what_to_do(corpus: Path, state: str) -> None:
    page = AppTest.from_function(script_of_a_later_page, default_timeout=300)
    page.query_params["data"] = "fruit.csv"
    if state == "queued":
        page.query_params["run"] = RunStore().create("gated", None, corpus).id
    page.run()
    assert page.title[0].value == "Papers"
    expected = "is queued and has no results" if state == "queued" else "There is no finished run"
    assert expected in page.markdown[1].value


@pytest.mark.slow
def test_pages_need_no_torch(corpus: Path) -> None:
    import subprocess
    import sys

    script = (
        "import sys\n"
        "from streamlit.testing.v1 import AppTest\n"
        f"app = AppTest.from_file({str(Path(navigation.__file__).with_name('main.py'))!r}, default_timeout=300)\n"
        "app.query_params.update(data='fruit.csv', method='popularity')\n"
        "for page in ('home', 'data', 'train'):\n"
        "    app.switch_page(f'app_pages/{page}.py').run()\n"
        "    assert not app.exception and not app.error, page\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
