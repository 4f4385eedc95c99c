"""Labs about labels as short codes: how few outputs heads need, and what the order of the labels is good for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st
from xcwork_app import caches
from xcwork_app.panels.labs.lab import Lab, LabResult, Prediction
from xcwork_app.views import selection

if TYPE_CHECKING:
    from xcwork_app.sources import Source

MAX_LABELS = 1_000_000
MAX_HEADS = 6
USUAL_HEADS = 2
MANY_OUTPUTS = 10_000  # between the answers of the question
CLUSTERED = "Clustered"
RANDOM = "At random"
ORDERS = {CLUSTERED: "cluster", RANDOM: "random"}
MAX_CLUSTERED_LABELS = 20_000
CLEAR_COSINE = 0.01  # a smaller change counts as none


def choose_heads() -> dict[str, Any]:
    """Show the controls of the lab about codes."""
    from xcwork.methods.multihead.codes import check_heads, choose_even_heads, parse_heads

    n_labels = st.number_input("Labels", 4, MAX_LABELS, _count_labels(), key="labs.n", bind="query-params")
    n_heads = st.slider("Heads", 1, MAX_HEADS, USUAL_HEADS, key="labs.n_heads", bind="query-params")
    even = choose_even_heads(n_labels, n_heads)
    text = st.text_input(
        "Lengths of the heads",
        key="labs.heads",
        bind="query-params",
        placeholder=", ".join(map(str, even)),
        help="Empty: as even as possible. Their product must reach the number of labels.",
    )
    lengths = check_heads(parse_heads(text), n_labels) if text.strip() else tuple(even)
    label = st.number_input("Digits of label", 0, n_labels - 1, key="labs.label", bind="query-params")
    return {"n_labels": n_labels, "lengths": lengths, "label": label}


def count_outputs(n_labels: int, lengths: tuple[int, ...], label: int) -> LabResult:
    """Draw how many outputs one to six heads need."""
    from xcwork.methods.multihead.codes import MixedRadix, choose_even_heads, compute_confusion_degree
    from xcwork.viz.bars import draw_grouped_bars

    outputs = {f"{n} head" + "s" * (n > 1): sum(choose_even_heads(n_labels, n)) for n in range(1, MAX_HEADS + 1)}
    if sum(lengths) not in outputs.values():
        outputs["these heads"] = sum(lengths)
    chart = draw_grouped_bars({"outputs": list(outputs.values())}, list(outputs), title="Outputs", y="outputs")
    chart.update_traces(texttemplate="%{y:,}").update_yaxes(type="log")
    digits = MixedRadix(lengths, n_labels).split_codes(np.array([label]))[0]
    unused = math.prod(lengths) - n_labels
    stays = f"{unused:,} code stays" if unused == 1 else f"{unused:,} codes stay"
    return LabResult(
        chart,
        f"{n_labels:,} labels need **{sum(lengths):,} outputs** in heads of {', '.join(map(str, lengths))}, "
        f"against {n_labels:,} in one; label {label:,} has the digits "
        f"**{', '.join(map(str, digits))}**, and {stays} unused (confusion degree "
        f"{compute_confusion_degree(lengths):,.2f}). Theorem 1: the best digit of each head gives the best label, as "
        "long as no output is negative.",
    )


def _find_range() -> int:
    from xcwork.methods.multihead.codes import choose_even_heads

    n = sum(choose_even_heads(MAX_LABELS, USUAL_HEADS))
    return 0 if n <= MANY_OUTPUTS else 1 if n <= MAX_LABELS // 4 else 2


def _count_labels() -> int:
    return len(caches.get_dataset(selection.get_source()).labels)


def choose_order() -> dict[str, Any]:
    """Show the controls of the lab about the order of labels."""
    order = st.segmented_control(
        "Order of the labels",
        list(ORDERS),
        default=CLUSTERED,
        required=True,
        key="labs.order",
        bind="query-params",
        help="Labels that share a row share the digit of the first head.",
    )
    return {"order": order or CLUSTERED}


def arrange_labels(order: str) -> LabResult:
    """Draw the labels of the dataset on a grid of two heads."""
    from xcwork.viz.structures import draw_head_grid

    n_labels = _count_labels()
    doubt = ""
    if order == CLUSTERED and n_labels > MAX_CLUSTERED_LABELS:
        order, doubt = RANDOM, f" Clustering more than {MAX_CLUSTERED_LABELS:,} labels would take too long here."
    grid, alike = _arrange_labels(selection.get_source(), selection.get_source().make_stamp(), ORDERS[order])
    chart = draw_head_grid(
        grid,
        title="Training documents of each label (logarithm)",
        value="log10(1 + documents)",
        rows="first head",
        columns="second head",
    )
    return LabResult(
        chart,
        f"{order}, labels that share the first digit have a mean cosine of **{alike:.3f}**.{doubt} Similar labels in "
        "one row help the first head, which tells rows apart, and make it harder for the second. The paper reads "
        "theorem 3 so that a model large enough to overfit needs no clusters (figure 9).",
    )


def _find_cosine_change() -> int:
    source = selection.get_source()
    if _count_labels() > MAX_CLUSTERED_LABELS:
        return 1
    clustered, random = (_arrange_labels(source, source.make_stamp(), order)[1] for order in ORDERS.values())
    return 1 if abs(random - clustered) < CLEAR_COSINE else 0 if random > clustered else 2


@st.cache_data(max_entries=10, show_spinner="Ordering the labels …")
def _arrange_labels(source: Source, stamp: str, order: str) -> tuple[np.ndarray, float]:
    """Return (the grid of label frequencies, the mean cosine of labels in one row)."""
    from xcwork.methods.multihead.codes import MixedRadix, choose_even_heads
    from xcwork.methods.multihead.label_order import order_labels
    from xcwork.sparse import normalise_rows

    train = caches.get_dataset(source).train
    lengths = choose_even_heads(train.n_labels, 2)
    placed = order_labels(train, order, group_size=lengths[1], seed=0)
    digits = MixedRadix(lengths, train.n_labels).split_codes(np.arange(train.n_labels))
    grid = np.full(lengths, np.nan)
    grid[digits[:, 0], digits[:, 1]] = np.log10(1 + train.label_frequencies[placed])
    centres = normalise_rows((train.Y.T @ train.X).tocsr())
    sums, pairs = 0.0, 0
    for row in range(lengths[0]):
        some = centres[placed[digits[:, 0] == row]]
        total = np.asarray(some.sum(axis=0)).ravel()
        known = int((np.diff(some.indptr) > 0).sum())
        sums += float(total @ total) - known
        pairs += known * (known - 1)
    return grid, sums / max(pairs, 1)


LABS = {
    "codes": Lab(
        "Label codes",
        "A few short heads do the work of one long output layer.",
        "Multi-head encoding, equation 10 and theorem 1",
        choose_heads,
        count_outputs,
        Prediction(
            "A million labels, two heads of equal length. How many outputs?",
            ("2,000", "50,000", "500,000"),
            {"labs.n": MAX_LABELS, "labs.n_heads": USUAL_HEADS, "labs.heads": ""},
            _find_range,
        ),
    ),
    "order": Lab(
        "Order of labels",
        "Similar labels in one row give the first head a question it can answer.",
        "Multi-head encoding, theorem 3 and figure 9",
        choose_order,
        arrange_labels,
        Prediction(
            "The labels are put in random order. How alike are those of one row?",
            ("More alike", f"As before, within {CLEAR_COSINE:g}", "Less alike"),
            {"labs.order": RANDOM},
            _find_cosine_change,
        ),
    ),
}
