"""Figures as SVG: every number has its place, and nothing from outside becomes markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.viz import bands, curves, decisions
from xcwork.viz.static_svg import list_ticks, render_svg

HOSTILE = "<script>alert(1)</script>"
LISTS = {"a": {"k": [1, 2, 3], "P": [50.0, 40.0, 30.0]}, HOSTILE: {"k": [1, 2, 3], "P": [30.0, 35.0, 20.0]}}


def read_drawing(figure: go.Figure) -> ElementTree.Element:
    """The drawing, which must be well-formed."""
    return ElementTree.fromstring(re.match(r"<svg.*?</svg>", render_svg(figure), re.DOTALL)[0])


def test_lines_have_one_point_per_number_in_order() -> None:
    drawing = read_drawing(curves.draw_ranking_curves(LISTS, "P", longest=10))
    first, second = (
        [tuple(map(float, p.split(","))) for p in each.get("points").split()] for each in drawing.iter("polyline")
    )
    assert [x for x, _ in first] == sorted(x for x, _ in first)
    assert [y for _, y in first] == sorted(y for _, y in first), "falling values go down the page"
    assert len(second) == 3
    assert len(list(drawing.iter("circle"))) == 6


def test_bars_are_as_high_as_their_numbers_and_stacks_touch() -> None:
    table = {
        name: {
            "head": {"test_positives": 4, "hits@5": 3, "recall@5": 80.0, "contribution@5": 20.0},
            "tail": {"test_positives": 2, "hits@5": 1, "recall@5": 40.0, "contribution@5": 10.0},
        }
        for name in ("one", HOSTILE)
    }
    heights = [float(each.get("height")) for each in read_drawing(bands.draw_band_recall(table)).iter("rect")]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    stacked = [
        (float(each.get("y")), float(each.get("height")))
        for each in read_drawing(bands.draw_band_contributions(table)).iter("rect")
    ]
    assert stacked[2][0] + stacked[2][1] == pytest.approx(stacked[0][0], abs=0.2)


def test_intervals_and_numeric_bars_are_drawn() -> None:
    rows = [{"said": 10.0, "right": 12.0, "low": 8.0, "high": 16.0, "n": 50, "from": 0, "to": 20}]
    drawing = read_drawing(decisions.draw_reliability(rows, colour="#0072B2"))
    assert len(list(drawing.iter("rect"))) == 1
    assert any("V" in each.get("d") for each in drawing.iter("path"))


def test_names_are_text() -> None:
    shown = render_svg(curves.draw_ranking_curves(LISTS, "P"))
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown


def test_a_figure_without_numbers_is_an_empty_drawing() -> None:
    assert not list(read_drawing(go.Figure()).iter("polyline"))
    one = go.Figure(go.Scatter(x=[1], y=[5.0], mode="lines+markers"))
    assert len(list(read_drawing(one).iter("circle"))) == 1


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_lie_between_the_ends(low: float, size: float) -> None:
    ticks = list_ticks(low, low + size)
    assert 1 <= len(ticks) <= 12
    assert all(
        low - 1e-6 * abs(low) - 1e-6 * size <= each <= low + size + 1e-6 * abs(low) + 1e-6 * size for each in ticks
    )
