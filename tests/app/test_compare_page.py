"""The compare page: the table of the papers, differences, documents fixed and broken, curves, bands, exports."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from xcwork_app.panels.compare.run_table import render_html

from tests.support.pages import Train, choose_row, table
from xcwork.analysis.agreement import fixed_and_broken
from xcwork.analysis.comparison import ComparisonTable
from xcwork.data.load import load_dataset
from xcwork.export.tables import BOLD, ITALIC
from xcwork.runs import Run, RunStore

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


def paper_table(page) -> str:
    return next(each.proto.body for each in page.get("html") if 'class="runs"' in each.proto.body)


def test_without_results_it_says_what_to_do(open_page, corpus: Path) -> None:
    RunStore().create("gated", None, corpus, name="waiting")
    page = open_page("compare", data="fruit.csv")
    assert any("no run with results" in text.value for text in page.markdown)


def test_the_table_marks_the_best_and_escapes_names(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv")
    body = paper_table(page)
    good, poor = (run.report().metrics for run in runs)
    assert good["P@1"] > poor["P@1"], "otherwise this test says nothing"
    assert f"<strong>{good['P@1']:.2f}</strong>" in body
    assert f"<strong>{poor['P@1']:.2f}</strong>" not in body
    assert "<script>" not in body
    assert "waiting" not in body
    page.segmented_control(key="compare.scope").set_value("unseen").run()
    assert page.query_params["scope"] == "unseen"
    assert any("not tested" in caption.value for caption in page.caption)


def test_best_equal_and_published_rows_differ_without_colour() -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "run": ["a", "b", "published"],
            "method": ["m", "n", "<i>paper"],
            "P@1": [2.0, 1.9, 1.0],
            "PSP@1": [np.nan] * 3,
        }
    )
    emphasis = np.full(frame.shape, "", object)
    emphasis[0, 2], emphasis[1, 2] = BOLD, ITALIC
    body = render_html(ComparisonTable(frame, emphasis, 1, ()))
    assert "<strong>2.00</strong>" in body
    assert "<em>1.90</em>" in body
    assert body.count('<tr class="published first">') == 1
    assert "&lt;i&gt;paper" in body
    assert "PSP@1" not in body, "a column without values is left out"


def test_differences_to_the_reference(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv", reference=runs[1].id)
    assert page.selectbox(key="compare.reference").value == runs[1].id
    shown = table(page, "difference", "low", "high")
    good, poor = (run.report().metrics for run in runs)
    row = shown[shown["metric"] == "P@1"].iloc[0]
    assert row["difference"] == pytest.approx(good["P@1"] - poor["P@1"])
    assert row["low"] <= row["difference"] <= row["high"]
    page.selectbox(key="compare.reference").set_value(runs[0].id).run()
    assert page.query_params["reference"] == runs[0].id
    assert table(page, "difference")["difference"].max() <= 0


def test_documents_fixed_and_broken_open_with_that_run(open_page, runs: list[Run], corpus: Path) -> None:
    page = open_page("compare", data="fruit.csv", section="changes", reference=runs[1].id, k="1")
    wanted = fixed_and_broken(runs[0].topk(), runs[1].topk(), load_dataset(corpus), k=1)
    assert any(wanted.sentence in text.value for text in page.markdown)
    shown = table(page, "won_labels", "lost_labels")
    assert wanted.counts["fixed"] >= len(shown[shown["state"] == "fixed"]) > 0
    choose_row(page, "compare.documents", 0)
    assert page.title[0].value == "Predict"
    assert page.query_params["run"] == runs[0].id
    assert page.query_params.get("document", "0") == str(shown["document"].iloc[0])


@pytest.mark.parametrize(("section", "charts"), [("curves", 1), ("by_band", 2), ("metrics", 1)])
def test_figures_of_several_runs(open_page, runs: list[Run], section: str, charts: int) -> None:
    page = open_page("compare", data="fruit.csv", section=section)
    assert len(page.get("plotly_chart")) == charts
    if section == "curves":
        page.segmented_control(key="compare.curve").set_value("hit").run()
        assert {"run", "k", "hit"} <= set(table(page, "hit").columns)


def test_a_single_run_has_nothing_to_differ_from(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv", runs=runs[0].id)
    assert page.multiselect(key="compare.runs").value == [runs[0].id]
    assert any("two or more runs" in text.value for text in page.markdown)
    page.multiselect(key="compare.runs").set_value([run.id for run in runs]).run()
    assert set(page.query_params["runs"].split(",")) == {run.id for run in runs}
    assert len(page.get("plotly_chart")) == 1


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


def test_published_results_stand_below(open_page, home: Path, train: Train) -> None:
    name = "bibtex"
    rows = "".join(f"{word} {i},{word}\n" for i in range(20) for word in ("apple", "pear"))
    (home / "data" / f"{name}.csv").write_text(f"text,labels\n{rows}")
    train("popularity", None, home / "data" / f"{name}.csv")
    page = open_page("compare", data=f"{name}.csv")
    assert 'class="published first"' in paper_table(page)
    assert "PD-Sparse" in paper_table(page)
    page.toggle(key="compare.published").set_value(False).run()
    assert "PD-Sparse" not in paper_table(page)


def test_a_run_that_lost_its_results_is_left_out(open_page, runs: list[Run]) -> None:
    page = open_page("compare", data="fruit.csv")
    shutil.rmtree(runs[1].folder / "eval")
    page.run()
    assert not page.exception
    assert "poor" not in paper_table(page)
    (runs[0].folder / "eval" / "topk.npz").unlink()
    page.run()
    assert not page.exception
    assert "good" in page.warning[0].value
    assert any("no run with results" in text.value for text in page.markdown)
