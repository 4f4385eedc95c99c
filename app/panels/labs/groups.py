"""Lab: labels known only for groups. How much is lost, and how much EAGLE gets back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import widgets

if TYPE_CHECKING:
    import pandas as pd

DATA = {"n_documents": 600, "n_labels": 40, "n_topics": 5, "labels_per_document": 2, "seed": 7}
VARIANTS = ("oracle", "baseline", "EAGLE-0", "EAGLE", "EAGLE, centred")
SIGMAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
ESTIMATORS = {"AS": "with assignment", "NoAS": "without assignment"}


def show() -> None:
    """Show two experiments: learning from groups, and the simulation of the paper's theorem."""
    left, right = st.columns(2, gap="large")
    with left, st.container():
        _show_learning()
    with right, st.container():
        _show_simulation()


def _show_learning() -> None:
    from xcwork.viz.bars import grouped_bars

    widgets.show_section("Learning from groups")
    st.caption(
        "Each group of documents keeps its labels, but nobody knows which document has which. The baseline gives every "
        "member all of them; EAGLE assigns each label to the member that fits it best. Centred, it ignores what all "
        "documents share, and a label goes to as many members as brought it in. The oracle knows the true labels."
    )
    size = st.select_slider("Documents in a group", [2, 4, 8, 16, 32], 8, key="labs.size")
    noise = st.select_slider(
        "Heterogeneity",
        [0.0, 0.5, 1.0, 2.0, 5.0],
        5.0,
        key="labs.noise",
        help="0: groups are clusters of similar documents. 5: they are nearly drawn at random.",
    )
    table = _compare_variants(size, noise)
    figure = grouped_bars(
        {name: table[f"P@{k}"].tolist() for k, name in ((1, "P@1"), (3, "P@3"))},
        table["method"].tolist(),
        title="Precision after learning from groups",
        y="percent",
    )
    widgets.show_figure(figure, key="labs.groups", name="groups")
    found = dict(zip(table["method"], table["assignment_precision"], strict=True))
    st.caption(
        f"EAGLE assigned {found['EAGLE']:.0f} % of the labels to a document that really has them, centred "
        f"{found['EAGLE, centred']:.0f} %."
    )


@st.cache_data(max_entries=60, show_spinner="Learning from groups …")
def _compare_variants(size: int, noise: float) -> pd.DataFrame:
    from xcwork.data.groups import cluster_into_groups
    from xcwork.data.synthetic import make_synthetic
    from xcwork.studies.eagle import compare

    data = make_synthetic(**DATA)
    depth = round(math.log2(len(data.train) / size))
    return compare(data, cluster_into_groups(data.train, depth, noise=noise), learner="one_vs_all", variants=VARIANTS)


def _show_simulation() -> None:
    from xcwork.viz.studies import simulation_curves

    widgets.show_section("When does assignment pay?")
    st.caption(
        "A linear model is learned from groups whose outputs come in unknown order (theorem 1 of the paper). Members "
        "that differ a lot within a group (large σ₂) can be told apart, so assigning outputs helps."
    )
    size = st.slider("Members of a group", 2, 20, 10, key="labs.members")
    noise = st.slider("Noise of the outputs, σₑ", 0.1, 2.0, 1.0, 0.1, key="labs.sigma_e")
    frame = _simulate_regression(size, noise)
    series = {title: _add_band(frame[frame["estimator"] == name]) for name, title in ESTIMATORS.items()}
    figure = simulation_curves(
        series,
        title="Error compared with knowing the order",
        x="σ₂, deviation within a group",
        y="error / error of the oracle",
    )
    widgets.show_figure(figure.update_yaxes(type="log"), key="labs.simulation", name="simulation")


def _add_band(points: pd.DataFrame) -> pd.DataFrame:
    mean, deviation = points["relative_error"], points["deviation"]
    return points.assign(x=points["sigma_2"], mean=mean, low=(mean - deviation).clip(lower=1e-3), high=mean + deviation)


@st.cache_data(max_entries=60, show_spinner="Simulating …")
def _simulate_regression(size: int, noise: float) -> pd.DataFrame:
    from xcwork.studies.eagle import simulate_regression

    return simulate_regression(SIGMAS, group_size=size, sigma_e=noise, repeats=5)
