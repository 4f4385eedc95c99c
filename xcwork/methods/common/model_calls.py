"""How `Method.predict` asks a model: all rows together, fewer where a device is small, and one row without delay."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.compute.device import limit_threads, resolve_device_kind
from xcwork.compute.device_memory import run_in_parts
from xcwork.core.topk import TopK
from xcwork.methods.inputs import check_width
from xcwork.methods.model import FittedModel


def predict_in_parts(
    model: FittedModel, X: sparse.csr_array, k: int, candidates: np.ndarray | None, device: str
) -> TopK:
    """Return the k best labels of every row; fewer rows at once where the memory of a device runs out."""

    def predict_part(part: slice) -> TopK:
        return model.predict(X if part == slice(0, X.shape[0]) else X[part], k, candidates)

    found = run_in_parts(X.shape[0], predict_part, resolve_device_kind(device), "documents")
    return found[0] if len(found) == 1 else TopK.concatenate(found)


def predict_row(model: FittedModel, x: sparse.csr_array, k: int, device: str) -> TopK:
    """Return the k best labels of one row: what `Method.predict` does without anything that only many rows need."""
    check_width(x, model.features.size)
    with limit_threads(1):
        is_here = resolve_device_kind(device) == "cpu"
        found = model.predict(x, k) if is_here else predict_in_parts(model, x, k, None, device)
    return found.head(k).name_labels(model.labels)
