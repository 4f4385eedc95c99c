"""A resumable method whose every step waits at a gate, so that a test decides when and where things happen.

Step i announces itself as the file `reached-i` in the folder `gate` and goes on when `open-i` or `open` exists. With no
gate it runs straight through. The ranking depends on every step, so a step lost or done twice changes the metrics.
"""

from __future__ import annotations

import errno
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.methods.base import Capabilities, Explanation, Method, TopK, param
from xcwork.methods.model import FittedModel, check_array
from xcwork.progress import report, track

ERRORS = {
    "memory": MemoryError("unable to allocate 8 TiB"),
    "library": SystemError("error return without exception set"),
    "bug": ZeroDivisionError("by <nothing>"),
    "disk": OSError(errno.ENOSPC, "No space left on device"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class GatedModel(FittedModel):
    """One score per label, whatever the document."""

    scores: np.ndarray  # (n_labels,)

    def check(self):
        check_array("scores", self.scores, (self.n_labels,))

    def predict(self, X, k, among=None):
        best = np.argsort(-self.scores, kind="stable").astype(np.int32)
        best = (best if among is None else best[np.isin(best, among)])[:k]
        scores = self.scores[best].astype(np.float32)
        return TopK(np.tile(best, (X.shape[0], 1)), np.tile(scores, (X.shape[0], 1)))

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return Explanation.from_parts([], exact=False, score=float(self.scores[label]))


@dataclass(kw_only=True, eq=False)
class Gated(Method):
    """Ranks labels by numbers drawn step by step."""

    steps: int = param(4, "steps of the training", low=1)
    gate: str = param("", "folder of the gate")
    error: str = param("", "name of the error that the training ends with")

    title = "Gated"
    capabilities = Capabilities(resumable=True)
    model_type = GatedModel

    def _fit(self, train, checkpoint):
        stored = None if checkpoint is None else checkpoint.restore()
        stored = stored or {"done": 0, "scores": np.zeros(train.n_labels)}
        done, scores = stored["done"], stored["scores"]
        for step in track(range(done, self.steps), "climbing"):
            self._wait_at(step)
            # Multiplying and adding makes the result depend on the order and the number of steps.
            scores = 1.5 * scores + np.random.default_rng(self.seed + step).normal(size=train.n_labels)
            report("climbing", loss=float(np.abs(scores).mean()))
            if checkpoint is not None:
                checkpoint.save({"done": step + 1, "scores": scores})
        if self.error:
            raise ERRORS[self.error]
        return GatedModel(**self._collect_facts(train), scores=scores)

    def _wait_at(self, step):
        if not self.gate:
            return
        gate = Path(self.gate)
        (gate / f"reached-{step}").touch()
        while not (gate / f"open-{step}").exists() and not (gate / "open").exists():
            threading.Event().wait(0.01)
