"""Fingerprints: short hashes of everything that a training or an evaluation can depend on.

Each value is hashed with its kind and its length, so two different values never become the same bytes: `["a\\nb"]` and
`["a", "b"]` have different fingerprints, and so have None and an empty list. Objects that know their fingerprint
contribute it, so labels and features that two splits share are hashed once.

A fingerprint starts with the version of this definition. Version 1, without such a prefix, knew the matrices, the label
names and the training groups only; runs recorded it, so `compute_first_fingerprint` still computes it for comparison.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.storage.mapped_arrays import split_pieces

VERSION_PREFIX = "2-"


def hash_content(value: Any) -> str:
    """Return the fingerprint of a value made of texts, numbers, arrays, CSR matrices, lists and mappings."""
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, value)
    return VERSION_PREFIX + digest.hexdigest()


def may_match(one: str | None, other: str | None) -> bool:
    """Return whether two recorded fingerprints may be of the same data: equal ones, or ones of different versions."""
    return one == other or len({str(each).startswith(VERSION_PREFIX) for each in (one, other) if each is not None}) == 2


def _add(digest: hashlib.blake2b, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        _add_header(digest, "none", 0)
    elif isinstance(value, str):
        _add_texts(digest, "text", [value])
    elif isinstance(value, bool | int | float):
        _add_texts(digest, type(value).__name__, [repr(value)])
    elif isinstance(value, np.ndarray):
        _add_header(digest, value.dtype.str, *value.shape)
        for piece in split_pieces(value):
            digest.update(piece.view(np.uint8).data)
    elif isinstance(value, sparse.csr_array):
        _add_header(digest, "csr", *value.shape)
        for part in (value.data, value.indices, value.indptr):
            _add(digest, part)
    elif isinstance(value, Mapping):
        names = sorted(value)
        _add_texts(digest, "mapping", names)
        for name in names:
            _add(digest, value[name])
    elif isinstance(value, list | tuple):
        if all(isinstance(item, str) for item in value):
            _add_texts(digest, "texts", value)
        else:
            _add_header(digest, "list", len(value))
            for item in value:
                _add(digest, item)
    else:
        _add(digest, value.fingerprint)


def _add_header(digest: hashlib.blake2b, kind: str, *sizes: int) -> None:
    digest.update(f"{kind} {sizes} ".encode())


def _add_texts(digest: hashlib.blake2b, kind: str, texts: Iterable[str]) -> None:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    _add_header(digest, kind, len(encoded))
    digest.update(np.fromiter(map(len, encoded), np.int64, len(encoded)).data)
    digest.update(b"".join(encoded))
