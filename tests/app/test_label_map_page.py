"""The label map: drawing, searching, lassoing, and the views that single methods offer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from xcwork_app.panels.label_map.map_view import read_selected_labels

from tests.support.pages import HOSTILE, Train, choose_row, table
from xcwork.data.load import load_dataset
from xcwork.methods.landmarks.graph import build_landmark_graph
from xcwork.runs import Run

pytestmark = pytest.mark.slow


@pytest.fixture
def run(corpus: Path, train: Train) -> Run:
    return train("one_vs_all", None, corpus, "one_vs_all <b>")


def lasso(page, run: Run, *labels: int):
    points = [{"curve_number": 0, "point_index": 0, "customdata": label} for label in labels]
    page.session_state[f"label_map.chart.{run.id}"] = {"selection": {"points": points, "box": [], "lasso": []}}
    page.run()
    assert not page.exception
    return page


def test_without_a_run_it_says_what_to_do(open_page, corpus: Path) -> None:
    page = open_page("label_map", data="fruit.csv")
    assert any("no finished run" in text.value for text in page.markdown)


def test_the_map_and_what_is_near_the_searched_label(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", label="PLU")
    assert len(page.get("plotly_chart")) == 1
    assert set(table(page, "x", "y")["label"]) >= {"apple", "pear", "plum", HOSTILE}
    near = table(page, "similarity", "shared_documents")
    assert "plum" not in set(near["label"])
    choose_row(page, f"label_map.nearest.{_id('plum')}", 0)
    assert page.query_params["label"] == near["label"].iloc[0]
    page.segmented_control(key="label_map.colour").set_value("recall").run()
    assert page.query_params["colour"] == "recall"
    assert (run.folder / "maps").is_dir(), "the layout is kept for the next time"


def _id(name: str) -> int:
    return load_dataset("fruit.csv").labels.names.index(name)


def test_a_lasso_leads_to_labels_and_to_documents_that_miss_them(open_page, corpus: Path, train: Train) -> None:
    run = train("gated", {"steps": 3}, corpus)
    page = open_page("label_map", data="fruit.csv", k="1")
    assert any("Draw a lasso" in caption.value for caption in page.caption)
    names = load_dataset(corpus).labels.names
    lasso(page, run, *range(len(names)))
    assert set(table(page, "missed", "recall@1")["label"]) == set(names)
    documents = table(page, "n_missed", "best_rank")
    assert documents["n_missed"].is_monotonic_decreasing
    choose_row(page, "label_map.documents", 0)
    assert page.title[0].value == "Predict"
    assert page.query_params.get("document", "0") == str(documents["document"].iloc[0])


def test_choosing_a_label_of_the_lasso_searches_for_it(open_page, run: Run) -> None:
    page = lasso(open_page("label_map", data="fruit.csv"), run, _id("pear"))
    assert any("No test document misses" in caption.value for caption in page.caption)
    choose_row(page, "label_map.labels", 0)
    assert page.query_params["label"] == "pear"


def test_a_selection_is_read_by_customdata_alone() -> None:
    points = [{"customdata": 3}, {"customdata": [1]}, {"customdata": 3}, {"x": 0}, {"customdata": 99}]
    assert read_selected_labels({"selection": {"points": points}}, 10) == [3, 1]
    assert read_selected_labels({"selection": {"points": []}}, 10) == []


def test_hostile_labels_are_text(open_page, run: Run) -> None:
    page = lasso(open_page("label_map", data="fruit.csv", label=HOSTILE), run, _id(HOSTILE))
    assert HOSTILE in set(table(page, "missed")["label"])
    shown = [text.value for text in (*page.markdown, *page.caption, *page.subheader)]
    assert all("<script>" not in text for text in shown)


def test_choices_in_a_link_that_cannot_be_are_ignored(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", bands="nonsense", layout="<b>", colour="blue", section="structure")
    assert len(page.get("plotly_chart")) == 1
    assert page.segmented_control(key="label_map.layout").value == "pca"


def test_nothing_to_draw_is_a_sentence(open_page, home: Path, train: Train) -> None:
    (home / "data" / "bare.txt").write_text("20 4 3\n" + "".join(f"{i % 3} {i % 4}:1.0\n" for i in range(20)))
    train("popularity", None, home / "data" / "bare.txt")
    page = open_page("label_map", data="bare.txt")
    assert any("nothing says which are alike" in each.value for each in page.error)


def test_a_run_without_its_model_is_a_sentence(open_page, run: Run) -> None:
    shutil.rmtree(run.folder / "model")
    page = open_page("label_map", data="fruit.csv")
    assert page.error
    assert not page.get("plotly_chart")


@pytest.mark.parametrize(
    ("method", "params", "title"),
    [
        ("landmarks", {}, "Landmark graph"),
        ("label_tree", {"trees": 2}, "Label tree"),
        ("mhc", {"epochs": 1}, "Head grid"),
        pytest.param("mhp", {"epochs": 1}, "Head grid", marks=pytest.mark.slow),
    ],
)
def test_methods_with_a_structure_of_their_own(
    open_page, corpus: Path, method: str, params: dict, title: str, train: Train
) -> None:
    train(method, params, corpus)
    page = open_page("label_map", data="fruit.csv", section="structure")
    assert page.segmented_control(key="label_map.section").options == ["Map", title]
    assert len(page.get("plotly_chart")) == 1
    assert not page.error
    page.segmented_control(key="label_map.section").set_value("map").run()
    assert not page.exception
    assert page.get("plotly_chart")


def test_a_label_alone_among_the_landmarks_is_a_sentence(open_page, corpus: Path, train: Train) -> None:
    run = train("landmarks", None, corpus)
    alone = [
        name
        for name in run.model().labels_.names
        if not len(build_landmark_graph(run.model().model_, around=name).edges)
    ]
    page = open_page("label_map", data="fruit.csv", section="structure", label=alone[0])
    assert any("No landmark takes part" in text.value for text in page.markdown)
