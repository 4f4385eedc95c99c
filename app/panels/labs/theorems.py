"""Labs about two theorems: what leaving out weights costs, what a narrow layer can tell apart, and where that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.panels.labs.lab import Lab, LabResult, Prediction
from xcwork_app.views import selection

if TYPE_CHECKING:
    import pandas as pd
    from xcwork_app.sources import Source

MAX_LABELS = 20_000  # of a dataset whose weights are found in seconds
MAX_DOCUMENTS = 60_000
SAMPLED_DOCUMENTS = 300
EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
USUAL_EPSILON = 0.01
LARGE_EPSILON = 0.1
PAIRS = (5, 10, 20, 40, 80)
USUAL_PAIRS = 40
SHARES = (50, 90)  # percent, between the answers of the question
N_CLASSES = 50
USUAL_UNITS = 2
N_POINTS = 200
N_DIRECTIONS = 90


def choose_weights() -> dict[str, Any]:
    """Show the controls of the lab about weights that are left out."""
    _require_pairs()
    epsilon = st.select_slider(
        "Smallest weight kept, ε", EPSILONS, USUAL_EPSILON, key="labs.epsilon", bind="query-params"
    )
    pairs = st.select_slider("Pairs kept for each term", PAIRS, USUAL_PAIRS, key="labs.pairs", bind="query-params")
    return {"epsilon": epsilon, "pairs": pairs}


def _require_pairs() -> None:
    """End the page where the dataset has no pairs of terms, or too many for an answer in seconds."""
    dataset = caches.get_dataset(selection.get_source())
    problem = ""
    if dataset.labels.Z is None:
        problem = "The labels of this dataset have no text, so there are no pairs of terms."
    elif len(dataset.labels) > MAX_LABELS or len(dataset.train) > MAX_DOCUMENTS:
        problem = "This dataset is too large for an answer in seconds."
    if problem:
        widgets.show_empty(problem, page="data", action="Choose another dataset")
        raise widgets.PageEnd


def compare_regret(epsilon: float, pairs: int) -> LabResult:
    """Draw the score that is lost against what theorem 1.2 of ZestXML allows."""
    from xcwork.viz.studies import draw_simulation_curves

    source = selection.get_source()
    frame = _compute_regret(source, source.make_stamp(), pairs)
    titles = {"mean_bound": "bound of the theorem", "largest_regret": "largest regret", "mean_regret": "mean regret"}
    # A logarithm has no place for nothing.
    smallest = (
        max(frame["mean_regret"][frame["mean_regret"] > 0].min() if frame["mean_regret"].any() else 0.0, 1e-6) / 10
    )
    series = {
        title: frame.assign(x=frame["epsilon"], **dict.fromkeys(("mean", "low", "high"), frame[name].clip(smallest)))
        for name, title in titles.items()
    }
    chart = draw_simulation_curves(series, title="Regret and its bound", x="ε, smallest weight kept", y="score lost")
    for axes in (chart.update_xaxes, chart.update_yaxes):
        axes(type="log", dtick=1, exponentformat="power")
    chart.add_vline(x=epsilon, line_dash="dot")
    row = frame.set_index("epsilon").loc[epsilon]
    broken, n_documents = int(row["broken"]), min(SAMPLED_DOCUMENTS, len(caches.get_dataset(source).test))
    holds = "and no document exceeds it" if not broken else f"which {broken} documents exceed"
    return LabResult(
        chart,
        f"With ε = {epsilon:g}, **{row['kept']:.1f} %** of the weights are left, and the first label stays the same "
        f"for **{row['same_first']:.0f} %** of {n_documents:,} test documents of {widgets.escape_text(source.title)}. "
        f"The largest loss is {row['largest_regret']:.3g}; theorem 1.2 allows {row['mean_bound']:.3g} on average, "
        f"{holds}.",
    )


def _find_share() -> int:
    source = selection.get_source()
    frame = _compute_regret(source, source.make_stamp(), USUAL_PAIRS).set_index("epsilon")
    return int(np.searchsorted(SHARES, frame.loc[LARGE_EPSILON, "same_first"], side="right"))


@st.cache_data(max_entries=10, show_spinner="Finding the weights …")
def _compute_regret(source: Source, stamp: str, pairs: int) -> pd.DataFrame:
    from xcwork.studies.regret import compute_regret_curve

    return compute_regret_curve(caches.get_dataset(source), EPSILONS, pairs=pairs, most=SAMPLED_DOCUMENTS)


def choose_layer() -> dict[str, Any]:
    """Show the controls of the lab about a narrow layer."""
    units = st.slider("Units of the layer", 1, 10, USUAL_UNITS, key="labs.units", bind="query-params")
    bias = st.toggle("With a bias", True, key="labs.bias", bind="query-params")
    return {"units": units, "bias": bias}


def train_narrow_layer(units: int, bias: bool) -> LabResult:
    """Draw how many of fifty classes pass a narrow layer, for two losses."""
    from xcwork.viz.studies import draw_simulation_curves

    frame = _train_networks(units, bias)
    series = {
        loss: points.assign(x=points["epoch"], **dict.fromkeys(("mean", "low", "high"), points["accuracy"]))
        for loss, points in frame.groupby("loss", sort=False)
    }
    chart = draw_simulation_curves(series, title="Points classified right", x="epoch", y="percent")
    last = frame.groupby("loss")["accuracy"].last()
    return LabResult(
        chart,
        f"{units} unit{'s' * (units > 1)} {'with' if bias else 'without'} a bias: cross-entropy tells "
        f"**{last['cross-entropy']:.0f} %** of {N_CLASSES} classes apart, squared error "
        f"**{last['squared error']:.0f} %**. Theorem 3: the low rank of the outputs does not forbid it, because "
        "cross-entropy needs only the right output to be the largest.",
    )


def _find_accuracy() -> int:
    frame = _train_networks(1, False)
    accuracy = frame[frame["loss"] == "cross-entropy"]["accuracy"].iloc[-1]
    return int(np.searchsorted(SHARES, accuracy, side="right"))


@st.cache_data(max_entries=40, show_spinner="Training two small networks …")
def _train_networks(units: int, bias: bool) -> pd.DataFrame:
    from xcwork.studies.low_rank import compute_low_rank_curves, draw_gaussian_points

    return compute_low_rank_curves(
        draw_gaussian_points(N_CLASSES), bottleneck=units, bias=bias, epochs=600, every=25, rate=0.05
    )


def choose_direction() -> dict[str, Any]:
    """Show the controls of the lab about four quadrants."""
    degrees = st.slider("Direction of the unit, degrees", 0, 178, 44, 2, key="labs.direction", bind="query-params")
    return {"degrees": degrees}


def look_in_direction(degrees: int) -> LabResult:
    """Draw four classes, the line that one unit sees, and how many can be right on it."""
    from xcwork.studies.low_rank import find_best_in_direction
    from xcwork.viz.studies import draw_points_on_a_line

    points, classes, best = _search_quadrants()
    angle = float(np.radians(degrees))
    share = find_best_in_direction(points, classes, angle)
    chart = draw_points_on_a_line(points, classes, angle, title="Four classes and one unit")
    return LabResult(
        chart,
        f"In the direction of {degrees}°, one unit with a bias gets at most **{100 * share:.0f} %** of the points "
        f"right; over all directions, orders and borders it is {100 * best:.0f} %. Theorem 3 would promise as much as "
        "for two units, 100 %: it holds for points that are classes of their own, not for classes in general.",
    )


def _find_best_share() -> int:
    return int(np.searchsorted(SHARES, 100 * _search_quadrants()[2], side="right"))


@st.cache_data(max_entries=1, show_spinner="Searching every direction …")
def _search_quadrants() -> tuple[np.ndarray, np.ndarray, float]:
    from xcwork.studies.low_rank import find_best_on_a_line, make_quadrants

    points, classes = make_quadrants(N_POINTS)
    return points, classes, find_best_on_a_line(points, classes, directions=N_DIRECTIONS)


UP_TO = f"Under {SHARES[0]} %"
BETWEEN = f"{SHARES[0]} to {SHARES[1]} %"
ABOVE = f"Over {SHARES[1]} %"
LABS = {
    "regret": Lab(
        "Regret bound",
        "A shortlister may leave out small weights: the score it loses has a bound.",
        "ZestXML, theorem 1.2",
        choose_weights,
        compare_regret,
        Prediction(
            f"All weights below {LARGE_EPSILON:g} are left out. For how many documents does the first label stay?",
            (UP_TO, BETWEEN, ABOVE),
            {"labs.epsilon": LARGE_EPSILON, "labs.pairs": USUAL_PAIRS},
            _find_share,
        ),
    ),
    "rank": Lab(
        "Low rank",
        f"Two units can tell {N_CLASSES} classes apart.",
        "Multi-head encoding, theorem 3 and figure 5",
        choose_layer,
        train_narrow_layer,
        Prediction(
            "One unit, no bias, cross-entropy. How many classes does it tell apart?",
            (UP_TO, BETWEEN, ABOVE),
            {"labs.units": 1, "labs.bias": False},
            _find_accuracy,
        ),
    ),
    "quadrants": Lab(
        "Its limit",
        "One unit cannot tell four quadrants apart, whatever theorem 3 says.",
        "Multi-head encoding, theorem 3: a counterexample",
        choose_direction,
        look_in_direction,
        Prediction(
            "How many points can one unit get right, in the best direction?",
            (UP_TO, BETWEEN, ABOVE),
            {"labs.direction": 0},
            _find_best_share,
        ),
    ),
}
