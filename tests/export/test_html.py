"""HTML for notebooks: escaped, with bars of the right length, for every result type."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from xcwork.core.explanation import Explanation, Part
from xcwork.core.labels import LabelSpace
from xcwork.core.topk import TopK
from xcwork.export import html as markup
from xcwork.methods import registry
from xcwork.metrics import evaluate

HOSTILE = "<script>alert(1)</script>"


def widths(html: str) -> list[float]:
    return [float(width) for width in re.findall(r"; width: ([\d.]+)em", html)]


def test_cells_are_escaped_and_formatted():
    html = markup.render_table([HOSTILE], [[HOSTILE], [1234], [0.5], [None], [float("nan")]])
    assert "<script>" not in html
    assert html.count("&lt;script&gt;") == 2
    assert all(f">{shown}<" in html for shown in ("1,234", "0.5000", "–"))
    assert "<script>" not in markup.render_heading(HOSTILE) + markup.render_paragraph(HOSTILE)


def test_bars_are_as_long_as_their_values():
    html = markup.render_table([""], [[bar] for bar in markup.scale_bars([2.0, -1.0, 0.0])])
    assert widths(html) == pytest.approx([markup.BAR_WIDTH_EM, markup.BAR_WIDTH_EM / 2, 0])
    assert markup.AGAINST_COLOUR in html
    assert markup.scale_bars([]) == []


def test_predictions_show_names_and_bars():
    topk = TopK(np.array([[1, 0, -1]], np.int32), np.float32([[0.5, 0.25, -np.inf]]), LabelSpace(["a", HOSTILE]))
    html = topk._repr_html_()
    assert "<script>" not in html
    assert widths(html) == pytest.approx([markup.BAR_WIDTH_EM, markup.BAR_WIDTH_EM / 2])
    assert "1 documents" not in html
    negative = TopK(np.array([[1, 0]], np.int32), np.float32([[-1.0, -2.0]]))
    assert widths(negative._repr_html_()) == pytest.approx([markup.BAR_WIDTH_EM, 0])
    assert "0 documents" in TopK.make_empty(0, 5)._repr_html_()


def test_explanations_show_their_parts():
    parts = [Part(f"t{i}", HOSTILE, (-1.0) ** i * (30 - i), {"kind": "learned pair"}) for i in range(30)]
    explanation = Explanation.from_parts(parts, exact=True, label=HOSTILE, predicted=0.2, link="sigmoid")
    html = explanation._repr_html_()
    assert "<script>" not in html
    assert "30 parts add up exactly to 15.00, shown as 0.2000 (sigmoid)" in html
    assert "Memorised for this label" in html
    assert 5 <= len(widths(html)) <= 10, "the strongest words have a bar each, the others share some"


def test_reports_and_datasets_show_themselves(checkerboard):
    dataset = replace(checkerboard, name=HOSTILE)
    html = dataset._repr_html_()
    assert "<script>" not in html
    assert "27 train, 8 test" in html
    assert "9, 1 of them never in training" in html
    report = evaluate(registry.create("tfidf").fit(dataset.train), dataset)
    shown = report._repr_html_()
    assert "<script>" not in shown
    assert "P@1" in shown
    assert "zero-shot" in shown
    assert widths(shown)[0] == pytest.approx(markup.BAR_WIDTH_EM * report.metrics["P@1"] / 100, abs=0.01)


def test_numpy_numbers_are_numbers():
    assert ">1,500<" in markup.render_table([""], [[np.int64(1500)]])
    assert ">0.2500<" in markup.render_table([""], [[np.float32(0.25)]])
