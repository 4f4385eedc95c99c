"""Hashes of documents that are the same on every machine: for splitting by hash and for finding duplicates.

The hash of a feature row is the mixed sum of the hashes of its (column, value) entries, so it is one vectorised pass
over the matrix. Two different documents among a million share a hash with a probability of about 3e-8.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from xcwork.core.bit_mixing import mix_bits

ENTRIES_PER_BLOCK = 2**22


def hash_rows(matrix: sparse.csr_array) -> np.ndarray:
    """Return one uint64 per row; an empty row has the hash of nothing, the same for all."""
    lengths = np.diff(matrix.indptr)
    sums = np.zeros(matrix.shape[0], np.uint64)
    # Blocks of rows with a bounded number of entries, because an entry needs 8 bytes for its hash.
    row = 0
    while row < matrix.shape[0]:
        end = int(np.searchsorted(matrix.indptr, matrix.indptr[row] + ENTRIES_PER_BLOCK, side="right")) - 1
        end = min(max(end, row + 1), matrix.shape[0])
        entries = slice(matrix.indptr[row], matrix.indptr[end])
        values = np.ascontiguousarray(matrix.data[entries], dtype=np.float32).view(np.uint32).astype(np.uint64)
        hashes = mix_bits(values << np.uint64(32) | matrix.indices[entries].astype(np.uint64))
        filled = np.flatnonzero(lengths[row:end])
        if len(filled):
            starts = matrix.indptr[row:end][filled] - matrix.indptr[row]
            sums[row + filled] = np.add.reduceat(hashes, starts)  # wraps around, as a hash may
        row = end
    return mix_bits(sums)


def hash_texts(texts: Sequence[str]) -> np.ndarray:
    """Return one uint64 per text."""
    digests = b"".join(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def hash_documents(
    *,
    X: sparse.csr_array | None = None,
    texts: Sequence[str] | None,
    uids: Sequence[str] | None,
    groups: Sequence[str] | None,
) -> np.ndarray:
    """Return the hash of each document's group, uid, text or features, whichever it has first."""
    keys = texts if uids is None else uids
    hashes = hash_rows(X) if keys is None else hash_texts(keys)
    if groups is None:
        return hashes
    return np.where(np.fromiter(map(bool, groups), bool, len(groups)), hash_texts(groups), hashes)
