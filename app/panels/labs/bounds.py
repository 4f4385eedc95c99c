"""Labs about bounds: what they promise, what really happens, and where they stop to say anything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.panels.labs.lab import Lab, LabResult, Prediction
from xcwork_app.views import selection

if TYPE_CHECKING:
    import pandas as pd
    from xcwork_app.sources import Source

CHANCES = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.68, 0.75, 0.9, 0.99)  # values of c
USUAL_CHANCE = 0.9
BROKEN_CHANCE = 0.2
BOUND = "contrastive / ln 4c"
MODULES = {"Module I": (0.9, 1.5), "Classifiers": (0.75, 3.0)}  # c and d of the supplement
MOST_MOVED = 2.0  # a cosine lies between -1 and 1
WEIGHT_ERRORS = (0.001, 0.003, 0.01, 0.03, 0.1)
USUAL_ERROR = 0.01
SMALL_ERROR = 0.001
FEATURE_SIZES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
RANKS = (1, 2, 3, 4)
CLOSE_PERCENT = 0.1  # above the optimum, which counts as having reached it
SIZES = (2, 4, 8, 16, 32)
USUAL_SIZE = 4
LARGE_SIZE = 32
OWN_GROUPS = 0  # instead of a size: the groups that the dataset has
OVERLAPS = ("below 0.25", "0.25 to 0.5", "0.5 to 0.75", "0.75 to 1", "1: contained")
SHARES = (20, 50)  # percent, between the answers of the question


def choose_chance() -> dict[str, Any]:
    """Show the control of the lab about the surrogate chain."""
    c = st.select_slider(
        "c, likelihood of a perfect match", CHANCES, USUAL_CHANCE, key="labs.chance", bind="query-params"
    )
    return {"c": c}


def follow_chain(c: float) -> LabResult:
    """Draw the three losses of the chain while relevant labels rise above the others."""
    from xcwork.studies.siamesexml_claims import compute_chain
    from xcwork.viz.studies import draw_simulation_curves

    frame = compute_chain(c)
    titles = {"prec@k loss": "prec@k loss", "ramp": "ramp", BOUND: "contrastive / ln(4c)"}
    chart = draw_simulation_curves(
        {title: _draw_line(frame["lead"], frame[name]) for name, title in titles.items()},
        title="Three losses",
        x="lead of relevant labels, cosine",
        y="loss",
    )
    chart.update_yaxes(range=[-2, 6])
    broken = int((frame[BOUND] < frame["ramp"] - 1e-9).sum())
    factor = math.log(4 * c)
    if broken:
        holds = f"is **below** the ramp at {broken} of {len(frame)} leads: ln(4c) is {factor:.2f}, and a bound fails"
    else:
        holds = f"stays above the ramp: ln(4c) is {factor:.2f}"
    proof = "above" if c > math.e / 4 else "below"
    return LabResult(
        chart,
        f"With c = {c:g} the contrastive loss over ln(4c) {holds}. Claim 18 prints it for any c between 0 and 1; its "
        f"proof without the factor needs c above e/4 = 0.68, and this c is {proof} it. Theorem 3 stands on this chain.",
    )


def _find_chain() -> int:
    from xcwork.studies.siamesexml_claims import compute_chain

    frame = compute_chain(BROKEN_CHANCE)
    return int((frame[BOUND] < frame["ramp"]).any())


def choose_module() -> dict[str, Any]:
    """Show the control of the lab about lemma 1."""
    module = st.radio("Constants of", list(MODULES), key="labs.module", bind="query-params")
    return {"module": module}


def compare_movement(module: str) -> LabResult:
    """Draw how far a score can move against the bound of lemma 1."""
    from xcwork.studies.siamesexml_encoder import compute_movement
    from xcwork.viz.studies import draw_simulation_curves

    c, d = MODULES[module]
    frame = compute_movement(c, d, np.linspace(-0.5, 1, 31))
    chart = draw_simulation_curves(
        {
            "bound of lemma 1": _draw_line(frame["cosine"], frame["bound"]),
            "largest change possible": _draw_line(frame["cosine"], frame["largest change"]),
        },
        title="How far a score can move",
        x="cosine of label text and classifier",
        y="change of a score",
    )
    chart.add_hline(y=MOST_MOVED, line_dash="dot")
    says = frame.loc[frame["bound"] < MOST_MOVED, "cosine"]
    first = says.min() if len(says) else 1.0
    return LabResult(
        chart,
        f"With the constants of {module.lower()} the bound is below {MOST_MOVED:g}, the most that a cosine can move at "
        f"all, from a cosine of **{first:.2f}** on. It is never broken, and always several times what can happen: "
        "lemma 1, on which theorem 3 rests, multiplies the steepest slopes there are.",
    )


def _find_first_useful() -> int:
    from xcwork.studies.siamesexml_encoder import compute_movement

    bound = compute_movement(*MODULES["Classifiers"], np.array([0.9]))["bound"].iloc[0]
    return int(bound < MOST_MOVED)


def choose_weight_error() -> dict[str, Any]:
    """Show the control of the lab about the error of a softmax."""
    off = st.select_slider("Error of a weight", WEIGHT_ERRORS, USUAL_ERROR, key="labs.off", bind="query-params")
    return {"off": off}


def compare_softmax(off: float) -> LabResult:
    """Draw the error of a softmax while features grow, against theorem 4 of multi-head encoding."""
    import pandas as pd

    from xcwork.studies.multihead_theorems import compare_softmax_errors
    from xcwork.viz.studies import draw_simulation_curves

    frame = pd.DataFrame(compare_softmax_errors(off, FEATURE_SIZES))
    chart = draw_simulation_curves(
        {
            "bound of theorem 4": _draw_line(frame["feature"], frame["bound"]),
            "error of the softmax": _draw_line(frame["feature"], frame["error"]),
        },
        title="Error of a softmax",
        x="size of the feature",
        y="error",
    )
    chart.update_xaxes(type="log", dtick=1)
    broken = frame.loc[frame["broken"], "feature"]
    where = f"from a feature of **{broken.min():g}** on it is broken" if len(broken) else "it holds for these features"
    return LabResult(
        chart,
        f"With weights off by ±{off:g} theorem 4 allows an error of {frame['bound'].iloc[0]:.3f}, whatever the "
        f"features: {where}. The bound lacks their size, because an error of a weight is multiplied by it.",
    )


def _find_softmax() -> int:
    from xcwork.studies.multihead_theorems import compare_softmax_errors

    return int(not any(row["broken"] for row in compare_softmax_errors(SMALL_ERROR, FEATURE_SIZES)))


def choose_rank() -> dict[str, Any]:
    """Show the control of the lab about local minima."""
    rank = st.select_slider("Units of the layer", RANKS, RANKS[0], key="labs.minima", bind="query-params")
    return {"rank": rank}


def follow_minima(rank: int) -> LabResult:
    """Draw the squared error of linear networks from eight starts, above the optimum."""
    from xcwork.viz.studies import draw_simulation_curves

    frame = _train_linear(rank)
    by_step = frame.groupby("step")["above"].agg(["mean", "min", "max"]).reset_index()
    points = by_step.rename(columns={"step": "x", "min": "low", "max": "high"})
    chart = draw_simulation_curves(
        {"eight random starts": points}, title="Above the optimum", x="step", y="percent above the optimum"
    )
    last = frame.groupby("start")["above"].last()
    reached = int((last < CLOSE_PERCENT).sum())
    return LabResult(
        chart,
        f"With {rank} unit{'s' * (rank > 1)}, **{reached} of {len(last)}** starts end within {CLOSE_PERCENT:g} % of "
        "the least squared error of that rank, which the SVD gives. Theorem 2: linear networks with the squared error "
        "have no spurious local minima, so that every start may get there.",
    )


def _find_minima() -> int:
    last = _train_linear(RANKS[-1]).groupby("start")["above"].last()
    return int((last >= CLOSE_PERCENT).any())


@st.cache_data(max_entries=10, show_spinner="Training eight small networks …")
def _train_linear(rank: int) -> pd.DataFrame:
    from xcwork.studies.multihead_theorems import follow_linear_networks

    return follow_linear_networks(rank)


def choose_limits() -> dict[str, Any]:
    """Show the controls of the lab about groups that cannot tell labels apart."""
    own = caches.get_dataset(selection.get_source()).train.groups is not None and st.toggle(
        "Groups of the dataset", True, key="labs.own_groups", bind="query-params"
    )
    size = st.select_slider(
        "Documents per random group", SIZES, USUAL_SIZE, key="labs.limit_size", bind="query-params", disabled=own
    )
    return {"size": OWN_GROUPS if own else size}


def show_limits(size: int) -> LabResult:
    """Draw how many labels overlap how much with another label, in the groups of the dataset or random ones."""
    from xcwork.viz.bars import draw_grouped_bars

    source = selection.get_source()
    frame = _tabulate_limits(source, source.make_stamp(), size)
    place = np.minimum((frame["q"] * 4).astype(int), 4)
    counts = np.bincount(place, minlength=5)
    chart = draw_grouped_bars(
        {"labels": counts.tolist()}, list(OVERLAPS), title="Overlap of labels", x="q of the label", y="labels"
    )
    lost = frame.loc[~frame["can be found"], "pairs"].sum() / max(1, frame["pairs"].sum())
    groups = f"random groups of {size}" if size else "the groups of the dataset"
    return LabResult(
        chart,
        f"In {groups} of {widgets.escape_text(source.title)}, **{int(frame['single group'].sum()):,}** of "
        f"{len(frame):,} labels have one group only and {int(frame['twin'].sum()):,} the same groups as another label: "
        f"**{100 * lost:.0f} %** of the pairs of document and label cannot be placed by groups alone. Theorem 3 needs "
        f"q below 1, which {int((frame['q'] < 1).sum()):,} labels have.",
    )


def _find_lost_share() -> int:
    source = selection.get_source()
    frame = _tabulate_limits(source, source.make_stamp(), LARGE_SIZE)
    lost = 100 * frame.loc[~frame["can be found"], "pairs"].sum() / max(1, frame["pairs"].sum())
    return int(np.searchsorted(SHARES, lost, side="right"))


@st.cache_data(max_entries=20, show_spinner="Comparing the groups of labels …")
def _tabulate_limits(source: Source, stamp: str, size: int) -> pd.DataFrame:
    from dataclasses import replace

    from xcwork.data.groups import draw_random_groups
    from xcwork.studies.group_limits import tabulate_group_limits

    train = caches.get_dataset(source).train
    return tabulate_group_limits(draw_random_groups(replace(train, groups=None), size) if size else train)


def _draw_line(x: pd.Series, y: pd.Series) -> pd.DataFrame:
    """Return points without a band around them."""
    import pandas as pd

    return pd.DataFrame({"x": x, "mean": y, "low": y, "high": y})


LABS = {
    "limits": Lab(
        "Findable labels",
        "Groups alone show beforehand which labels can be given back to their documents.",
        "EAGLE, definition 2 and theorem 3",
        choose_limits,
        show_limits,
        Prediction(
            f"Groups of {LARGE_SIZE}: how many pairs of document and label can nothing place?",
            (f"Under {SHARES[0]} %", f"{SHARES[0]} to {SHARES[1]} %", f"Over {SHARES[1]} %"),
            {"labs.own_groups": False, "labs.limit_size": LARGE_SIZE},
            _find_lost_share,
        ),
    ),
    "chain": Lab(
        "Surrogate chain",
        "The contrastive loss bounds what is lost at the top of the ranking, for any c.",
        "SiameseXML, claims 17 and 18",
        choose_chance,
        follow_chain,
        Prediction(
            f"c is {BROKEN_CHANCE:g}. Does the contrastive loss over ln(4c) stay above the ramp?",
            ("Yes", "No"),
            {"labs.chance": BROKEN_CHANCE},
            _find_chain,
        ),
    ),
    "movement": Lab(
        "Lemma 1",
        "A classifier that is near the text of its label scores like it.",
        "SiameseXML, lemma 1",
        choose_module,
        compare_movement,
        Prediction(
            "Text and classifier have a cosine of 0.9. Does the bound of the classifiers say anything?",
            ("No", "Yes"),
            {"labs.module": "Classifiers"},
            _find_first_useful,
        ),
    ),
    "minima": Lab(
        "Local minima",
        "A linear network with the squared error reaches the optimum from any start.",
        "Multi-head encoding, theorem 2",
        choose_rank,
        follow_minima,
        Prediction(
            f"{RANKS[-1]} units: do all eight starts reach the optimum?",
            ("All of them", "Not all"),
            {"labs.minima": RANKS[-1]},
            _find_minima,
        ),
    ),
    "softmax": Lab(
        "Softmax error",
        "Small errors of the weights mean a small error of the softmax.",
        "Multi-head encoding, theorem 4",
        choose_weight_error,
        compare_softmax,
        Prediction(
            f"Weights are off by {SMALL_ERROR:g}, features go up to 100. Is the bound broken?",
            ("Yes", "No"),
            {"labs.off": SMALL_ERROR},
            _find_softmax,
        ),
    ),
}
