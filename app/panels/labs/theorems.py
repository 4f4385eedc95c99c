"""Labs about two theorems: what leaving out weights costs, and what a narrow layer can still tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.views import selection

if TYPE_CHECKING:
    import pandas as pd
    from xcwork_app.sources import Source

MAX_LABELS = 20_000  # of a dataset whose weights are found in seconds
MAX_DOCUMENTS = 60_000
SAMPLED_DOCUMENTS = 300


def show_regret() -> None:
    """Show ZestXML's theorem 1.2 on the chosen dataset."""
    from xcwork.viz.studies import simulation_curves

    source = selection.get_source()
    widgets.show_section("What does leaving out small weights cost?")
    st.caption(
        "A shortlister that skips weights below ε may miss the best label. Theorem 1.2 bounds the score it loses; here "
        f"is what it really loses on {SAMPLED_DOCUMENTS} test documents of {widgets.plain(source.title)}."
    )
    dataset = caches.get_dataset(source)
    if dataset.labels.Z is None:
        widgets.show_empty(
            "The labels of this dataset have no text, so there are no pairs of terms.",
            page="data",
            action="Choose another dataset",
        )
        return
    if len(dataset.labels) > MAX_LABELS or len(dataset.train) > MAX_DOCUMENTS:
        widgets.show_empty(
            "This dataset is too large for an answer in seconds.", page="data", action="Choose another dataset"
        )
        return
    pairs = st.select_slider("Pairs kept for each term", [5, 10, 20, 40, 80], 40, key="labs.pairs")
    frame = _compute_regret(source, source.stamp(), pairs)
    titles = {"mean_bound": "bound of the theorem", "largest_regret": "largest regret", "mean_regret": "mean regret"}
    # A logarithm has no place for nothing.
    smallest = (
        max(frame["mean_regret"][frame["mean_regret"] > 0].min() if frame["mean_regret"].any() else 0.0, 1e-6) / 10
    )
    series = {
        title: frame.assign(x=frame["epsilon"], **dict.fromkeys(("mean", "low", "high"), frame[name].clip(smallest)))
        for name, title in titles.items()
    }
    figure = simulation_curves(series, title="Regret and its bound", x="ε, smallest weight kept", y="score lost")
    widgets.show_figure(figure.update_xaxes(type="log").update_yaxes(type="log"), key="labs.regret", name="regret")
    widgets.show_table(
        frame,
        key="labs.regret_table",
        name="regret-table",
        alt="Regret, bound, share of weights kept",
        columns={"epsilon": st.column_config.NumberColumn(format="%.3f")},
    )
    kept = frame.iloc[-1]
    st.caption(
        f"With ε = {kept['epsilon']:g} only {kept['kept']:.1f} % of the weights are left, and the first label stays "
        f"the same for {kept['same_first']:.0f} % of the documents."
    )


@st.cache_data(max_entries=10, show_spinner="Finding the weights …")
def _compute_regret(source: Source, stamp: str, pairs: int) -> pd.DataFrame:
    from xcwork.studies.regret import regret_curve

    return regret_curve(caches.get_dataset(source), pairs=pairs, most=SAMPLED_DOCUMENTS)


def show_low_rank() -> None:
    """Show where theorem 3 of multi-head encoding holds and where it does not."""
    left, right = st.columns(2, gap="large")
    with left, st.container():
        _show_narrow_layer()
    with right, st.container():
        _show_quadrants()


def _show_narrow_layer() -> None:
    from xcwork.viz.studies import simulation_curves

    widgets.show_section("Can one unit tell fifty classes apart?")
    st.caption(
        "Every point is its own class, and all must pass a narrow layer. The low rank of the outputs does not forbid "
        "it: cross-entropy needs only the right one to be largest, squared error needs the outputs themselves."
    )
    units = st.slider("Units of the layer", 1, 10, 2, key="labs.units")
    bias = st.toggle("With a bias", True, key="labs.bias")
    frame = _train_networks(units, bias)
    series = {
        loss: points.assign(x=points["epoch"], **dict.fromkeys(("mean", "low", "high"), points["accuracy"]))
        for loss, points in frame.groupby("loss", sort=False)
    }
    figure = simulation_curves(series, title="Points classified right", x="epoch", y="percent")
    widgets.show_figure(figure, key="labs.rank", name="low-rank")


@st.cache_data(max_entries=40, show_spinner="Training two small networks …")
def _train_networks(units: int, bias: bool) -> pd.DataFrame:
    from xcwork.studies.low_rank import gaussian_points, low_rank_curves

    return low_rank_curves(gaussian_points(50), bottleneck=units, bias=bias, epochs=600, every=25, rate=0.05)


def _show_quadrants() -> None:
    import plotly.graph_objects as go

    from xcwork.viz import apply_style, pick_colour, pick_marker

    widgets.show_section("Where the theorem ends")
    st.caption(
        "The four quadrants of a plane are told apart by two units with ease. Theorem 3 would promise as much for one "
        "unit with a bias. A search of every direction, order and border says otherwise."
    )
    points, classes, best = _search_quadrants()
    figure = go.Figure()
    for name in range(4):
        of_class = points[classes == name]
        figure.add_scatter(
            x=of_class[:, 0],
            y=of_class[:, 1],
            mode="markers",
            name=f"class {name + 1}",
            marker={"color": pick_colour(name), "symbol": pick_marker(name), "size": 7},
        )
    apply_style(
        figure,
        title=f"One unit gets {100 * best:.0f} % right at best",
        x="first feature",
        y="second feature",
        alt=f"Points in four quadrants, one class each. No classifier with one unit and a bias gets more than "
        f"{100 * best:.0f} percent of them right.",
    )
    widgets.show_figure(figure.update_layout(height=420), key="labs.quadrants", name="quadrants")


@st.cache_data(max_entries=1, show_spinner="Searching every direction …")
def _search_quadrants() -> tuple[np.ndarray, np.ndarray, float]:
    from xcwork.studies.low_rank import best_on_a_line, make_quadrants

    points, classes = make_quadrants(200)
    return points, classes, best_on_a_line(points, classes, directions=90)
