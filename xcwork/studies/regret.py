"""What a shortlist loses when small weights are left out: theorem 1.2 of ZestXML, measured on a dataset.

Let W be the closed-form weights and W_ε those that are at least ε. The label that W_ε ranks first may not be the best
one under W; the regret of a document is the score that is lost by taking it. As nothing here is negative,

    regret(x) = max_l x' W z_l - x' W z_best(W_ε)  ≤  ε * sum(x) * max_l sum(z_l)

The bound is far from tight: small weights seldom decide which label is first. That is why a shortlister may look at a
small part of the weights.

Cost: one sparse product per value of ε for the documents that are looked at.

Reference: Gupta et al., Generalized zero-shot extreme multi-label learning, KDD 2021, theorem 1.2 of the appendix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.errors import DataError
from xcwork.methods.zestxml.xhtp import find_pairs
from xcwork.progress import track
from xcwork.sparse import keep_entries

if TYPE_CHECKING:
    import pandas as pd

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


def compute_regret_curve(
    dataset: Dataset,
    epsilons: Sequence[float] = EPSILONS,
    *,
    pairs: int = 40,
    blend: float = 0.02,
    most: int = 300,
    seed: int = 0,
) -> pd.DataFrame:
    """Return one row per epsilon: mean and largest regret of `most` test documents, and the mean bound.

    `kept` and `same_first` are percentages: of the weights, and of the documents whose first label does not change.
    """
    import pandas as pd

    Z = dataset.labels.Z
    if Z is None:
        raise DataError("the labels of this dataset have no text", remedy="load it with a labels file")
    test, n = dataset.test, min(most, len(dataset.test))
    X = test.X[np.sort(np.random.default_rng(seed).choice(len(test), n, replace=False))]
    W = find_pairs(dataset.train.X, dataset.train.Y, Z, keep=pairs, blend=blend).voters
    exact = _compute_scores(X, W, Z)
    # ε times this is the bound; sparse sums may come as matrices of one column.
    reach = np.asarray(X.sum(axis=1)).ravel() * np.asarray(Z.sum(axis=1)).max(initial=0)
    rows = []
    for epsilon in track(epsilons, "leaving out weights"):
        first = _compute_scores(X, keep_entries(W, W.data >= epsilon), Z).argmax(axis=1)
        regret = exact.max(axis=1) - exact[np.arange(n), first]
        rows.append(
            {
                "epsilon": epsilon,
                "mean_regret": regret.mean(),
                "largest_regret": regret.max(),
                "mean_bound": (epsilon * reach).mean(),
                "mean_best_score": exact.max(axis=1).mean(),
                "kept": 100.0 * np.count_nonzero(W.data >= epsilon) / max(W.nnz, 1),
                "same_first": 100.0 * np.mean(regret == 0),
                "broken": int((regret > epsilon * reach + 1e-6).sum()),
            }
        )
    return pd.DataFrame(rows)


def _compute_scores(X: sparse.csr_array, W: sparse.csr_array, Z: sparse.csr_array) -> np.ndarray:
    return (X @ W @ Z.T).toarray()  # (n, n_labels)
