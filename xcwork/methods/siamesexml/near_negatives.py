"""The negatives of module IV that are near enough to count, found on an accelerator.

What a choice needs is there already: classifiers and encoder are learned there, documents and their negatives are sent
once per training. A choice then sends nothing, and what it found comes back with the losses of the epoch before it, a
bit per negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy import sparse
from torch.nn import functional as F

from xcwork.compute.device import raise_precision
from xcwork.compute.device_memory import run_in_parts
from xcwork.compute.transfer import send_arrays
from xcwork.core.topk import MISSING
from xcwork.kernels.tensor_rows import MAX_DENSE_NUMBERS, TensorRows
from xcwork.methods.siamesexml.encoder import Encoder

BITS = 8  # of a byte
BYTES_PER_WORD = 12  # of a document on the device: its value and its column


@dataclass(frozen=True, eq=False)
class StoredNegatives:
    """Documents and their negatives on a device."""

    encoder: Encoder
    negatives: torch.Tensor  # (n_documents, n) int32, -1 for none
    f: torch.Tensor | None  # (n_documents, dimension); None where tokens are learned, so that they change
    words: TensorRows | None  # (n_documents, n_tokens), in that case

    @classmethod
    def from_documents(
        cls, encoder: Encoder, X: sparse.csr_array, f: np.ndarray | None, negatives: np.ndarray
    ) -> StoredNegatives:
        """Copy everything to the device of `encoder`."""
        if f is not None:
            listed, embedded = send_arrays(encoder.device, negatives, f)
            return cls(encoder, listed, embedded, None)
        (listed,) = send_arrays(encoder.device, negatives)
        return cls(encoder, listed, None, TensorRows.from_csr(X, encoder.device))

    @torch.no_grad()
    def find_near(self, classifiers: torch.Tensor, lowest: float) -> torch.Tensor:
        """Return which negatives of each document have a cosine above `lowest`, packed as by `numpy.packbits`."""
        n_documents, n_listed = self.negatives.shape
        size = max(1, MAX_DENSE_NUMBERS // (len(classifiers) + 4 * n_listed))
        transposed = classifiers.T.contiguous()
        found: list[torch.Tensor] = []
        for first in range(0, n_documents, size):
            n = min(size, n_documents - first)
            compare = partial(self._compare, transposed, lowest, first)
            found += run_in_parts(n, compare, self.encoder.device.type, "documents")
        return torch.cat(found)

    def _compare(self, classifiers: torch.Tensor, lowest: float, first: int, part: slice) -> torch.Tensor:
        some = slice(first + part.start, first + part.stop)
        ids = self.negatives[some].long()
        x = self.encoder.residual(raise_precision(self._embed(some))).float()
        cosines = (x @ classifiers).gather(1, ids.clamp_min(0))
        return pack_bits((ids != MISSING) & (cosines > lowest))

    def _embed(self, some: slice) -> torch.Tensor:
        """Return f of some documents."""
        if self.f is not None:
            return self.f[some]
        assert self.words is not None
        return self.encoder.activate(raise_precision(self.words.cut(some) @ self.encoder.table)).float()


def pack_bits(marks: torch.Tensor) -> torch.Tensor:
    """Return a bit for each of `marks` (n, k) bool, (n, ⌈k / 8⌉) uint8."""
    n, k = marks.shape
    whole = F.pad(marks, (0, -k % BITS)).view(n, -1, BITS).to(torch.uint8)
    return (whole << torch.arange(BITS - 1, -1, -1, device=marks.device, dtype=torch.uint8)).sum(-1, dtype=torch.uint8)


def unpack_negatives(packed: np.ndarray, negatives: np.ndarray) -> np.ndarray:
    """Return the negatives that `packed` marks, (n_documents, fewer), -1 for none."""
    is_near = np.unpackbits(packed, axis=1, count=negatives.shape[1]).astype(bool)
    return gather_marked(negatives[is_near], is_near.sum(axis=1))


def gather_marked(ids: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return rows of `counts` ids each, which are listed one row after the other, -1 behind them."""
    rows = np.full((len(counts), int(counts.max(initial=0))), MISSING, np.int32)
    rows[np.arange(rows.shape[1]) < counts[:, None]] = ids
    return rows


def estimate_stored_bytes(n_documents: int, n_listed: int, n_entries: int, width: int) -> int:
    """Return what negatives take with their documents, which have `n_entries` words or else are embedded."""
    return 4 * n_listed * n_documents + (BYTES_PER_WORD * n_entries if n_entries else 4 * width * n_documents)
