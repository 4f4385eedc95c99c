"""What notebooks share: figures for light and dark pages, answers that are checked, results with a short name."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

import xcwork
from xcwork import viz
from xcwork.core.dataset import Dataset
from xcwork.viz import notebook
from xcwork.viz.frequencies import draw_label_frequencies


@pytest.mark.parametrize(
    ("answer", "right", "verdict"),
    [
        (..., 3, None),
        (3, 3, True),
        (4, 3, False),
        (3.02, 3.0, True),
        (3.1, 3.0, False),
        ("three", 3, False),
        (" Tail", "tail", True),
        ("head", "tail", False),
        (5, "tail", False),
        (["b", "a"], ["a", "b"], True),
        ({"a"}, ["a", "b"], False),
        (np.float32(0.5), 0.5, True),
        (np.int64(2), np.int64(2), True),
        (False, True, False),
        (0.0, 0.0, True),
    ],
)
def test_answers(answer: object, right: object, verdict: bool | None) -> None:
    assert notebook.check(answer, right).is_right is verdict


def test_the_tolerance_can_be_chosen() -> None:
    assert notebook.check(12, 10, tolerance=0.3).is_right
    assert not notebook.check(12, 10).is_right


def test_an_open_question_keeps_its_answer_folded() -> None:
    verdict = notebook.check(..., 0.12345, why="a < b")
    assert "0.123" not in repr(verdict)
    shown = verdict._repr_html_()
    assert "<details><summary>Show the answer</summary><p>0.1235. a &lt; b</p></details>" in shown
    right = notebook.check(0.12345, 0.12345, why="a < b")._repr_html_()
    assert "details" not in right
    assert "a &lt; b" in right


def test_figures_get_colours_for_light_and_dark_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    import plotly.io as pio

    monkeypatch.setattr(pio.renderers, "default", pio.renderers.default)
    notebook.use_figure_style()
    figure = viz.apply_style(
        go.Figure().add_scatter(x=np.arange(3), y=[1, 2, 3]),
        title="T",
        x="x",
        y="y",
        alt="It rises.",
        table=pd_table(),
    )
    bundle = pio.renderers._build_mime_bundle(figure.to_dict())
    shown = bundle["application/vnd.plotly.v1+json"]
    look = shown["layout"]["template"]["layout"]
    assert look["paper_bgcolor"] == look["plot_bgcolor"] == notebook.CLEAR_COLOUR
    assert look["font"]["color"] == notebook.TEXT_COLOUR
    assert bundle["text/plain"] == "It rises."
    assert shown["layout"]["meta"] == {"alt": "It rises."}
    assert viz.read_table(figure).equals(pd_table()), "the figure itself stays as it was"


def pd_table() -> object:
    import pandas as pd

    return pd.DataFrame({"x": [0, 1, 2]})


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_text_has_enough_contrast_on_both_pages(background: str) -> None:
    lighter, darker = sorted((luminance(notebook.TEXT_COLOUR), luminance(background)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_the_curve_of_frequencies_is_seen_on_both_pages(checkerboard: Dataset, background: str) -> None:
    line = draw_label_frequencies(xcwork.describe(checkerboard)).data[0].line.color
    lighter, darker = sorted((luminance(line), luminance(background)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_results_have_short_names(checkerboard: Dataset) -> None:
    """Notebooks store the plain form of everything they show; that of a dataset once had eighteen megabytes."""
    model = xcwork.create("tfidf").fit(checkerboard.train)
    topk = model.predict(checkerboard.test.X, k=2)
    explained = model.explain(checkerboard.test.X[[0]], int(topk.ids[0, 0]))
    report = xcwork.evaluate(model, checkerboard)
    parts = (checkerboard, checkerboard.train, checkerboard.labels, checkerboard.features, topk, explained, report)
    for part in parts:
        assert 10 < len(repr(part)) < 200, type(part)
    assert "checkerboard: 27 train and 8 test documents" in repr(checkerboard)


def test_a_report_shown_twice_is_the_same(checkerboard: Dataset) -> None:
    model = xcwork.create("tfidf").fit(checkerboard.train)
    first, second = (xcwork.evaluate(model, checkerboard)._repr_html_() for _ in range(2))
    assert first == second, "what a notebook shows must not depend on the clock"
