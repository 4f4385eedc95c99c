"""Labels as short codes: exact mixed radix for single labels, bit slices for sets of labels.

Mixed radix. With heads of lengths h_1 … h_H, label y has one digit per head, the most significant first:

    y = Σ_k y_k Π_{j>k} h_j          57 with heads 4, 5, 5 is (2, 1, 2)

Where Π h exceeds the number of labels some codes are unused; nothing here ever returns one.

Bit slices. A set of labels is a number with one bit per label. It is never built, since 80 labels already exceed 64
bits: each head gets the value of b consecutive bits.

How long the heads should be. A head costs its length, and heads that share digits confuse labels that share them. The
confusion degree of the paper, with its index corrected, is

    D(h_1 … h_H) = Π_{k=2..H} (Π_{j≥k} h_j) / h_{k-1}

Parallel heads have no order, so the worst one counts and equal lengths are best. A cascade may choose its order, and
descending lengths are best. Among codes that are long enough, the cheapest is taken.

Reference: Liang et al., Multi-head encoding for extreme label classification, TPAMI 2025, sections 3.3, 4.1 and 4.4
(the label decomposition of algorithm 1 has mod and division exchanged; equation 10 is right and is what stands here).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from xcwork.errors import ConfigError

Lengths = tuple[int, ...]


def parse_heads(text: str) -> Lengths:
    """Return the lengths in a text such as "172,23"."""
    try:
        lengths = tuple(int(part) for part in text.replace(";", ",").replace(" ", ",").split(",") if part)
    except ValueError:
        raise ConfigError(f"heads must be lengths separated by commas, such as 172,23, got {text!r}") from None
    if len(lengths) < 2:
        raise ConfigError(f"heads needs at least two lengths, got {text!r}; for one head use the method flat")
    short = next((length for length in lengths if length < 2), None)
    if short is not None:
        raise ConfigError(f"a head of length {short} cannot tell labels apart; leave it out, lengths start at 2")
    return lengths


def check_heads(lengths: Lengths, n_labels: int) -> Lengths:
    """Return `lengths`, if they can code all labels."""
    codes = math.prod(lengths)
    if codes < n_labels:
        enough = ",".join(map(str, choose_even_heads(n_labels, len(lengths))))
        raise ConfigError(
            f"heads {','.join(map(str, lengths))} make {codes:,} codes, but there are {n_labels:,} labels; "
            f"use longer heads, such as {enough}, or leave heads empty to have them chosen"
        )
    return lengths


def compute_confusion_degree(lengths: Sequence[int], *, parallel: bool = False) -> float:
    """Return D of heads in this order; of parallel heads, which have none, the D of the worst order."""
    if parallel:
        lengths = sorted(lengths)  # the exponent of a length in D rises with its place, so this is the worst order
    tails = np.cumprod(np.asarray(lengths[::-1], np.float64))[::-1]  # Π_{j≥k} h_j
    return float(np.prod(tails[1:] / np.asarray(lengths[:-1], np.float64)))


def choose_even_heads(n_labels: int, n_heads: int) -> Lengths:
    """Return lengths that are as equal and as short as they can be: the choice for parallel heads."""
    length = max(2, math.ceil(n_labels ** (1 / n_heads)))
    while length > 2 and (length - 1) ** n_heads >= n_labels:  # the root of a float may be one too large
        length -= 1
    if length**n_heads < n_labels:
        length += 1
    longer = n_heads
    while longer > 0 and length > 2 and length ** (longer - 1) * (length - 1) ** (n_heads - longer + 1) >= n_labels:
        longer -= 1
    return (length,) * longer + (length - 1,) * (n_heads - longer)


def choose_cascade_heads(n_labels: int, n_heads: int, beam: int) -> Lengths:
    """Return descending lengths for a cascade that keeps `beam` prefixes per stage.

    A document then costs h_1 + beam · (h_2 + … + h_H), which is least where all terms are equal.
    """
    first = (n_labels * beam ** (n_heads - 1)) ** (1 / n_heads)
    later = max(2, round(first / beam))
    while later > 2 and later ** (n_heads - 1) * 2 > n_labels:
        later -= 1
    first_length = max(2, math.ceil(n_labels / later ** (n_heads - 1)))
    return tuple(sorted((first_length, *(later,) * (n_heads - 1)), reverse=True))  # rounding may have made it shorter


def choose_groups(n_labels: int, n_groups: int) -> Lengths:
    """Return groups and labels per group for about `n_groups` groups, with less than one group of padding."""
    size = max(2, math.ceil(n_labels / n_groups))
    return max(2, math.ceil(n_labels / size)), size


@dataclass(frozen=True)
class MixedRadix:
    """Codes 0 … n_labels - 1 as digits."""

    lengths: Lengths
    n_labels: int

    @property
    def places(self) -> np.ndarray:
        """The value of one step of each digit, (n_heads,)."""
        return np.append(np.cumprod(np.asarray(self.lengths[:0:-1], np.int64))[::-1], 1).astype(np.int64)

    @property
    def prefixes(self) -> Lengths:
        """How many prefixes of each number of digits are in use, the labels themselves last."""
        return tuple(-(-self.n_labels // int(place)) for place in self.places)

    def split_codes(self, codes: np.ndarray) -> np.ndarray:
        """Return the digits of `codes` (n,), (n, n_heads)."""
        return np.asarray(codes, np.int64)[..., None] // self.places % np.asarray(self.lengths, np.int64)

    def join_digits(self, digits: np.ndarray) -> np.ndarray:
        """Return the codes of `digits`, the inverse."""
        return np.asarray(digits, np.int64) @ self.places


@dataclass(frozen=True)
class BitSlices:
    """Sets of labels as one number of `bits` bits per head."""

    n_labels: int
    bits: int

    @property
    def n_heads(self) -> int:
        return -(-self.n_labels // self.bits)

    @property
    def length(self) -> int:
        """Codes of a head."""
        return 2**self.bits

    @property
    def members(self) -> np.ndarray:
        """Which labels of its slice each code contains, (length, bits)."""
        return (np.arange(self.length)[:, None] >> np.arange(self.bits)) & 1

    def encode_sets(self, Y: sparse.csr_array) -> np.ndarray:
        """Return the number of every head for the sets that are the rows of `Y`, (n, n_heads)."""
        codes = np.zeros((Y.shape[0], self.n_heads), np.int64)
        rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        heads, bits = np.divmod(Y.indices.astype(np.int64), self.bits)
        np.add.at(codes, (rows, heads), np.int64(1) << bits)
        return codes

    def decode_sets(self, codes: np.ndarray) -> sparse.csr_array:
        """Return the sets of `codes`, the inverse; bits beyond the labels are dropped."""
        flags = self.members[codes].reshape(len(codes), -1)[:, : self.n_labels]
        return sparse.csr_array(flags.astype(np.float32))

    def compute_marginals(self, probabilities: np.ndarray) -> np.ndarray:
        """Return how likely each label is (n, n_labels), from the probabilities (n, n_heads, length) of codes."""
        return (probabilities @ self.members.astype(probabilities.dtype)).reshape(len(probabilities), -1)[
            :, : self.n_labels
        ]
