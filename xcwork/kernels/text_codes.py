"""What the parsing kernel reports: error codes, and the places of its `seen` array. Naming them needs no numba."""

from __future__ import annotations

import numpy as np

OK, BAD_ID, NEGATIVE_ID, ID_TOO_LARGE, MISSING_COLON, BAD_VALUE, NOT_FINITE, NEGATIVE_VALUE, DUPLICATE = range(9)
BAD_LABEL, NEGATIVE_LABEL, LABEL_TOO_LARGE, DUPLICATE_LABEL, ID_BELOW_BASE, LABEL_BELOW_BASE = range(9, 15)

# The places of the `seen` array, what a call reports about the ids it met. A place is a position in the buffer, or -1.
MIN_ID, MAX_ID, PLACE_OF_LIMIT_ID, MIN_LABEL, MAX_LABEL, PLACE_OF_LIMIT_LABEL, IDS_MIXED, LABELS_MIXED = range(8)
NO_ID = np.int64(2**62)


def empty_seen() -> np.ndarray:
    """The `seen` array before any id was met."""
    return np.array([NO_ID, -1, -1, NO_ID, -1, -1, 0, 0], dtype=np.int64)
