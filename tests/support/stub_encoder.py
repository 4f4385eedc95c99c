"""A sentence encoder of tests: the mean of one random vector per word. It needs no package and no weights."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from xcwork.methods.common import sentence_encoder


@functools.cache
def draw_vector(word: str, dimension: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(dimension)


class HashedWords:
    """What it answers depends on the words of a text alone, in any order."""

    def __init__(self, dimension: int = 48, identity: str = "stub") -> None:
        self.dimension = dimension
        self.identity = self.variant = identity
        self.encoded: list[str] = []  # every text, in the order of encoding

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [min(len(text.split()), 256) for text in texts]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        return np.array([self._encode_one(text) for text in texts], np.float32).reshape(-1, self.dimension)

    def _encode_one(self, text: str) -> np.ndarray:
        words = text.lower().split()[:256]
        return np.sum([self._draw(word) for word in words], axis=0) if words else np.zeros(self.dimension)

    def _draw(self, word: str) -> np.ndarray:
        return draw_vector(word, self.dimension)


class FunctionEncoder(HashedWords):
    """Answers by a function of one text."""

    def __init__(self, answer: Callable[[str], Sequence[float]]) -> None:
        super().__init__(len(answer("a 1")))
        self._encode_one = lambda text: np.array(answer(text), np.float32)  # type: ignore[method-assign]


def use_encoder(monkeypatch: pytest.MonkeyPatch, encoder: HashedWords) -> None:
    """Let every method find this encoder, whatever folder it is given."""
    monkeypatch.setattr(sentence_encoder, "find_encoder_folder", lambda folder, user: Path(folder or "stub"))
    monkeypatch.setattr(sentence_encoder, "load_encoder", lambda folder, device, user: encoder)
