"""The figures of runs: the numbers they are given, labelled axes, series that differ by more than colour."""

from __future__ import annotations

import pytest

from xcwork.viz import COLOURS, bands, clean_caption, curves

LISTS = {"a": {"k": [1, 2], "P": [50.0, 40.0]}, "<b>b</b>": {"k": [1, 2], "P": [30.0, 35.0]}}
BANDS = {
    name: {
        "head": {"test_positives": 4, "hits@5": 3, "recall@5": 75.0, "contribution@5": share},
        "tail": {"test_positives": 2, "hits@5": 1, "recall@5": 50.0, "contribution@5": 5.0},
        "zero-shot": {"test_positives": 0, "hits@5": 0, "recall@5": 0.0, "contribution@5": 0.0},
    }
    for name, share in (("one", 15.0), ("two", 12.0))
}


def titles(figure) -> tuple[str, str, str]:
    layout = figure.layout
    return layout.title.text, layout.xaxis.title.text, layout.yaxis.title.text


def test_ranking_curves_show_every_run():
    figure = curves.draw_ranking_curves(LISTS, "P")
    assert [(list(line.x), list(line.y)) for line in figure.data] == [([1, 2], [50, 40]), ([1, 2], [30, 35])]
    assert figure.data[1].name == "&lt;b&gt;b&lt;/b&gt;"
    assert len({(line.line.dash, line.marker.symbol) for line in figure.data}) == 2
    assert all(titles(figure))


def test_the_later_attempt_of_a_step_counts():
    events = [
        {"phase": "fit", "step": 0, "attempt": 1, "loss": 9.0},
        {"phase": "fit", "step": 1, "attempt": 1, "loss": 8.0, "seconds": 3.0, "memory_mb": 5.0},
        {"phase": "fit", "step": 1, "attempt": 2, "loss": 7.0},
        {"phase": "fit", "step": 0, "epoch": 2, "attempt": 2, "loss": 6.0},
        {"phase": "evaluating all", "step": 1, "P@1": 3.0},
        {"phase": "fit", "step": None, "loss": 1.0},
        {"phase": "fit", "step": 4, "loss": None},
        {"strange": True},
    ]
    assert curves.collect_training_series(events) == {("fit", "loss"): [(0, 9.0), (1, 7.0), (2, 6.0)]}
    figure = curves.draw_training_curves(events, value="loss")
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([0, 1, 2], [9.0, 7.0, 6.0])
    assert all(titles(figure))


def test_band_bars_leave_out_empty_bands():
    figure = bands.draw_band_recall(BANDS, k=5)
    assert [list(bar.x) for bar in figure.data] == [["head", "tail"]] * 2
    assert list(figure.data[0].y) == [75.0, 50.0]
    assert len({bar.marker.pattern.shape for bar in figure.data}) == 2
    assert all(titles(figure))


def test_contributions_are_stacked_and_add_up():
    figure = bands.draw_band_contributions(BANDS, k=5)
    assert figure.layout.barmode == "stack"
    assert [sum(heights) for heights in zip(*(bar.y for bar in figure.data), strict=True)] == [20.0, 17.0]
    assert all(titles(figure))


@pytest.mark.parametrize("name", ["<script>", "a" * 1000, "ok"])
def test_plain_text_is_short_and_harmless(name):
    assert len(clean_caption(name)) <= 60
    assert "<" not in clean_caption(name)


def luminance(colour: str) -> float:
    """As WCAG defines it, with the 0.05 that its contrast adds."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05


@pytest.mark.parametrize("page", ["#FFFFFF", "#0E1117"])
def test_colours_are_visible_on_light_and_dark_pages(page):
    for colour in COLOURS:
        brighter, darker = sorted([luminance(colour), luminance(page)], reverse=True)
        assert brighter / darker > 2
