"""The weights of classifiers in three bytes each: the slot within its node, and a whole number times the slot's scale.

The largest weight of a slot becomes 32,767, so that rounding changes a margin by far less than training leaves open.
What is stored is what predicts and explains: there is no second, more exact form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from xcwork.kernels.tree_training import copy_rows, find_next_places

LARGEST_CODE = 32_767
MAX_NARROW_NODES = 2**16
MAX_NARROW_SLOTS = 2**8  # of a node
MAX_NARROW_WEIGHTS = 2**32


@dataclass(frozen=True)
class NodeClassifiers:
    """One linear classifier per slot, for the slots of one node."""

    features: np.ndarray  # (n_rows,) int32: the features that have a weight
    starts: np.ndarray  # (n_rows + 1,) int64: where the weights of each row start
    offsets: np.ndarray  # (n_weights,) uint8, or uint32 in a wide node: the slot
    codes: np.ndarray  # (n_weights,) int16
    scale: np.ndarray  # (n_slots,) float32
    bias: np.ndarray  # (n_slots,) float32

    @classmethod
    def from_weights(cls, features: np.ndarray, weights: sparse.csr_array, bias: np.ndarray) -> NodeClassifiers:
        """Round the weights (n_features, n_slots) of some features; those without a weight are left out."""
        slots = weights.indices
        largest = np.zeros(weights.shape[1], np.float32)
        np.maximum.at(largest, slots, np.abs(weights.data))
        scale = largest / np.float32(LARGEST_CODE)
        codes = np.rint(weights.data / np.where(scale > 0, scale, 1)[slots]).astype(np.int16)
        used = np.flatnonzero(np.diff(weights.indptr))
        starts = np.append(weights.indptr[used], weights.indptr[-1]).astype(np.int64)
        kind = np.uint8 if weights.shape[1] <= MAX_NARROW_SLOTS else np.uint32
        return cls(features[used], starts, slots.astype(kind), codes, scale, bias)


class PackedTypes(NamedTuple):
    """The types of the arrays of a forest, as kernels are compiled for them."""

    nodes: type[np.integer]
    starts: type[np.integer]
    offsets: type[np.integer]

    @classmethod
    def choose(cls, first_slot: np.ndarray, n_weights: int) -> PackedTypes:
        """Return the narrow types where all of them are enough, else the wide ones."""
        is_narrow = (
            len(first_slot) - 1 <= MAX_NARROW_NODES
            and np.diff(first_slot).max(initial=0) <= MAX_NARROW_SLOTS
            and n_weights < MAX_NARROW_WEIGHTS
        )
        return cls(np.uint16, np.uint32, np.uint8) if is_narrow else cls(np.uint32, np.int64, np.uint32)


class PackedRows(NamedTuple):
    """Rows of weights that belong to some nodes."""

    features: np.ndarray  # (n_rows,) int32
    nodes: np.ndarray | int  # (n_rows,), or the one node of all
    starts: np.ndarray  # (n_rows + 1,)
    offsets: np.ndarray  # (n_weights,)
    codes: np.ndarray  # (n_weights,) int16


def order_by_feature(parts: Sequence[PackedRows], n_features: int, first_slot: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of all parts in the order of the features; those of a feature stay in the order of the parts.

    Weights are written to their places, so that there is no further copy of all of them.
    """
    types = PackedTypes.choose(first_slot, sum(len(part.codes) for part in parts))
    n_rows_of = np.zeros(n_features, np.int64)
    for part in parts:
        np.add.at(n_rows_of, part.features, 1)
    first_row = find_starts(n_rows_of)
    nodes = np.empty(first_row[-1], types.nodes)
    lengths = np.empty(first_row[-1], np.int64)
    filled = first_row[:-1].copy()
    for part in parts:
        place = find_next_places(part.features, filled)
        nodes[place] = part.nodes
        lengths[place] = np.diff(part.starts)
    starts = find_starts(lengths).astype(types.starts)
    del lengths
    offsets = np.empty(starts[-1], types.offsets)
    codes = np.empty(starts[-1], np.int16)
    filled = first_row[:-1].copy()
    for part in parts:
        place = find_next_places(part.features, filled)
        copy_rows(
            part.starts.astype(np.int64), part.offsets.astype(types.offsets), part.codes, place, starts, offsets, codes
        )
    return {
        "first_row": first_row.astype(types.starts),
        "nodes": nodes,
        "starts": starts,
        "offsets": offsets,
        "codes": codes,
    }


def find_starts(sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return where each part starts, and where the last one ends: (n_parts + 1,) int64."""
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, dtype=np.int64, out=starts[1:])
    return starts


def shorten(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers that are not negative in as few bits as the largest of them takes."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
