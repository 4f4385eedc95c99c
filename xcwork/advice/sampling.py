"""Documents for a pilot: some are held out to measure on, the others are ordered so that every beginning is a sample.

The order is stratified: documents are sorted by how frequent their rarest label is and by that label, and then taken
from all parts of this list in turn (the bit-reversed sequence of van der Corput). So any number of documents from the
beginning has rare and frequent labels in the same proportions as all of them, and a larger sample contains a smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcwork.core.held_out import keep_groups_whole, number_groups
from xcwork.core.split import Split
from xcwork.decisions.held_out_documents import keeps_groups_whole
from xcwork.decisions.new_documents import split_rows

MAX_HELD_OUT_DOCUMENTS = 2_000
HELD_OUT_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class PilotSample:
    """Training documents in stratified order, and the documents to measure on."""

    train: Split
    held: Split
    order: np.ndarray  # rows of `train`

    def take(self, n_documents: int) -> Split:
        """Return the first documents of the order."""
        return self.train.take(np.sort(self.order[:n_documents]))


def draw_sample(train: Split, test: Split | None = None, *, seed: int = 0) -> PilotSample:
    """Return the documents of a pilot; groups are held out as a whole where new documents come in new groups."""
    rng = np.random.default_rng([seed, len(train)])
    size = max(1, min(MAX_HELD_OUT_DOCUMENTS, round(HELD_OUT_SHARE * len(train))))
    drawn = rng.permutation(len(train))[:size]
    if train.groups is not None and keeps_groups_whole(train, test):
        drawn = keep_groups_whole(drawn, number_groups(train.groups))
    rest, held = split_rows(train, drawn)
    labelled = np.flatnonzero(np.diff(held.Y.indptr) > 0)
    return PilotSample(rest, held.take(labelled), order_by_strata(rest, rng))


def order_by_strata(train: Split, rng: np.random.Generator) -> np.ndarray:
    """Return all rows in an order of which every beginning is a stratified sample."""
    n = len(train)
    rarest = np.full(n, -1, np.int64)
    lengths = np.diff(train.Y.indptr)
    filled = np.flatnonzero(lengths)
    if len(filled):
        # Labels by rank of frequency, so that the smallest rank in a row is its rarest label.
        by_frequency = np.argsort(np.argsort(train.label_frequencies, kind="stable"), kind="stable")
        rarest[filled] = np.minimum.reduceat(by_frequency[train.Y.indices], train.Y.indptr[filled])
    in_strata = np.lexsort((rng.random(n), rarest))
    bits = max(1, int(n - 1).bit_length())
    places = np.arange(n, dtype=np.int64)
    reversed_places = np.zeros(n, np.int64)
    for bit in range(bits):
        reversed_places |= ((places >> bit) & 1) << (bits - 1 - bit)
    return in_strata[np.argsort(reversed_places, kind="stable")]
