"""Embeddings of texts, kept beside the cache of a dataset: one file per state of its files and encoder.

A file holds a hash of 16 bytes for every text, in order, and its vector in half precision. A text is found by its hash,
so any split and any sample of the dataset finds its own rows; what is missing is added. The file is mapped, replaced in
one step, and dropped with everything else that is cached of the dataset. A damaged file counts as none, and a folder
that cannot be written is only worth a line in the log.
"""

from __future__ import annotations

import glob
import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xcwork.storage.atomic import DAMAGE_ERRORS, create_file
from xcwork.storage.mapped_arrays import map_arrays, write_arrays

MARK = "embeddings"  # in the names of the files
KEY_BYTES = 16
log = logging.getLogger(__name__)


def hash_texts(texts: Sequence[str]) -> np.ndarray:
    """Return a hash of each text, (n,) of 16 bytes each."""
    digests = [hashlib.blake2b(t.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest() for t in texts]
    return np.frombuffer(b"".join(digests), f"S{KEY_BYTES}")


@dataclass(frozen=True)
class EmbeddingCache:
    """Where the embeddings of a dataset are kept."""

    folder: Path
    prefix: str  # of everything that is cached of the dataset
    state: str  # of its files; embeddings of an earlier state go when new ones come

    def locate(self, encoder: str) -> Path:
        """Return the file of an encoder, which is named by its hash."""
        return self.folder / f"{self.prefix}-{MARK}-{self.state}-{encoder}.safetensors"

    def read(self, encoder: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the hashes, ascending, and the vectors (n, dimension) float16 of an encoder, mapped; None: none."""
        path = self.locate(encoder)
        if not path.is_file():
            return None
        try:
            arrays = map_arrays(path)
            keys, vectors = arrays["keys"], arrays["vectors"]
            if keys.dtype != np.uint8 or keys.shape != (len(vectors), KEY_BYTES) or vectors.dtype != np.float16:
                raise ValueError("its arrays do not belong together")
        except DAMAGE_ERRORS as damage:
            log.warning("the stored embeddings %s are damaged and computed again: %s", path.name, damage)
            return None
        return keys.reshape(-1).view(f"S{KEY_BYTES}"), vectors

    def find(self, encoder: str, keys: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Fill the rows of `vectors` whose text is stored and return which these are, (n,) bool."""
        stored = self.read(encoder)
        if stored is None or not len(stored[0]) or stored[1].shape[1] != vectors.shape[1]:
            return np.zeros(len(keys), bool)
        place = np.minimum(np.searchsorted(stored[0], keys), len(stored[0]) - 1)
        found = stored[0][place] == keys
        vectors[found] = stored[1][place[found]]
        return found

    def add(self, encoder: str, keys: np.ndarray, vectors: np.ndarray) -> None:
        """Store the vectors of these texts beside those that are there."""
        stored = self.read(encoder)
        if stored is not None and stored[1].shape[1] == vectors.shape[1]:
            keys, vectors = np.concatenate([stored[0], keys]), np.vstack([stored[1], vectors])
        keys, first = np.unique(keys, return_index=True)
        arrays: dict[str, np.ndarray] = {
            "keys": np.ascontiguousarray(keys).view(np.uint8).reshape(-1, KEY_BYTES),
            "vectors": vectors[first].astype(np.float16, copy=False),
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with create_file(self.locate(encoder)) as temporary:
                write_arrays(arrays, temporary)
            self._drop_earlier(encoder)
        except OSError as failure:
            log.warning("the embeddings could not be kept in %s: %s", self.folder, failure)

    def _drop_earlier(self, encoder: str) -> None:
        """Delete what the same encoder made of other states of the dataset."""
        for old in self.folder.glob(f"{glob.escape(self.prefix)}-{MARK}-*-{encoder}.safetensors"):
            if old != self.locate(encoder):
                with suppress(OSError):  # someone else was faster
                    old.unlink()
