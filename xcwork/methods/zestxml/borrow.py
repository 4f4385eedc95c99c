"""What an unseen label borrows: terms from the documents of seen labels whose texts resemble its own.

The text of a label is a few words, its documents have many. An unseen label has no documents, but labels with a similar
text do, so its terms are extended by theirs (Rocchio's relevance feedback, with the label as the query):

    z'_l = z_l + share * b_l,    b_l = Σ_s a_ls μ_s,    a_ls = cos(z_l, z_s) / Σ_s cos(z_l, z_s)

over the `LENDERS_PER_LABEL` seen labels s most like l. μ_s is the mean document of s with its `TERMS_PER_LABEL` largest
terms, among the terms that label texts use. A borrowed term counts as an exact match, like a term of the label's own;
nothing memorised of a seen label goes with it.

How much to borrow is learned from labels that stand in for unseen ones (see `stand_ins`). They borrow just like unseen
ones, and documents that have one lend them nothing, so what is measured on them holds for labels nobody has seen.

Cost: three sparse products, of which only the largest entries of each row are kept.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.topk import TopK
from xcwork.progress import track
from xcwork.search import top_k_product
from xcwork.sparse import fill_with_ones, keep_entries, normalise_rows, replace_values

LENDERS_PER_LABEL = 10  # seen labels from which a label borrows
TERMS_PER_LABEL = 100  # of a typical document, and borrowed at most
ROWS_PER_BLOCK = 4096


def find_typical_terms(X: sparse.csr_array, Y: sparse.csr_array, matches: sparse.csr_array) -> sparse.csr_array:
    """Return the mean document of every label, (n_labels, n_label_features); empty for labels without a document.

    `matches` (n_features, n_label_features) has an entry where a document feature and a label feature are one term.
    """
    same_term = fill_with_ones(matches)
    return normalise_rows(
        multiply_keeping_largest(sparse.csr_array(Y.T), sparse.csr_array(X @ same_term), TERMS_PER_LABEL)
    )


def find_borrowed_terms(Z: sparse.csr_array, borrowers: np.ndarray, typical: sparse.csr_array) -> sparse.csr_array:
    """Return b_l for the labels `borrowers`, (n_labels, n_label_features); nothing for all others."""
    lenders = np.flatnonzero(np.diff(typical.indptr))
    alike = multiply_keeping_largest(
        Z[borrowers], sparse.csr_array(Z[lenders].T), LENDERS_PER_LABEL
    )  # (n_borrowers, n_lenders)
    alike = keep_entries(alike, alike.data > 0)
    total = np.repeat(np.asarray(alike.sum(axis=1)).ravel(), np.diff(alike.indptr))
    alike = replace_values(alike, alike.data / total)
    n_terms = np.zeros(Z.shape[0], np.int64)
    found = multiply_keeping_largest(alike, typical[lenders], TERMS_PER_LABEL)
    n_terms[borrowers] = np.diff(found.indptr)  # borrowers ascend, so their rows stay in this order
    indptr = np.concatenate([[0], np.cumsum(n_terms)])
    return sparse.csr_array((found.data, found.indices, indptr), shape=Z.shape)


def multiply_keeping_largest(a: sparse.csr_array, b: sparse.csr_array, k: int) -> sparse.csr_array:
    """Return a @ b with the k largest entries of each row."""
    if a.nnz == 0 or b.nnz == 0:
        return sparse.csr_array((a.shape[0], b.shape[1]), dtype=np.float32)
    starts = range(0, a.shape[0], ROWS_PER_BLOCK)
    blocks = [top_k_product(a[at : at + ROWS_PER_BLOCK], b, k) for at in track(starts, "borrowing terms")]
    return TopK.concatenate(blocks).to_csr(b.shape[1])
