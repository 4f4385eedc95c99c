"""Lab: labels as short codes. Mixed radix, the grid of two heads, and what the confusion degree says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.views import selection

if TYPE_CHECKING:
    import pandas as pd
    from xcwork_app.sources import Source

    from xcwork.methods.multihead.codes import MixedRadix

TABLE_LABELS = 50
MAX_LABELS = 1_000_000
ORDERS = {"cluster": "clustered", "random": "at random"}
MAX_CLUSTERED_LABELS = 20_000


def show() -> None:
    """Show heads for a number of labels, their codes, and the labels of the dataset on the grid."""
    from xcwork.methods.multihead.codes import (
        MixedRadix,
        check_heads,
        choose_even_heads,
        compute_confusion_degree,
        parse_heads,
    )

    left, right = st.columns(2, gap="large")
    with left, st.container():
        widgets.show_section("From a label to digits")
        n_labels = st.number_input(
            "Labels", 4, MAX_LABELS, len(caches.get_dataset(selection.get_source()).labels), key="labs.n"
        )
        usual = ",".join(map(str, choose_even_heads(n_labels, 2)))
        text = st.text_input(
            "Lengths of the heads",
            usual,
            key=f"labs.heads.{n_labels}",
            help="Their product must reach the number of labels. A flat classifier is one head of that length.",
        )
        lengths = check_heads(parse_heads(text), n_labels)
        widgets.show_metrics(
            (
                ("Outputs", f"{sum(lengths):,}", f"Instead of {n_labels:,} of a flat classifier."),
                ("Times fewer", f"{n_labels / sum(lengths):,.0f}", None),
                ("Unused codes", f"{math.prod(lengths) - n_labels:,}", "They are never predicted."),
                (
                    "Confusion degree",
                    f"{compute_confusion_degree(lengths):,.2f}",
                    "Small is good: few labels share a digit.",
                ),
            )
        )
        widgets.show_table(
            _tabulate_digits(MixedRadix(lengths, n_labels)),
            key="labs.codes",
            name="codes",
            height=320,
            alt="Labels and their digits, one column per head",
        )
    with right, st.container():
        _show_grid()


def _tabulate_digits(radix: MixedRadix) -> pd.DataFrame:
    import pandas as pd

    labels = np.unique(np.linspace(0, radix.n_labels - 1, TABLE_LABELS).astype(np.int64))
    digits = radix.digits(labels)
    return pd.DataFrame({"label": labels} | {f"head {i + 1}": digits[:, i] for i in range(digits.shape[1])})


def _show_grid() -> None:
    from xcwork.viz.structures import head_grid_figure

    widgets.show_section("The labels of this dataset on a grid of two heads")
    n_labels = len(caches.get_dataset(selection.get_source()).labels)
    order = st.segmented_control(
        "Order of labels",
        list(ORDERS),
        default="cluster",
        required=True,
        format_func=ORDERS.__getitem__,
        key="labs.order",
        help="Labels that share a row share the digit of the first head.",
    )
    if order == "cluster" and n_labels > MAX_CLUSTERED_LABELS:
        st.caption(
            f"Clustering more than {MAX_CLUSTERED_LABELS:,} labels takes too long here; they are put in random order."
        )
        order = "random"
    grid, alike = _arrange_labels(selection.get_source(), selection.get_source().stamp(), order)
    figure = head_grid_figure(
        grid,
        title="Training documents of each label (logarithm)",
        value="log10(1 + documents)",
        rows="first head",
        columns="second head",
    )
    widgets.show_figure(figure, key="labs.grid", name="head-grid")
    st.caption(
        f"Mean cosine of labels that share the first digit: {alike:.3f}. Clusters put similar labels into a row, so "
        "that the first head has a question it can answer."
    )


@st.cache_data(max_entries=10, show_spinner="Ordering the labels …")
def _arrange_labels(source: Source, stamp: str, order: str) -> tuple[np.ndarray, float]:
    """Return (the grid of label frequencies, the mean cosine of labels in one row)."""
    from xcwork.methods.multihead.codes import MixedRadix, choose_even_heads
    from xcwork.methods.multihead.label_order import order_labels
    from xcwork.sparse import normalise_rows

    train = caches.get_dataset(source).train
    lengths = choose_even_heads(train.n_labels, 2)
    placed = order_labels(train, order, group_size=lengths[1], seed=0)
    digits = MixedRadix(lengths, train.n_labels).digits(np.arange(train.n_labels))
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
