"""Samples that keep the few frequent labels beside the many rare ones."""

from __future__ import annotations

import numpy as np

from xcwork.errors import ConfigError


def sample_evenly(groups: np.ndarray, size: int, *, seed: int = 0) -> np.ndarray:
    """Return ascending positions of at most `size` items, as evenly over the groups as their sizes allow.

    `groups` has the group of each item, and -1 for one that must not be chosen. A small group is taken whole and what
    it leaves goes to the others.
    """
    if size < 1:
        raise ConfigError(f"a sample has at least 1 item, got {size}")
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(groups == group) for group in range(int(groups.max(initial=-1)) + 1)]
    members = sorted((some for some in members if len(some)), key=len)
    chosen, left = [np.empty(0, np.int64)], size
    for position, some in enumerate(members):
        # Smallest first: whatever a group cannot use is shared by those that follow.
        share = min(len(some), -(-left // (len(members) - position)))
        chosen.append(some if share == len(some) else rng.choice(some, share, replace=False))
        left -= share
    return np.sort(np.concatenate(chosen))


def sample_labels(frequencies: np.ndarray, size: int, *, seed: int = 0) -> np.ndarray:
    """Return ascending positions of at most `size` labels, evenly over those with 0, 1, 2-3, 4-7, … documents."""
    octaves = np.zeros(len(frequencies), np.int64)
    seen = frequencies > 0
    octaves[seen] = 1 + np.log2(frequencies[seen]).astype(np.int64)
    return sample_evenly(octaves, size, seed=seed)
