"""How much of a device linear machines take: decided without torch, so that it can be said before a training.

`xcwork.kernels.tensor_machines` has the mathematics, `xcwork.methods.common.linear_machines` trains.
"""

from __future__ import annotations

MAX_DOCUMENTS_PER_TERM = 25  # for each term of one: with more, two sparse products are shorter than one with K
MAX_GRAM_DOCUMENTS = 8192  # whose K takes 256 MB
BLOCK_BYTES = 2**29  # of the tensors of a block of labels
TENSORS_PER_BLOCK = 20  # of the size of the pairs, while a block is solved
TENSORS_OF_WEIGHTS_PER_BLOCK = 3  # of the size of the weights
MAX_LABELS_PER_BLOCK = 256
MAX_ENTRIES_PER_BLOCK = 2**23  # of documents that labels have of their own
BYTES_PER_ENTRY = 80  # of these: keys, values and places, by document and by weight
BYTES_PER_STORED_ENTRY = 40  # of documents: value, column and row, by document and by feature


def keeps_gram(n_documents: int, n_entries: int) -> bool:
    """Return whether the inner products of all pairs of documents are kept."""
    return n_documents <= MAX_GRAM_DOCUMENTS and n_documents**2 <= MAX_DOCUMENTS_PER_TERM * n_entries


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
    gram = 4 * n_documents**2 if keeps_gram(n_documents, n_entries) else 0
    block = count_block_labels(n_documents, n_features, n_labels) * count_bytes_per_label(n_documents, n_features)
    return stored + gram + block


def estimate_own_bytes(n_entries: int, n_own_entries: int) -> int:
    """Return about what machines take whose labels have documents of their own, with so many entries altogether."""
    return BYTES_PER_STORED_ENTRY * n_entries + BYTES_PER_ENTRY * min(n_own_entries, MAX_ENTRIES_PER_BLOCK)
