"""The label-frequency curve: points as counted, bands that meet, a sentence and a table."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from xcwork.core.dataset import Dataset
from xcwork.data.card import describe
from xcwork.viz import get_alt_text, read_table
from xcwork.viz.frequencies import draw_label_frequencies


@pytest.mark.parametrize("bands", ["count", "share"])
def test_the_curve_of_the_checkerboard(checkerboard: Dataset, bands: str) -> None:
    figure = draw_label_frequencies(describe(checkerboard), bands=bands)
    assert list(figure.data[0].y) == [12] * 8
    shapes = figure.layout.shapes
    assert shapes[0].x0 == 1
    assert shapes[-1].x1 == 9
    assert all(left.x1 == right.x0 for left, right in pairwise(shapes))
    assert len(figure.layout.annotations) == len(shapes)
    assert get_alt_text(figure).endswith("seen labels have at most 12. 1 label has none.")
    assert read_table(figure)["frequency"].tolist() == [12] * 8


def test_names_of_narrow_bands_do_not_overlap(checkerboard: Dataset) -> None:
    counts = {band: {"labels": number} for band, number in {"head": 130, "torso": 419, "tail": 183}.items()}
    figure = draw_label_frequencies(replace(describe(checkerboard), bands={"count": counts}))
    frequent, medium, rare = figure.layout.annotations
    assert (frequent.yanchor, medium.yanchor, rare.yanchor) == ("bottom", "bottom", "top")
    assert (frequent.xanchor, medium.xanchor, rare.xanchor) == ("left", "right", "right"), "they end with the axis"
