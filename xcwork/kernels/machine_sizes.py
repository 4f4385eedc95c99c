"""How much of a device linear machines take: decided without torch, so that it can be said before a training.

`xcwork.kernels.tensor_machines` has the mathematics, `xcwork.methods.common.linear_machines` trains.
"""

from __future__ import annotations

MAX_DOCUMENTS_PER_TERM = 25  # for each term of one: with more, two sparse products are shorter than one with K
MAX_DOCUMENTS_PER_LABEL = 64  # of them as well: K is the work of half as many labels as documents, for one round
MAX_GRAM_DOCUMENTS = 8192  # whose K takes 256 MB
MIN_LABELS_PER_DOCUMENT = 0.04  # from which on a preconditioner, which is the work of as many labels, pays
MIN_DOCUMENTS_FOR_INVERSE = 256  # fewer are quickly solved in any case
BYTES_PER_INVERSE_NUMBER = 28  # of the inverse and what it is made of, in double precision
BLOCK_BYTES = 2**29  # of the tensors of a block of labels
TENSORS_PER_BLOCK = 20  # of the size of the pairs, while a block is solved
TENSORS_OF_WEIGHTS_PER_BLOCK = 3  # of the size of the weights
MAX_LABELS_PER_BLOCK = 256
MAX_ENTRIES_PER_BLOCK = 2**23  # of documents that labels have of their own
BYTES_PER_ENTRY = 80  # of these: keys, values and places, by document and by weight
BYTES_PER_STORED_ENTRY = 40  # of documents: value, column and row, by document and by feature


def keeps_gram(n_documents: int, n_entries: int, n_labels: int) -> bool:
    """Return whether the inner products of all pairs of documents are kept."""
    if n_documents > min(MAX_GRAM_DOCUMENTS, MAX_DOCUMENTS_PER_LABEL * n_labels):
        return False
    return n_documents**2 <= MAX_DOCUMENTS_PER_TERM * n_entries


def is_inverse_worthwhile(n_documents: int, n_labels: int) -> bool:
    """Return whether so many labels gain by a preconditioner, which is inverted once."""
    return n_documents >= MIN_DOCUMENTS_FOR_INVERSE and n_labels >= MIN_LABELS_PER_DOCUMENT * n_documents


def count_bytes_per_label(n_documents: int, n_features: int) -> int:
    """Return what a label takes while it is solved against all documents."""
    return 4 * (TENSORS_PER_BLOCK * n_documents + TENSORS_OF_WEIGHTS_PER_BLOCK * n_features)


def count_block_labels(n_documents: int, n_features: int, n_labels: int) -> int:
    """Return how many labels are solved together."""
    fitting = BLOCK_BYTES // count_bytes_per_label(n_documents, n_features)
    return max(1, min(fitting, MAX_LABELS_PER_BLOCK, n_labels))


def estimate_shared_bytes(n_documents: int, n_features: int, n_entries: int, n_labels: int) -> int:
    """Return about what machines take whose labels all have the same documents."""
    stored = BYTES_PER_STORED_ENTRY * (n_entries + n_documents)
    block = count_block_labels(n_documents, n_features, n_labels) * count_bytes_per_label(n_documents, n_features)
    if not keeps_gram(n_documents, n_entries, n_labels):
        return stored + block
    square = n_documents**2
    if not is_inverse_worthwhile(n_documents, n_labels):
        return stored + 4 * square + block
    return stored + max(8 * square + block, BYTES_PER_INVERSE_NUMBER * square)


def estimate_own_bytes(n_entries: int, n_own_entries: int) -> int:
    """Return about what machines take whose labels have documents of their own, with so many entries altogether."""
    return BYTES_PER_STORED_ENTRY * n_entries + BYTES_PER_ENTRY * min(n_own_entries, MAX_ENTRIES_PER_BLOCK)
