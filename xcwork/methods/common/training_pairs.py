"""The (document, label) pairs that refinement learns from: the shortlist, with its mistakes as negatives."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.topk import MISSING, TopK
from xcwork.sparse import keep_entries, pack_rows, replace_values, sort_entries


def collect_training_pairs(
    shortlist: TopK, Y: sparse.csr_array, add_missed: bool, forbidden: np.ndarray | None = None
) -> sparse.csr_array:
    """Return +1 for relevant pairs and -1 for the others on the shortlist, (n_documents, n_labels) int8.

    Relevant pairs that the shortlist missed join in with `add_missed`. The (document, label) pairs in `forbidden` (n,
    2) are never predicted, often because a document would match itself, so they must not teach anything either.
    """
    if forbidden is not None:
        shortlist = shortlist.drop_pairs(forbidden)
    listed = pack_rows(shortlist.ids, np.ones(shortlist.ids.shape, np.int8), shortlist.ids != MISSING, Y.shape[1])
    relevant = replace_values(Y, np.full(Y.nnz, 3, np.int8))
    # 1 listed but wrong, 3 relevant but missed, 4 listed and relevant
    both = sort_entries(sparse.csr_array(listed + relevant))
    if not add_missed:
        both = keep_entries(both, both.data != 3)
    return replace_values(both, np.where(both.data == 1, -1, 1).astype(np.int8))
