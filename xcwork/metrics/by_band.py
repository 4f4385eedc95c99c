"""What each band of labels contributes to P@k.

Every hit belongs to the band of its label, so the contributions hits / (k * n_documents) of the bands add up to P@k.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xcwork.core.bands import Bands
from xcwork.metrics.ranking import KS, Placement


def tabulate_bands(placement: Placement, bands: Bands, ks: Sequence[int] = KS) -> dict[str, dict[str, float]]:
    """Return per band: labels and test positives, and for every k hits, contribution to P@k and recall in percent.

    `recall@k` is micro: of the band's true labels in the test split, the share that stands among the first k.
    """
    size = len(bands.names)
    labels = np.bincount(bands.of_label, minlength=size)
    band = bands.of_label[placement.truth.indices]  # (nnz,)
    positives = np.bincount(band, minlength=size)
    columns: dict[str, np.ndarray] = {"labels": labels, "test_positives": positives}
    for k in ks:
        hits = np.bincount(band[placement.ranks <= k], minlength=size)
        columns[f"hits@{k}"] = hits
        columns[f"contribution@{k}"] = 100.0 * hits / (k * max(placement.n_documents, 1))
        columns[f"recall@{k}"] = 100.0 * hits / np.maximum(positives, 1)
    return {
        name: {column: values[at].item() for column, values in columns.items()} for at, name in enumerate(bands.names)
    }
