"""The label map page: map and drawer, what is done on the map, links, layouts under way, a second run, structures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app.panels.label_map.map_panel import layout_watch
from xcwork_app.views import map_content
from xcwork_app.views.chosen_labels import read_polygon, write_polygon

from tests.support.doubtful import write_doubtful
from tests.support.pages import HOSTILE, Train, read_component, send_event
from xcwork.analysis.polygon import find_inside
from xcwork.data.load import load_dataset
from xcwork.errors import MissingVectorsError
from xcwork.review.session import RunReview
from xcwork.runs import Run, RunStore
from xcwork.runs.map_job import MapProgress
from xcwork.runs.run_map import MAP_FOLDER, read_map

pytestmark = pytest.mark.slow
AROUND_ALL = "-2,-2;2,-2;2,2;-2,2"


@pytest.fixture
def run(corpus: Path, train: Train) -> Run:
    return train("one_vs_all", None, corpus, "one_vs_all <b>")


def get_state(page: AppTest, key: str = "label_map") -> dict[str, Any]:
    return read_component(page, key)["state"]


def list_rows(page: AppTest, key: str) -> list[dict[str, Any]]:
    return [row for group in read_component(page, key)["groups"] for row in group["rows"]]


def get_id(name: str) -> int:
    return load_dataset("fruit.csv").labels.names.index(name)


def read_texts(page: AppTest) -> str:
    return "\n".join(each.value for each in (*page.markdown, *page.caption, *page.subheader))


def test_without_a_run_it_says_what_to_do(open_page, corpus: Path) -> None:
    page = open_page("label_map", data="fruit.csv")
    assert any("no finished run" in text.value for text in page.markdown)


def test_without_a_choice_the_drawer_lists_the_regions(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv")
    state = get_state(page)
    assert (state["label"], state["region"], state["lasso"], state["selection"]) == (None, None, None, [])
    assert "Regions" in [each.value for each in page.subheader]
    assert page.segmented_control(key="label_map.colour").options == ["Found", "Frequency", "Region"]
    assert not page.get("plotly_chart")


def test_a_label_of_the_address_has_its_neighbours_joined_by_lines(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", label="PLU")
    state, near = get_state(page), list_rows(page, "map_nearest")
    assert state["label"] == get_id("plum")
    assert near
    assert str(get_id("plum")) not in [row["id"] for row in near]
    assert state["links"] == [[get_id("plum"), int(row["id"])] for row in near]
    send_event(page, "map_nearest", near[0]["id"])
    assert page.query_params["label"] == load_dataset("fruit.csv").labels.names[int(near[0]["id"])]


def test_what_is_done_on_the_map_fills_the_drawer_and_the_address(open_page, corpus: Path, train: Train) -> None:
    train("gated", {"steps": 3}, corpus)
    page = open_page("label_map", data="fruit.csv", k="1")
    names = load_dataset(corpus).labels.names
    send_event(page, "label_map", {"kind": "label", "label": get_id("pear")}, event="event")
    assert page.query_params["label"] == "pear"
    corners = [[-2, -2], [2, -2], [2, 2], [-2, 2]]
    send_event(page, "label_map", {"kind": "lasso", "polygon": corners, "n_labels": len(names)}, event="event")
    assert "label" not in page.query_params, "one choice at a time"
    assert read_polygon(page.query_params["lasso"]) == tuple(map(tuple, corners))
    assert f"{len(names)} labels in your selection" in read_texts(page)
    assert sorted(get_state(page)["selection"]) == list(range(len(names)))
    missed = [row["value"] for row in list_rows(page, "map_missed")]
    assert missed == sorted(missed, key=lambda each: int(each.split()[0]) - int(each.split()[2]))
    documents = list_rows(page, "map_documents")
    send_event(page, "label_map", {"kind": "clear"}, event="event")
    assert "lasso" not in page.query_params
    page = open_page("label_map", data="fruit.csv", k="1", lasso=AROUND_ALL)
    assert list_rows(page, "map_documents") == documents, "a link opens the same"
    send_event(page, "map_documents", documents[0]["id"])
    assert page.title[0].value == "Predict"
    assert page.query_params.get("document", "0") == documents[0]["id"]


def test_errors_opens_on_all_chosen_labels(open_page, corpus: Path, train: Train) -> None:
    train("gated", {"steps": 3}, corpus)
    page = open_page("label_map", data="fruit.csv", k="1", lasso=AROUND_ALL)
    missed = {int(row["id"]) for row in list_rows(page, "map_missed")}
    page.button(key="label_map.errors").click().run()
    assert page.title[0].value == "Errors"
    assert "label" not in page.query_params
    every = {int(row["id"]) for row in list_rows(page, "errors_rows")}
    assert missed
    assert missed <= every
    # Half of the map has some of them, and the chip leads to all.
    run_map = read_map(RunStore(corpus.parents[1]).list()[0])
    ids, places = run_map.layout.ids, run_map.layout.positions
    middle = float(np.median(places[:, 0]))
    half = write_polygon(((-2, -2), (middle, -2), (middle, 2), (-2, 2)))
    page = open_page("errors", data="fruit.csv", k="1", outcome="missed", chosen="1", lasso=half)
    left = set(ids[find_inside(places, read_polygon(half))].tolist())
    assert {int(row["id"]) for row in list_rows(page, "errors_rows")} == every & left != every
    for section, column in (("pairs", 0), ("suspicious", 1)):
        other = open_page("errors", data="fruit.csv", k="1", section=section, chosen="1", lasso=half)
        assert {int(row["id"].split(":")[column]) for row in list_rows(other, "errors_rows")} <= left
    page.button(key="errors_chip_area").click().run()
    assert {int(row["id"]) for row in list_rows(page, "errors_rows")} == every
    page = open_page("errors", data="fruit.csv", k="1", outcome="missed", chosen="1", region="gone")
    assert {int(row["id"]) for row in list_rows(page, "errors_rows")} == every
    assert any("chosen on the map are not there" in each.value for each in page.warning)


def test_what_cannot_be_an_event_is_a_sentence(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv")
    send_event(page, "label_map", {"kind": "explode"}, event="event")
    assert any("unknown event" in each.value for each in page.error)
    send_event(page, "label_map", {"kind": "label", "label": 10**9}, event="event")
    assert "label" not in page.query_params


def test_all_labels_of_a_selection_can_be_listed(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", lasso=AROUND_ALL)
    page.button(key="label_map.show_all").click().run()
    assert {int(row["id"]) for row in list_rows(page, "map_missed")} == set(
        range(len(load_dataset("fruit.csv").labels))
    )
    page.button(key="label_map.clear").click().run()
    assert "lasso" not in page.query_params


def test_colours_of_the_menu_join_the_bar(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", colour="precision")
    assert page.segmented_control(key="label_map.colour").value == "precision"
    assert get_state(page)["colour"] == 4
    page.segmented_control(key="label_map.colour").set_value("frequency").run()
    assert page.query_params["colour"] == "frequency"
    assert get_state(page)["colour"] == 1


def test_a_document_is_lit_up(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", document="3", lit="1")
    expected = run.read_topk().ids[3]
    assert get_state(page)["highlight"] == expected[expected >= 0].tolist()
    assert page.segmented_control(key="label_map.colour").value == "document"
    page.button(key="label_map.put_out").click().run()
    assert get_state(page)["highlight"] == []
    assert page.segmented_control(key="label_map.colour").value == "found"


def test_predict_leads_to_the_lit_up_document(open_page, run: Run) -> None:
    page = open_page("predict", data="fruit.csv", document="2")
    page.button(key="predict.show_on_map").click().run()
    assert page.title[0].value == "Label map"
    assert get_state(page)["highlight"]


def test_two_runs_side_by_side_share_the_selection(open_page, corpus: Path, train: Train, run: Run) -> None:
    other = train("tfidf", {}, corpus, "by words")
    both = {"beside": other.id}
    page = open_page("label_map", data="fruit.csv", run=run.id, colour="difference", **both)
    send_event(page, "label_map_second", {"kind": "label", "label": get_id("pear")}, event="event")
    assert get_state(page)["label"] == get_state(page, "label_map_second")["label"] == get_id("pear")
    corners = [[-2, -2], [2, -2], [2, 2], [-2, 2]]
    send_event(page, "label_map_second", {"kind": "lasso", "polygon": corners, "n_labels": 5}, event="event")
    assert get_state(page)["lasso"] is None, "the outline belongs to the map it was drawn on"
    assert get_state(page, "label_map_second")["lasso"] == corners
    assert get_state(page)["selection"] == get_state(page, "label_map_second")["selection"] != []
    assert get_state(page)["colour"] == 5, "the difference stands behind the other colours"


def test_while_the_layout_is_under_way_the_pca_is_shown(open_page, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(run.folder / MAP_FOLDER)
    started: list[Run] = []
    monkeypatch.setattr(layout_watch, "start_map", lambda each: started.append(each))
    page = open_page("label_map", data="fruit.csv")
    assert [each.id for each in started] == [run.id]
    assert (run.folder / MAP_FOLDER / "pca").is_dir()
    assert get_state(page)["label"] is None
    progress = vars(MapProgress(state="cancelled", phase="laying out", step=1, total=4))
    (run.folder / MAP_FOLDER / "progress.json").write_text(json.dumps(progress))
    page = open_page("label_map", data="fruit.csv")
    assert len(started) == 1, "what somebody cancelled is not begun again"
    page.button(key=f"label_map.make.{run.id}").click().run()
    assert len(started) == 2


def test_hostile_labels_are_text(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", label=HOSTILE)
    assert get_state(page)["label"] == get_id(HOSTILE)
    assert "<script>" not in read_texts(page)
    page = open_page("label_map", data="fruit.csv", lasso=AROUND_ALL)
    assert all("<script>" not in each.value for each in (*page.markdown, *page.caption))


def test_labels_without_texts_are_laid_out_by_their_documents(open_page, home: Path, train: Train) -> None:
    (home / "data" / "bare.txt").write_text("20 4 3\n" + "".join(f"{i % 3} {i % 4}:1.0\n" for i in range(20)))
    train("popularity", None, home / "data" / "bare.txt")
    page = open_page("label_map", data="bare.txt")
    assert not page.error
    assert get_state(page)["label"] is None


def test_a_run_without_its_model_still_has_its_map(open_page, run: Run) -> None:
    shutil.rmtree(run.folder / "model")
    page = open_page("label_map", data="fruit.csv", label="pear")
    assert get_state(page)["label"] == get_id("pear")
    assert page.error, "but nobody knows what lies near the label"


@pytest.mark.parametrize(
    ("method", "params", "title", "colour"),
    [
        ("landmarks", {}, "Landmark graph", "Landmark"),
        ("label_tree", {"trees": 2}, "Label tree", "Tree node"),
        ("mhc", {"epochs": 1}, "Head grid", "Head"),
        ("mhp", {"epochs": 1}, "Head grid", "Head"),
    ],
)
def test_methods_with_a_structure_of_their_own(
    open_page, corpus: Path, method: str, params: dict, title: str, colour: str, train: Train
) -> None:
    train(method, params, corpus)
    page = open_page("label_map", data="fruit.csv", lasso=AROUND_ALL)
    usual = read_component(page, "label_map")
    assert (usual["state"]["layers"], usual["state"]["show_grid"]) == ([], False)
    assert page.segmented_control(key="label_map.colour").options == ["Found", "Frequency", "Region"]
    assert page.toggle(key="label_map.layer").label == title
    page.toggle(key="label_map.layer").set_value(True).run()
    assert not page.exception
    assert not page.error
    assert page.query_params["layer"] == "1", "a link opens the same"
    shown = read_component(page, "label_map")
    is_grid = title == "Head grid"
    assert shown["state"]["show_grid"] == is_grid
    assert shown["state"]["layers"] == ([title] if method == "landmarks" else [])  # five labels form no hull
    assert (shown["parts"]["points"] != usual["parts"]["points"]) == is_grid, "other layers leave the labels in place"
    assert (shown["state"]["lasso"] is None) == is_grid, "a lasso holds other labels on the grid"
    assert page.segmented_control(key="label_map.colour").options[-1] == colour
    page.segmented_control(key="label_map.colour").set_value("structure").run()
    assert get_state(page)["colour"] == 5
    page.toggle(key="label_map.layer").set_value(False).run()
    assert get_state(page)["colour"] == 5, "the colour stays without the layer"
    assert read_component(page, "label_map")["parts"]["points"] == usual["parts"]["points"]


def test_a_structure_without_its_model_is_a_sentence_beside_the_map(open_page, corpus: Path, train: Train) -> None:
    run = train("landmarks", None, corpus)
    shutil.rmtree(run.folder / "model")
    page = open_page("label_map", data="fruit.csv", layer="1")
    assert page.error
    assert get_state(page)["layers"] == []


def test_another_layout_forgets_the_lasso(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv", lasso=AROUND_ALL)
    assert get_state(page)["lasso"] is not None
    page.segmented_control(key="label_map.layout").set_value("pca").run()
    assert page.query_params["layout"] == "pca"
    assert "lasso" not in page.query_params, "the same place holds other labels"
    assert get_state(page)["lasso"] is None


def test_a_picture_is_asked_for_once(open_page, run: Run) -> None:
    page = open_page("label_map", data="fruit.csv")
    assert get_state(page)["picture"] == 0
    page.button(key="label_map.png").click().run()
    assert get_state(page)["picture"] == 1
    page.run()
    assert get_state(page)["picture"] == 1


def test_without_vectors_it_names_the_runs_that_have_them(
    open_page, corpus: Path, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = train("popularity", None, corpus, "bare")
    shutil.rmtree(bare.folder / MAP_FOLDER)

    def refuse(*_: object, **__: object) -> None:
        raise MissingVectorsError("nothing says which labels are alike")

    monkeypatch.setattr(map_content, "make_map", refuse)
    page = open_page("label_map", data="fruit.csv", run=bare.id)
    assert any("no label vectors" in each.value and "No other run" in each.value for each in page.markdown)
    other = train("one_vs_all", None, corpus, "by <b>weights")
    page = open_page("label_map", data="fruit.csv", run=bare.id)
    assert [row["name"] for row in list_rows(page, "map_other_runs")] == ["by <b>weights"]
    both = open_page("label_map", data="fruit.csv", run=other.id, beside=bare.id)
    assert both.error, "the second run has no map, the first is shown"
    assert get_state(both)["label"] is None
    send_event(page, "map_other_runs", other.id)
    assert page.query_params["run"] == other.id
    assert get_state(page)["label"] is None, "its map is there"


def test_review_opens_on_one_of_the_chosen_labels(open_page, home: Path, train: Train) -> None:
    doubtful = write_doubtful(home / "data" / "doubtful.csv")
    run = train("one_vs_all", None, doubtful)
    label = load_dataset(doubtful).labels.names.index("plum")
    items = RunReview.from_run(run, load_dataset(doubtful)).queue("missing").list_items()
    page = open_page("label_map", data="doubtful.csv", label="plum")
    page.button(key="label_map.review").click().run()
    assert page.title[0].value == "Review"
    assert read_component(page, "review_queue")["selected"] == next(item.id for item in items if item.label == label)


def test_labels_that_nobody_doubts_stay_on_the_map(open_page, corpus: Path, train: Train) -> None:
    train("gated", {"steps": 3}, corpus)
    page = open_page("label_map", data="fruit.csv", label="pear")
    page.button(key="label_map.review").click().run()
    assert page.title[0].value == "Label map"
    assert any("waits in Review" in each.value for each in page.toast) or page.error


def test_polygons_of_an_address() -> None:
    rng = np.random.default_rng(0)
    polygon = tuple((float(x), float(y)) for x, y in rng.uniform(-1, 1, (40, 2)).round(5))
    assert read_polygon(write_polygon(polygon)) == polygon, "the same labels are inside"
    for text in (
        "",
        "0,0",
        "0,0;1,1",
        "a,b;c,d;e,f",
        "0,0;1,nan;1,1",
        "0,0;1,inf;1,1",
        ";".join(["0,1"] * 41),
        "1;2;3",
    ):
        assert read_polygon(text) is None
