"""Labs about labels known only for groups: how much EAGLE gets back, and when assignment pays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app.panels.labs.lab import Lab, LabResult, Prediction

if TYPE_CHECKING:
    import pandas as pd

DATA = {"n_documents": 600, "n_labels": 40, "n_topics": 5, "labels_per_document": 2, "seed": 7}
VARIANTS = ("oracle", "baseline", "EAGLE-0", "EAGLE", "EAGLE, centred")
SIGMAS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
ESTIMATORS = {"AS": "with assignment", "NoAS": "without assignment"}
SIZES = (2, 4, 8, 16, 32)
USUAL_SIZE = 8
MIXTURES = (0.0, 0.5, 1.0, 2.0, 5.0)
USUAL_MIXTURE = 5.0
USUAL_MEMBERS = 10
USUAL_NOISE = 1.0
LARGE_NOISE = 2.0
CLEAR_POINTS = 2.0  # a smaller change of P@1 counts as none


def choose_groups() -> dict[str, Any]:
    """Show the controls of the lab about learning from groups."""
    size = st.select_slider("Documents per group", SIZES, USUAL_SIZE, key="labs.size", bind="query-params")
    mixture = st.select_slider(
        "How mixed the groups are",
        MIXTURES,
        USUAL_MIXTURE,
        key="labs.noise",
        bind="query-params",
        help="0: groups are clusters of similar documents. 5: they are nearly drawn at random.",
    )
    return {"size": size, "mixture": mixture}


def learn_from_groups(size: int, mixture: float) -> LabResult:
    """Draw how well each way of using the labels of groups does."""
    from xcwork.viz.bars import draw_grouped_bars

    table = _compare_variants(size, mixture)
    chart = draw_grouped_bars(
        {name: table[f"P@{k}"].tolist() for k, name in ((1, "P@1"), (3, "P@3"))},
        table["method"].tolist(),
        title="Precision after learning from groups",
        y="percent",
    )
    precision = dict(zip(table["method"], table["P@1"], strict=True))
    found = dict(zip(table["method"], table["assignment_precision"], strict=True))["EAGLE"]
    return LabResult(
        chart,
        f"With {size} documents per group EAGLE reaches P@1 **{precision['EAGLE']:.1f}**, the baseline, where each "
        f"member has all labels of its group, **{precision['baseline']:.1f}**, and true labels give "
        f"{precision['oracle']:.1f}. EAGLE gives {found:.0f} % of the labels to a document that has them. Theorem 4: "
        "each step comes closer to a label as long as most groups choose the right member.",
    )


def _find_lead_change() -> int:
    leads = []
    for size in (4, 32):
        precision = _compare_variants(size, USUAL_MIXTURE).set_index("method")["P@1"]
        leads.append(precision["EAGLE"] - precision["baseline"])
    change = leads[1] - leads[0]
    return 2 if abs(change) < CLEAR_POINTS else 0 if change > 0 else 1


@st.cache_data(max_entries=60, show_spinner="Learning from groups …")
def _compare_variants(size: int, mixture: float) -> pd.DataFrame:
    from xcwork.data.groups import cluster_into_groups
    from xcwork.data.synthetic import make_synthetic
    from xcwork.studies.eagle import compare_variants

    data = make_synthetic(**DATA)
    depth = round(math.log2(len(data.train) / size))
    return compare_variants(
        data, cluster_into_groups(data.train, depth, noise=mixture), learner="one_vs_all", variants=VARIANTS
    )


def choose_noise() -> dict[str, Any]:
    """Show the controls of the lab about assignment."""
    members = st.slider("Members per group", 2, 20, USUAL_MEMBERS, key="labs.members", bind="query-params")
    noise = st.slider(
        "Noise of the outputs, σₑ", 0.1, LARGE_NOISE, USUAL_NOISE, 0.1, key="labs.sigma_e", bind="query-params"
    )
    return {"members": members, "noise": noise}


def simulate_assignment(members: int, noise: float) -> LabResult:
    """Draw the error of a linear model with and without assignment."""
    from xcwork.viz.studies import draw_simulation_curves

    frame = _simulate_regression(members, noise)
    series = {title: _add_band(frame[frame["estimator"] == name]) for name, title in ESTIMATORS.items()}
    chart = draw_simulation_curves(
        series,
        title="Error compared with knowing the order",
        x="σ₂, deviation within a group",
        y="error / error of the oracle",
    ).update_yaxes(type="log", exponentformat="power")
    errors = frame.pivot(index="sigma_2", columns="estimator", values="relative_error")
    last = errors.iloc[-1]
    begin = _find_begin(frame)
    when = "at no σ₂ shown here" if begin is None else f"from σ₂ = {begin:g} on"
    return LabResult(
        chart,
        f"With {members} members and noise {noise:g}, assignment has the smaller error **{when}**. At σ₂ = "
        f"{errors.index[-1]:g} its error is {last['AS']:.2f} times that of knowing the order, and "
        f"{last['NoAS']:.2f} times without assignment. Theorem 1: wrong assignments add a bias, which gets smaller "
        "as the members differ more and the outputs are less noisy.",
    )


def _find_begin(frame: pd.DataFrame) -> float | None:
    """Return the deviation from which assignment has the smaller error; None if it never has."""
    errors = frame.pivot(index="sigma_2", columns="estimator", values="relative_error")
    is_worse = (errors["AS"] >= errors["NoAS"]).to_numpy()
    at = len(is_worse) - is_worse[::-1].argmax() if is_worse.any() else 0
    return None if at == len(is_worse) else float(errors.index[at])


def _find_begin_change() -> int:
    begins = [_find_begin(_simulate_regression(USUAL_MEMBERS, noise)) for noise in (USUAL_NOISE, LARGE_NOISE)]
    before, after = (math.inf if begin is None else begin for begin in begins)
    return 0 if after < before else 1 if after == before else 2


def _add_band(points: pd.DataFrame) -> pd.DataFrame:
    mean, deviation = points["relative_error"], points["deviation"]
    return points.assign(x=points["sigma_2"], mean=mean, low=(mean - deviation).clip(lower=1e-3), high=mean + deviation)


@st.cache_data(max_entries=60, show_spinner="Simulating …")
def _simulate_regression(members: int, noise: float) -> pd.DataFrame:
    from xcwork.studies.eagle import simulate_regression

    return simulate_regression(SIGMAS, group_size=members, sigma_e=noise, repeats=5)


LABS = {
    "groups": Lab(
        "Labels of groups",
        "Labels known only for a group can be given back to the documents they belong to.",
        "EAGLE, section 4 and theorem 4",
        choose_groups,
        learn_from_groups,
        Prediction(
            "Groups grow from 4 to 32 documents. What happens to EAGLE's lead over the baseline?",
            ("It grows", "It shrinks", f"It stays within {CLEAR_POINTS:g} points"),
            {"labs.size": 32, "labs.noise": USUAL_MIXTURE},
            _find_lead_change,
        ),
    ),
    "assignment": Lab(
        "Assignment",
        "Giving each output to one member of its group pays when the members differ.",
        "EAGLE, theorem 1 and figure 3",
        choose_noise,
        simulate_assignment,
        Prediction(
            "The outputs become twice as noisy (σₑ = 2). Where does assignment begin to pay?",
            ("At a smaller σ₂", "At the same σ₂", "At a larger σ₂"),
            {"labs.sigma_e": LARGE_NOISE, "labs.members": USUAL_MEMBERS},
            _find_begin_change,
        ),
    ),
}
