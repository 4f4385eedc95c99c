"""The compare page: the table of runs, figures, two runs document by document, exports."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app import tokens
from xcwork_app.panels.compare import run_choice

from tests.support.pages import Train, read_component, send_event
from xcwork.analysis.agreement import find_better_and_worse
from xcwork.analysis.run_table import make_run_table
from xcwork.data.load import load_dataset
from xcwork.runs import Run, RunStore
from xcwork.viz import curves, run_dots

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(corpus: Path, train: Train) -> list[Run]:
    """A good run, a poor one and one without results; names would like to be HTML."""
    made = [
        train("one_vs_all", None, corpus, "good <script>alert(1)</script>"),
        train("gated", {"steps": 3}, corpus, "poor *star*"),
    ]
    RunStore().create("gated", None, corpus, name="waiting")
    return made


def read_rows(page: AppTest, key: str = "compare_table") -> list[dict]:
    return [row for group in read_component(page, key)["groups"] for row in group["rows"]]


def read_html(page: AppTest) -> str:
    shown = "\n".join(each.proto.body for each in page.get("html"))
    return re.sub(r"<style>.*?</style>", "", shown, flags=re.DOTALL)


def read_counts(page: AppTest) -> dict[str, int]:
    """The documents that are better, mixed, alike and worse, as the page says."""
    found = re.findall(r"<b>([\d,]+)</b> (?:documents )?(better|mixed|alike|worse)", read_html(page))
    return {name: int(number.replace(",", "")) for number, name in found}


def test_without_results_it_says_what_to_do(open_page, corpus: Path) -> None:
    RunStore().create("gated", None, corpus, name="waiting")
    page = open_page("compare", data="fruit.csv")
    assert any("no run with results" in text.value for text in page.markdown)


def test_the_table_shows_marks_ranges_and_the_best_in_bold(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv")
    data = read_component(page, "compare_table")
    columns = [column["id"] for column in data["sortColumns"]]
    good, poor = read_rows(page)
    figures = [run.read_report().metrics["P@1"] for run in runs]
    assert figures[0] > figures[1], "otherwise this test says nothing"
    at = columns.index("P@1")
    assert [row["cells"][at]["text"] for row in (good, poor)] == [f"{value:.1f}" for value in figures]
    assert [row["cells"][at]["is_bold"] for row in (good, poor)] == [True, False]
    assert data["sortColumns"][columns.index("P@5")]["note"] == "max 20"
    for row in (good, poor):
        low, point, high = row["cells"][0]["span"]
        assert 0 <= low <= point <= high <= 1
    assert good["name"] == "good <script>alert(1)</script>", "a component sets it as text"
    assert "<script>" not in read_html(page)
    assert [row["mark"]["colour"] for row in (good, poor)] == [tokens.get_look(run.number).colour for run in runs]


def test_labels_that_compete_are_chosen(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv")
    page.segmented_control(key="compare.scope").set_value("seen").run()
    assert page.query_params["scope"] == "seen"
    seen = [run.read_report().seen["P@1"] for run in runs]
    columns = [column["id"] for column in read_component(page, "compare_table")["sortColumns"]]
    shown = [row["cells"][columns.index("P@1")]["text"] for row in read_rows(page)]
    assert shown == [f"{value:.1f}" for value in seen]


def test_heads_sort_and_rows_choose(open_page, runs: list[Run], corpus: Path, train: Train) -> None:
    third = train("popularity", None, corpus, "third")
    page = open_page("compare", data="fruit.csv", reference=runs[0].id)
    first = [row["id"] for row in read_rows(page)]
    send_event(page, "compare_table", "P@1", event="sort")
    assert page.query_params["sort"] == "-P@1"
    assert [row["id"] for row in read_rows(page)] != first
    send_event(page, "compare_table", "run", event="sort")
    assert [row["name"] for row in read_rows(page)] == sorted(row["name"] for row in read_rows(page))
    again = open_page("compare", **dict(page.query_params))
    assert [row["id"] for row in read_rows(again)] == [row["id"] for row in read_rows(page)]
    send_event(page, "compare_table", third.id)
    assert page.query_params["against"] == third.id
    assert page.selectbox(key="compare.against").value == third.id
    send_event(page, "compare_table", runs[0].id)
    assert page.query_params["against"] == third.id, "a run is not compared with itself"
    send_event(page, "compare_table", "no such column", event="sort")
    assert page.query_params["sort"] == "run"


@pytest.mark.parametrize("k", ["1", "3"])
def test_documents_add_up_and_open_side_by_side(open_page, runs: list[Run], corpus: Path, k: str) -> None:
    page = open_page("compare", data="fruit.csv", reference=runs[0].id, k=k)
    data = load_dataset(corpus)
    wanted = find_better_and_worse(runs[0].read_topk(), runs[1].read_topk(), data, k=int(k))
    assert read_counts(page) == wanted.counts
    assert sum(read_counts(page).values()) == len(data.test)
    if k != "1":
        return
    assert wanted.counts["better"] > 0
    page.button(key="compare_change_better").click().run()
    rows = read_rows(page, "compare_documents")
    assert {row["value"] for row in rows} == {"better"}
    assert len(rows) == wanted.counts["better"]
    assert rows[0]["below"].startswith("only good <script>alert(1)</script> finds ")
    page.button(key="compare_change_better").click().run()
    assert "change" not in page.query_params
    before = dict(page.query_params)
    send_event(page, "compare_documents", rows[0]["id"])
    assert page.title[0].value == "Predict"
    assert page.query_params["run"] == runs[0].id
    assert page.query_params.get("document", "0") == rows[0]["id"]
    assert page.query_params["predict.view"] == "Other runs"
    page.button(key="page.back").click().run()
    assert page.title[0].value == "Compare"
    assert dict(page.query_params) == before | (
        {} if "document" not in page.query_params else {"document": rows[0]["id"]}
    )


def test_alike_documents_are_counted_not_listed(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv", change="alike", reference=runs[0].id)
    assert not read_rows(page, "compare_documents")
    assert "same true labels" in read_component(page, "compare_documents")["empty"]


def test_the_difference_says_who_is_better(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv", reference=runs[0].id)
    figures = [run.read_report().metrics["P@1"] for run in runs]
    told = next(each.value for each in page.caption if each.value.startswith("P@1"))
    assert f"+{figures[0] - figures[1]:.1f}" in told.replace("\\", "")
    page.selectbox(key="compare.reference").set_value(runs[1].id).run()
    told = next(each.value for each in page.caption if each.value.startswith("P@1"))
    assert f"−{figures[0] - figures[1]:.1f}" in told.replace("\\", "")


@pytest.mark.parametrize("section", ["", "differences", "curves", "frequency"])
def test_figures_of_several_runs(open_page, runs: list[Run], section: str) -> None:
    page = open_page("compare", data="fruit.csv", section=section)
    (chart,) = page.get("plotly_chart")
    assert all(tokens.get_palette().pick_run(run.number) in chart.proto.spec for run in runs[-1:])
    # Each series is lit by the row of its run: all others are dimmed while the mouse is on it.
    assert read_component(page, "compare_table")["lights"] is True
    styles = "".join(each.proto.body for each in page.get("html"))
    lit = set(re.findall(r':root\[data-lit="([^"]+)"\] \.st-key-compare-chart', styles))
    assert lit == {run.id for run in (runs[1:] if section == "differences" else runs)}
    if section == "curves":
        page.segmented_control(key="compare.curve").set_value("Any hit").run()
        page.segmented_control(key="compare.length").set_value("all").run()
        assert '"type":"log"' in page.get("plotly_chart")[0].proto.spec
    if section == "differences":
        page.segmented_control(key="compare.metric").set_value("PSP@5").run()
        assert "PSP@5" in page.get("plotly_chart")[0].proto.spec


def test_figures_are_drawn_when_they_are_new(open_page, runs: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def count(module: ModuleType, name: str) -> None:
        draw = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, **named: (called.append(name), draw(*given, **named))[1])

    for name in ("draw_quality_and_time", "draw_run_differences", "draw_band_dots"):
        count(run_dots, name)
    count(curves, "draw_ranking_curves")
    page = open_page("compare", data="fruit.csv")
    for section, name in (("", "quality_and_time"), ("differences", "run_differences"), ("frequency", "band_dots")):
        if section:
            page.segmented_control(key="compare.section").set_value(section).run()
        assert called == [f"draw_{name}"]
        called.clear()
        shown = page.get("plotly_chart")[0].proto.spec
        assert all(f'"meta":"{run.id}"' in shown for run in (runs[:2] if section != "differences" else runs[1:2]))
        page.run()
        assert page.get("plotly_chart")[0].proto.spec == shown
        assert not called
    page.segmented_control(key="compare.section").set_value("curves").run()
    page.segmented_control(key="compare.length").set_value("all").run()
    page.run()
    assert called == ["draw_ranking_curves", "draw_ranking_curves"], "once for each length"
    called.clear()
    runs[0].rename("renamed")
    page.run()
    assert called == ["draw_ranking_curves"], "a name is part of the figure"
    assert "renamed" in page.get("plotly_chart")[0].proto.spec


def test_a_long_list_of_runs_waits_until_it_is_opened(
    open_page, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_choice, "MAX_RUNS_AT_HAND", 1)
    page = open_page("compare", data="fruit.csv")
    assert not page.multiselect
    assert len(read_rows(page)) == 2
    again = open_page("compare", data="fruit.csv", runs=runs[1].id)
    assert [row["id"] for row in read_rows(again)] == [runs[1].id]


def test_runs_of_one_name_can_all_be_chosen(open_page, corpus: Path, train: Train) -> None:
    runs = [train("gated", {"steps": 3}, corpus, "same") for _ in range(2)]
    page = open_page("compare", data="fruit.csv")
    offered = page.multiselect(key="compare.runs").options
    assert len(set(offered)) == 2, "the browser leaves out what is called like a chosen one"
    assert all(any(run.id in title for title in offered) for run in runs)
    told = " ".join(text.value for text in page.caption).replace("\\", "")
    assert "P@1 +0.0, between +0.0 and +0.0" in told, "no negative zero"
    assert read_component(page, "compare_documents")["empty"].startswith("Both runs find the same")


def test_a_single_run_has_nothing_to_differ_from(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv", runs=runs[0].id)
    assert page.multiselect(key="compare.runs").value == [runs[0].id]
    assert any("Choose a second run to compare." in text.value.replace("\\", "") for text in page.caption)
    assert len(read_rows(page)) == 1
    page.multiselect(key="compare.runs").set_value([run.id for run in runs]).run()
    assert set(page.query_params["runs"].split(",")) == {run.id for run in runs}
    assert read_counts(page)


def test_no_run_at_all_is_a_choice(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv")
    page.multiselect(key="compare.runs").set_value([]).run()
    assert page.multiselect(key="compare.runs").value == []
    assert any("Choose at least one run" in text.value for text in page.markdown)
    assert not page.get("plotly_chart")
    again = open_page("compare", **page.query_params)
    assert again.multiselect(key="compare.runs").value == []
    again.multiselect(key="compare.runs").set_value([runs[1].id]).run()
    assert again.query_params["runs"] == runs[1].id


def test_runs_on_other_data_are_not_comparable(open_page, runs: list[Run], corpus: Path, train: Train) -> None:
    train("popularity", None, corpus, "third")
    facts = runs[1].config["dataset"]
    runs[1].complete_config(dataset=facts | {"fingerprint": "another"})
    page = open_page("compare", data="fruit.csv")
    second = read_component(page, "compare_table")["groups"][1]
    assert second["title"] == "Not comparable"
    assert [row["id"] for row in second["rows"]] == [runs[1].id]
    assert runs[1].id not in page.selectbox(key="compare.against").options
    assert not any(cell["is_bold"] for cell in second["rows"][0]["cells"])


def test_published_results_are_offered_where_they_are_known(open_page, home: Path, train: Train) -> None:
    name = "bibtex"
    rows = "".join(f"{word} {i},{word}\n" for i in range(20) for word in ("apple", "pear"))
    (home / "data" / f"{name}.csv").write_text(f"text,labels\n{rows}")
    train("popularity", None, home / "data" / f"{name}.csv")
    page = open_page("compare", data=f"{name}.csv")
    assert any("PD-Sparse" in each.value.to_string() for each in page.dataframe)


def test_a_run_that_lost_its_results_is_left_out(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv")
    shutil.rmtree(runs[1].folder / "eval")
    page.run()
    assert not page.exception
    assert [row["id"] for row in read_rows(page)] == [runs[0].id]
    (runs[0].folder / "eval" / "topk.npz").unlink()
    page.run()
    assert not page.exception
    assert "good" in page.warning[0].value
    assert any("no run with results" in text.value for text in page.markdown)


def test_the_shown_digits_are_those_of_the_exports(open_page, runs: list[Run], corpus: Path) -> None:
    from xcwork.analysis.comparison import make_entries

    page = open_page("compare", data="fruit.csv")
    table = make_run_table(make_entries(runs), load_dataset(corpus))
    lines = table.to_csv().splitlines()[1:]
    for row, line in zip(read_rows(page), lines, strict=True):
        for cell in row["cells"][1:]:
            assert cell["text"] in line
