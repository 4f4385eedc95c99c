"""What a training has reached, so that it can be interrupted: affinities first, then predictors block by block."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.data.dataset import Split
from xcwork.methods.landmarks.affinity import Combination
from xcwork.storage import Checkpoint

SAVE_EVERY = 20  # a checkpoint may take a twentieth of the time


class Stages:
    """The results so far, kept in a checkpoint when there is one; one of other data or parameters is not used."""

    def __init__(self, checkpoint: Checkpoint | None, train: Split, params: dict[str, Any]) -> None:
        self.checkpoint, self._key = checkpoint, _key(train, params)
        self.affinity: Combination | None = None
        self.convergence: dict[str, list[float]] | None = None
        self._parts: list[tuple[sparse.csr_array, np.ndarray]] = []
        self._saved_at, self._cost = time.monotonic(), 1.0
        state = None if checkpoint is None else checkpoint.restore()
        if state is not None and state.get("key") == self._key:
            if state["affinity"] is not None:
                self.affinity = Combination(**{**state["affinity"], "Z": sparse.csc_array(state["affinity"]["Z"])})
                self.convergence = state["convergence"]
            if state["weights"] is not None:
                self._parts = [(state["weights"], state["errors"])]

    @property
    def n_trained(self) -> int:
        """Labels whose predictors are there."""
        return sum(len(errors) for _, errors in self._parts)

    def add_trained(self, weights: sparse.csr_array, errors: np.ndarray) -> None:
        """The next labels' weights (n_labels, n_features + 1) and training errors (n_labels,)."""
        self._parts.append((weights, errors))
        if time.monotonic() - self._saved_at > SAVE_EVERY * self._cost:
            self.save()

    def trained(self) -> tuple[sparse.csr_array, np.ndarray]:
        """All weights and errors so far."""
        weights = sparse.csr_array(sparse.vstack([part for part, _ in self._parts]))
        self._parts = [(weights, np.concatenate([errors for _, errors in self._parts]))]
        return self._parts[0]

    def save(self) -> None:
        """Store what there is; how long it took decides when to do it again."""
        if self.checkpoint is None:
            return
        started = time.monotonic()
        weights, errors = self.trained() if self._parts else (None, None)
        affinity = None if self.affinity is None else vars(self.affinity)
        self.checkpoint.save(
            {
                "key": self._key, "affinity": affinity, "convergence": self.convergence, "weights": weights,
                "errors": errors,
            }
        )  # fmt: skip
        self._saved_at = time.monotonic()
        self._cost = self._saved_at - started


def _key(train: Split, params: dict[str, Any]) -> str:
    """What a checkpoint belongs to: these parameters and this training data."""
    digest = hashlib.blake2b(json.dumps(params, sort_keys=True).encode(), digest_size=16)
    for matrix in (train.X, train.Y):
        for part in (matrix.data, matrix.indices, matrix.indptr):
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()
