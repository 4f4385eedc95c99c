"""Every figure: its numbers, a sentence and a table made from them, and nothing that hostile text could do."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from xcwork.analysis.comparison import ComparisonTable
from xcwork.analysis.errors import STATES
from xcwork.analysis.explanation_view import make_view
from xcwork.core.explanation import Explanation, Part
from xcwork.data.card import describe
from xcwork.errors import ConfigError
from xcwork.methods.landmarks.graph import LandmarkGraph
from xcwork.viz import attach_description, get_alt_text, join_phrases, read_table
from xcwork.viz.bands import draw_band_contributions, draw_band_recall, draw_triage_bars
from xcwork.viz.comparison import draw_delta_dots
from xcwork.viz.curves import draw_ranking_curves, draw_training_curves
from xcwork.viz.explanations import draw_explanation_waterfall
from xcwork.viz.frequencies import draw_label_frequencies
from xcwork.viz.ranks import draw_rank_histogram
from xcwork.viz.structures import MAX_CELLS_PER_SIDE, draw_head_grid, draw_landmark_graph
from xcwork.viz.studies import draw_growth_curves, draw_image_grid, draw_simulation_curves, fit_growth_exponent

HOSTILE = '</script><script>alert(1)</script><b onclick="x">'
BANDS = ("head", "torso", "tail", "zero-shot")


def explained() -> Explanation:
    parts = [Part(HOSTILE, "x", 0.5), Part("b", HOSTILE, -0.2), Part("c", "x", 0.1)]
    return Explanation.from_parts(parts, exact=True, label=HOSTILE)


def compared() -> ComparisonTable:
    frame = pd.DataFrame(
        {
            "run": [HOSTILE, "b", "published"],
            "method": ["m", "m", "paper"],
            "P@1": [50.0, 40.0, 60.0],
            "P@5": [30.0, np.nan, 20],
        }
    )
    return ComparisonTable(frame, np.full(frame.shape, "", dtype=object), 1, ())


def differences() -> pd.DataFrame:
    rows = [(HOSTILE, "P@1", 2.0, 1.0, 3.0, True), (HOSTILE, "P@5", -0.5, -1.5, 0.5, False)]
    return pd.DataFrame(rows, columns=["run", "metric", "difference", "low", "high", "significant"])


def graph() -> LandmarkGraph:
    nodes = pd.DataFrame(
        {
            "label_id": [3, 7, 9],
            "name": [HOSTILE, "b", "c"],
            "kind": ["landmark", "decoded", "outlier"],
            "documents": [5, 2, 1],
            "residual": [0.0, 0.2, 0.9],
            "r2": [0.5, 0.1, 0.0],
            "order": [1, 0, 0],
            "labels": [2, 0, 0],
            "x": [0.0, 1.0, 2.0],
            "y": [0.0, 1.0, 0.0],
        }
    )
    edges = pd.DataFrame({"source": [3, 3], "target": [7, 9], "weight": [0.5, -0.2]})
    return LandmarkGraph(nodes, edges, 10, 20)


def band_table() -> dict:
    row = {"test_positives": 4, "hits@5": 3, "recall@5": 75.0, "contribution@5": 15.0}
    return {HOSTILE: {"head": row, "tail": row}}


def simulated(start: float) -> pd.DataFrame:
    return pd.DataFrame({"x": [0, 1], "mean": [start, 2.0], "low": [0.5, 1.5], "high": [1.5, 2.5]})


def lost() -> pd.DataFrame:
    counts = pd.DataFrame({"band": BANDS, **{state: [3, 2, 1, 0] for state in STATES}})
    return counts.assign(total=[12, 8, 4, 0])


FIGURES = {
    "waterfall": lambda: draw_explanation_waterfall(make_view(explained())),
    "deltas": lambda: draw_delta_dots(differences(), reference=HOSTILE),
    "landmarks": lambda: draw_landmark_graph(graph()),
    "grid": lambda: draw_head_grid(np.array([[1.0, 2.0], [np.nan, 4.0]]), title=HOSTILE, value=HOSTILE),
    "growth": lambda: draw_growth_curves({HOSTILE: ([1, 10, 100], [1, 100, 10_000])}),
    "simulation": lambda: draw_simulation_curves({HOSTILE: simulated(1.0), "b": simulated(3.0)}),
    "images": lambda: draw_image_grid(np.arange(48.0).reshape(3, 4, 4), [HOSTILE, "b", "c"], columns=2),
    "triage": lambda: draw_triage_bars(lost()),
    "ranks": lambda: draw_rank_histogram(pd.DataFrame({"rank": ["1", "2–3", "not listed"], "documents": [4, 1, 2]})),
    "band recall": lambda: draw_band_recall(band_table()),
    "band contributions": lambda: draw_band_contributions(band_table()),
    "ranking": lambda: draw_ranking_curves({HOSTILE: {"k": [1, 2], "P": [50.0, 40.0]}}, "P"),
    "training": lambda: draw_training_curves([{"phase": HOSTILE, "step": 1, "loss": 2.0}], value="loss"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_it_shows_and_has_its_numbers(name):
    figure = FIGURES[name]()
    alt, table = get_alt_text(figure), read_table(figure)
    assert alt.endswith(".")
    assert any(character.isdigit() for character in alt)
    assert "nan" not in alt
    assert len(table) > 0
    assert figure.layout.title.text


@pytest.mark.parametrize("name", FIGURES)
def test_hostile_text_stays_text(name):
    figure = FIGURES[name]()
    assert figure.to_html(include_plotlyjs=False, full_html=False).count("<script") == 1  # Plotly's own
    drawn = figure.to_plotly_json()
    drawn["layout"].pop("meta")
    strings = [text for text in _strings(json.loads(json.dumps(drawn, default=_listed))) if "onclick" in text]
    assert all("<b onclick" not in text and "<script" not in text for text in strings)


def _strings(node):
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for item in node.values():
            yield from _strings(item)
    elif isinstance(node, list):
        for item in node:
            yield from _strings(item)


def _listed(value):
    return value.tolist() if hasattr(value, "tolist") else str(value)


def test_frequencies_carry_their_sentence(checkerboard):
    figure = draw_label_frequencies(describe(checkerboard))
    assert "12 training documents" in get_alt_text(figure)
    assert len(read_table(figure))


@pytest.mark.parametrize(
    "values", [(-9.0, 0.5, -0.2), (-0.5, -0.4, 0.3), (0.5, 0.4), (9.0, -0.5, 0.2), (0.3, -1.0), (0.0,), ()]
)
def test_zero_and_every_step_of_a_waterfall_lie_on_the_axis(values: tuple[float, ...]) -> None:
    parts = [Part("(any document)", "bias", values[0])] if values else []
    parts += [Part(f"t{i}", "x", value) for i, value in enumerate(values[1:])]
    figure = draw_explanation_waterfall(make_view(Explanation.from_parts(parts, exact=True, label="l")))
    assert figure.data[0].x[0] == (values[0] if values else 0.0), "what holds for any document comes first"
    low, high = figure.layout.xaxis.range
    path = np.cumsum(figure.data[0].x[:-1])
    assert low < min(0.0, *path, 0.0)
    assert high > max(0.0, *path, 0.0)
    (zero,) = figure.layout.shapes
    assert (zero.x0, zero.x1) == (0, 0)


def test_parts_of_one_name_are_rows_of_their_own() -> None:
    long = "a term that is longer than any name in a figure"
    parts = [
        Part("matrix", "matrix", 0.5, {"kind": "pair"}),
        Part("matrix", "matrix", 0.4, {"kind": "direct match"}),
        Part(f"{long} 1", "x", 0.3),
        Part(f"{long} 2", "x", 0.2),
    ]
    waterfall = draw_explanation_waterfall(make_view(Explanation.from_parts(parts, exact=True, label="l")))
    places = [place for bars in waterfall.data for place in bars.y]
    assert sorted(places) == list(range(5)) == list(waterfall.layout.yaxis.tickvals)
    names = waterfall.layout.yaxis.ticktext
    assert names[:2] == ("matrix × matrix (pair)", "matrix × matrix (direct match)")
    assert names[2] == names[3], "cut to the same name"
    assert len({name for bars in waterfall.data for name in bars.customdata}) == 5, "in full under the pointer"
    assert waterfall.layout.waterfallgap > 0


def test_a_waterfall_ends_at_the_score():
    figure = draw_explanation_waterfall(make_view(explained()))
    steps = figure.data[0]
    assert list(steps.measure) == ["relative"] * 3 + ["total"]
    assert sum(steps.x[:-1]) == pytest.approx(steps.x[-1])
    assert figure.layout.yaxis.ticktext[-1] == "score"


def test_chance_and_published_rows_are_hollow():
    symbols = [
        list(dots.marker.symbol) for dots in draw_delta_dots(differences(), reference="r", metrics=["P@1", "P@5"]).data
    ]
    assert symbols == [["circle"], ["square-open"]]
    assert "may be chance" in get_alt_text(draw_delta_dots(differences(), reference="r", metrics=["P@5"]))


def test_power_laws_are_recovered():
    assert fit_growth_exponent([1, 10, 100], [3, 30, 300]) == pytest.approx((1.0, 3.0))
    assert "power of 2.00" in get_alt_text(FIGURES["growth"]())
    with pytest.raises(ConfigError, match="positive values"):
        fit_growth_exponent([1, 1], [1, 2])


def test_simulations_have_bands():
    figure = FIGURES["simulation"]()
    assert list(figure.data[0].y) == [1.5, 2.5, 1.5, 0.5]
    assert figure.data[0].fill == "toself"
    assert len({line.line.dash for line in figure.data if line.mode == "lines+markers"}) == 2


def test_a_large_grid_is_averaged_and_gaps_stay_gaps():
    grid = np.arange(900 * 3, dtype=float).reshape(900, 3)
    grid[800:] = np.nan
    drawn = np.asarray(draw_head_grid(grid).data[0].z, float)
    assert max(drawn.shape) <= MAX_CELLS_PER_SIDE
    assert drawn[0, 0] == pytest.approx(grid[:5, 0].mean())
    assert np.isnan(drawn[160:]).all()
    assert "2,400 are used" in get_alt_text(draw_head_grid(grid))


def test_images_keep_their_pixels():
    drawn = np.asarray(FIGURES["images"]().data[0].z, float)
    assert np.isfinite(drawn).sum() == 48
    assert np.nanmax(drawn) == 1
    assert drawn[3:7, 0:4] == pytest.approx(np.arange(16).reshape(4, 4) / 15)
    with pytest.raises(ConfigError, match="one \\(height, width\\) image per name"):
        draw_image_grid(np.zeros((2, 4)), ["a", "b"])


def test_empty_data_gives_empty_figures_that_say_so():
    nothing = draw_triage_bars(pd.DataFrame({"band": BANDS, **dict.fromkeys(STATES, 0), "total": 0}))
    assert get_alt_text(nothing) == "No true label was missed."


def test_tables_hold_what_json_can_hold():
    import plotly.graph_objects as go

    frame = pd.DataFrame(
        {"a": [np.nan, np.inf, 1.5], "b": pd.array([1, None, 3], dtype="Int64"), "c": [True, None, "x"]}
    )
    figure = attach_description(go.Figure(), "Something.", frame)
    assert read_table(figure)["a"].tolist()[2] == 1.5
    assert read_table(figure)["b"].isna().tolist() == [False, True, False]
    json.loads(figure.to_json())
    assert get_alt_text(go.Figure()) == ""
    assert len(read_table(go.Figure())) == 0


def test_phrases_are_put_together():
    assert join_phrases([]) == "nothing"
    assert join_phrases(["a"]) == "a"
    assert join_phrases(["a", "b", "c"]) == "a, b and c"
    assert join_phrases(list("abcdef"), 2) == "a, b and 4 more"
