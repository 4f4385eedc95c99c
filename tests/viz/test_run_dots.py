"""Runs as dots: their numbers, their own colours, and names that stand where there is room."""

from __future__ import annotations

from itertools import combinations

import pandas as pd

from xcwork.analysis.run_table import TRAINING, RunColumn, RunRow, RunTable
from xcwork.viz import get_alt_text, read_table, shorten_middle, style_run
from xcwork.viz.name_places import DotName, NamePlace, _measure_name, _overlap, _surround, place_beside
from xcwork.viz.run_dots import (
    draw_band_dots,
    draw_quality_and_time,
    draw_run_differences,
    drop_common_words,
    group_near,
    place_names,
)

STYLES = {"a": style_run(0), "<b>": style_run(8)}


def make_table() -> RunTable:
    rows = tuple(
        RunRow(name, name, {"P@1": value, TRAINING: seconds}, value - 2, value + 2, frozenset(), True)
        for name, value, seconds in (("a", 60.0, 0.0), ("<b>", 50.0, 400.0))
    )
    return RunTable("toy", "all labels", 10, (RunColumn("P@1"), RunColumn(TRAINING)), rows)


def test_quality_and_time_has_words_for_seconds_and_runs_in_their_colours() -> None:
    figure = draw_quality_and_time(make_table(), STYLES)
    assert [trace.y[0] for trace in figure.data] == [60.0, 50.0]
    assert [trace.marker.color for trace in figure.data] == [STYLES["a"].colour, STYLES["<b>"].colour]
    assert figure.data[1].marker.symbol == "circle-open"
    assert figure.data[1].text[0].strip() == "&lt;b&gt;"
    assert "1 min" in figure.layout.xaxis.ticktext
    assert not any("µ" in text or text[-1:] == "m" for text in figure.layout.xaxis.ticktext)
    assert "after 6.7 min" in get_alt_text(figure)
    assert len(read_table(figure)) == 2


def test_a_difference_that_may_be_chance_is_hollow() -> None:
    deltas = pd.DataFrame(
        [("a", "P@1", 60.0, 50.0, 10.0, 8.0, 12.0, 0.0, True), ("<b>", "P@1", 50.0, 50.0, 0.1, -1.0, 1.0, 0.9, False)],
        columns=["run", "metric", "value", "reference", "difference", "low", "high", "p_value", "significant"],
    )
    figure = draw_run_differences(deltas, metric="P@1", styles={"a": style_run(0), "<b>": style_run(1)})
    assert [trace.marker.symbol for trace in figure.data] == ["circle", "circle-open"]
    assert "may be chance" in get_alt_text(figure)


def test_dots_close_together_share_a_name() -> None:
    assert group_near({"a": 50.0, "b": 52.0, "c": 80.0}) == [(51.0, ["a", "b"]), (80.0, ["c"])]
    figure = draw_band_dots({"a": {"tail": 50.0}, "<b>": {"tail": 51.0}}, {"tail": "Tail"}, STYLES, k=5)
    (label,) = figure.layout.annotations
    assert label.text == "a, &lt;b&gt;" or label.text == "&lt;b&gt;, a"


def test_words_that_all_names_end_with_are_left_out() -> None:
    assert drop_common_words(["bm25 demo", "one vs all demo"]) == ["bm25", "one vs all"]
    assert drop_common_words(["demo", "bm25 demo"]) == ["demo", "bm25 demo"]
    assert drop_common_words(["only demo"]) == ["only demo"]


def test_names_never_overlap() -> None:
    placed = place_names([(0.0, ["one_vs_all", "landmarks"]), (10.0, ["b" * 20]), (12.0, ["c" * 20]), (90.0, ["d"])])
    assert [words for *_, words in placed] == ["one_vs_all, landmarks", "b" * 20, "d"]
    assert [is_below for _, _, is_below, _ in placed] == [True, False, True]


def test_names_of_crowded_dots_stand_apart_and_inside() -> None:
    # As six methods on one dataset: about the same time and quality.
    dots = [
        DotName(200.0 + 3 * at, 60.0 + 4 * at, 50.0 + 4 * at, 70.0 + 4 * at, "one_vs_all"[: 4 + at]) for at in range(6)
    ]
    places = place_beside(dots, 385, 190)
    assert None not in places
    boxes = [_measure_name(dot, place) for dot, place in zip(dots, places, strict=True) if place is not None]
    assert all(left >= 0 and right <= 385 and low >= 0 and high <= 190 for left, low, right, high in boxes)
    assert not any(_overlap(one, other) for one, other in combinations(boxes, 2))
    assert not any(_overlap(box, _surround(dot)) for box in boxes for dot in dots)


def test_a_dot_alone_has_its_name_on_the_right_without_a_line() -> None:
    assert place_beside([DotName(10.0, 90.0, 80.0, 100.0, "bm25")], 385, 190) == [NamePlace(False, 0.0)]
    assert place_beside([DotName(370.0, 90.0, 80.0, 100.0, "bm25")], 385, 190) == [NamePlace(True, 0.0)]
    assert place_beside([DotName(20.0, 90.0, 80.0, 100.0, "b" * 200)], 385, 190) == [None], "no room at all"


def test_long_names_are_cut_in_the_middle() -> None:
    assert shorten_middle("siamesexml As in the paper", 13) == "siames… paper"
    assert shorten_middle("bm25 demo", 13) == "bm25 demo"
