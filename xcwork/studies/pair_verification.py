"""What a classifier's features are good for where its classes do not occur: verifying pairs in the open.

Multi-head sampling is meant for pretraining: a classifier over very many classes is trained, thrown away, and the
features below it compare documents of classes that it has never seen, such as faces. Two documents are a true pair if
they share a label. Their cosine decides: the area under the curve says how often a true pair is above a false one, and
the true acceptance rate how many true pairs are found where one false pair in a hundred is accepted.

`split_labels` puts some labels aside, so that the classes of the test documents are unknown to training.

Reference: Liang et al., Multi-head encoding, TPAMI 2025, section 6.3 and table 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.methods.base import Method
from xcwork.methods.multihead.prediction import iterate_features
from xcwork.methods.registry import create
from xcwork.progress import track
from xcwork.sparse import normalise_rows
from xcwork.studies.multihead import get_model

if TYPE_CHECKING:
    import pandas as pd

FALSE_ACCEPTANCE = 0.01
N_PAIRS = 5000


def split_labels(split: Split, share: float, seed: int = 0) -> tuple[Split, Split]:
    """Return (documents without any of the labels put aside, documents with nothing but such labels)."""
    aside = np.random.default_rng((seed, 17)).permutation(split.n_labels)[: max(2, round(share * split.n_labels))]
    is_aside = np.zeros(split.n_labels, np.float32)
    is_aside[aside] = 1
    counts, n_labels = split.Y @ is_aside, np.diff(split.Y.indptr)
    return split.take((counts == 0) & (n_labels > 0)), split.take((counts == n_labels) & (n_labels > 0))


@torch.no_grad()
def embed_documents(method: Method, split: Split) -> np.ndarray:
    """Return the features below the heads of a multi-head method, rows of length one (n_documents, width)."""
    model = get_model(method)
    features = torch.cat(list(iterate_features(model.network, model.read_split(split))))[: len(split)]
    return normalise_rows(features.cpu().numpy())


def draw_pairs(split: Split, n_pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of different documents (n, 2), half of them true, and whether each is true."""
    rng = np.random.default_rng((seed, 19))
    Y = split.Y.tocsc()
    counts = np.diff(Y.indptr)
    common = np.flatnonzero(counts > 1)
    if len(common) == 0:
        raise DataError("no two documents share a label, so there is no true pair", remedy="use more documents")
    label = rng.choice(common, n_pairs // 2)
    first = rng.integers(counts[label])
    second = (first + 1 + rng.integers(counts[label] - 1)) % counts[label]
    true = Y.indices[np.column_stack([Y.indptr[label] + first, Y.indptr[label] + second])]
    drawn = rng.integers(len(split), size=(2 * n_pairs, 2))
    shared = np.asarray(split.Y[drawn[:, 0]].multiply(split.Y[drawn[:, 1]]).sum(axis=1)).ravel()
    false = drawn[(shared == 0) & (drawn[:, 0] != drawn[:, 1])][: len(true)]
    return np.vstack([true, false]), np.repeat([True, False], [len(true), len(false)])


def measure_verification(cosine: np.ndarray, is_true: np.ndarray) -> dict[str, float]:
    """Return the area under the curve and the true acceptance rate of the cosines of pairs, in percent."""
    from sklearn.metrics import roc_auc_score

    threshold = np.quantile(cosine[~is_true], 1 - FALSE_ACCEPTANCE)
    return {
        "AUC": 100 * float(roc_auc_score(is_true, cosine)),
        "true acceptance": 100 * float((cosine[is_true] > threshold).mean()),
    }


def compare_pretraining(
    split: Split,
    *,
    methods: Sequence[str] = ("flat", "mhs"),
    share: float = 0.3,
    n_pairs: int = N_PAIRS,
    seeds: Sequence[int] = (0,),
    **params: Any,
) -> pd.DataFrame:
    """Return how well features that were learned without some labels verify pairs of documents of those labels.

    The documents themselves, cosines of their rows without any training, are the first row of every seed.
    """
    import pandas as pd

    rows = []
    for seed in track(seeds, "verifying pairs"):
        known, unknown = split_labels(split, share, seed)
        pairs, is_true = draw_pairs(unknown, n_pairs, seed)
        plain = normalise_rows(unknown.X)
        cosine = np.asarray(plain[pairs[:, 0]].multiply(plain[pairs[:, 1]]).sum(axis=1)).ravel()
        rows.append({"features": "none", "seed": seed} | measure_verification(cosine, is_true))
        for method in methods:
            embedded = embed_documents(create(method, seed=seed, **params).fit(known), unknown)
            cosine = np.einsum("nd,nd->n", embedded[pairs[:, 0]], embedded[pairs[:, 1]])
            rows.append({"features": method, "seed": seed} | measure_verification(cosine, is_true))
    return pd.DataFrame(rows)
