"""What the layers below `methods` need of a trained method, so that none of them imports one."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK


class HasZeroShot(Protocol):
    """Whether labels that were not seen in training can be predicted."""

    @property
    def zero_shot(self) -> bool: ...


class Predictor(Protocol):
    """A trained method, as far as evaluation needs it."""

    @property
    def labels_(self) -> LabelSpace: ...

    @property
    def capabilities(self) -> HasZeroShot: ...

    def predict(self, documents: Any, k: int = 5, *, among: np.ndarray | None = None, proba: bool = False) -> TopK: ...

    def diagnose(self, split: Split) -> dict[str, float]: ...
