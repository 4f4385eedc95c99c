"""Why a label has its score: what each term adds through each landmark, x_t · B[t, s] · Z[s, l], which is exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from xcwork.core.explanation import ANY_DOCUMENT, NO_TRAINING_DOCUMENT, Explanation, Family, Part
from xcwork.core.features import Features
from xcwork.methods.landmarks.prediction import LandmarkScorer
from xcwork.methods.landmarks.predictors import append_bias

OWN_REGRESSOR = "its own regressor"


def explain_label(
    scorer: LandmarkScorer, x: sparse.csr_array, label: int, features: Features, landmark_names: Sequence[str]
) -> Explanation:
    """Return what each term of the one document `x` adds to the score of `label`, through each landmark."""
    if not scorer.candidates[label]:
        return Explanation.from_parts([Part(ANY_DOCUMENT, NO_TRAINING_DOCUMENT, 0.0)])
    row = append_bias(x)
    terms = [*(features.get_name(term) for term in row.indices[:-1].tolist()), ANY_DOCUMENT]
    own = np.flatnonzero(scorer.own_labels == label)
    if len(own):
        shares = np.ones(1)
        sources = [OWN_REGRESSOR]
        weights = scorer.own[row.indices][:, own].toarray()  # (n_terms, 1)
    else:
        column = sparse.csc_array(scorer.decoder[:, [label]])
        shares = column.data
        sources = [landmark_names[s] for s in column.indices]
        weights = scorer.direct[row.indices][:, column.indices].toarray()  # (n_terms, n_sources)
    values = row.data[:, None].astype(np.float64) * weights * shares
    parts = [
        Part(
            terms[t],
            sources[s],
            float(values[t, s]),
            {"term_weight": float(weights[t, s]), "landmark_weight": float(shares[s])},
            Family.memorised if len(own) else Family.neighbours,
        )
        for t, s in zip(*np.nonzero(values), strict=True)
    ]
    return Explanation.from_parts(parts)
