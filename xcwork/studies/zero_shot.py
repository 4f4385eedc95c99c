"""Generalised zero-shot learning on any dataset: labels are hidden from training, and looked for all the same.

`hide_labels` removes every pair of a share of the labels from training, so that they are known by their text alone.
Documents stay, with the labels that are left: those of a real archive have other labels, too, when a new one comes up.
The test split is as it was, so a method is asked for all labels at once, hidden ones and others.

Reference: Gupta et al., Generalized zero-shot extreme multi-label learning, KDD 2021, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.errors import ConfigError
from xcwork.methods.registry import create
from xcwork.metrics.report import evaluate
from xcwork.progress import track
from xcwork.sparse import drop_zeros

if TYPE_CHECKING:
    import pandas as pd

SHARES = (0.1, 0.3, 0.5)


def hide_labels(dataset: Dataset, share: float, seed: int = 0) -> Dataset:
    """Return the dataset without the training pairs of a random `share` of the labels that have training documents."""
    if not 0 <= share < 1:
        raise ConfigError(f"the share of labels to hide must be at least 0 and below 1, got {share}")
    seen = np.flatnonzero(dataset.train.label_frequencies)
    hidden = np.random.default_rng((seed, 13)).permutation(seen)[: round(share * len(seen))]
    keep = np.ones(dataset.train.n_labels, np.float32)
    keep[hidden] = 0
    Y = drop_zeros(sparse.csr_array(dataset.train.Y @ sparse.diags_array(keep)))
    return replace(dataset, train=replace(dataset.train, Y=Y))


def compare_hidden_shares(
    dataset: Dataset, methods: Sequence[str], *, shares: Sequence[float] = SHARES, seed: int = 0, **params: Any
) -> pd.DataFrame:
    """Return the precision of each method on all labels and on hidden ones alone, for each share of hidden labels."""
    import pandas as pd

    rows = []
    for share, method in track([(share, method) for share in shares for method in methods], "hiding labels"):
        with_hidden = hide_labels(dataset, share, seed)
        report = evaluate(create(method, seed=seed, **params).fit(with_hidden.train), with_hidden, k=5)
        row = {"hidden": share, "method": method}
        row |= {name: report.metrics[name] for name in ("P@1", "P@5", "PSP@5")}
        rows.append(row | {f"unseen {name}": report.unseen.get(name) for name in ("P@1", "P@5")})
    return pd.DataFrame(rows)
