"""Splitmix64: numbers that look random and are the same on every machine."""

from __future__ import annotations

import numpy as np

GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def mix_bits(values: np.ndarray) -> np.ndarray:
    """Return `values` (n,) uint64 mixed by splitmix64: every bit of the input changes half of the output."""
    values = values + GOLDEN_GAMMA
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
