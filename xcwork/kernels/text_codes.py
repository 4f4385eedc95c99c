"""What the parsing kernel reports: error codes, and the places of its `seen` array. Naming them needs no numba."""

from __future__ import annotations

import numpy as np

OK = 0
BAD_ID = 1
NEGATIVE_ID = 2
ID_TOO_LARGE = 3
MISSING_COLON = 4
BAD_VALUE = 5
NOT_FINITE = 6
NEGATIVE_VALUE = 7
DUPLICATE = 8
BAD_LABEL = 9
NEGATIVE_LABEL = 10
LABEL_TOO_LARGE = 11
DUPLICATE_LABEL = 12
ID_BELOW_BASE = 13
LABEL_BELOW_BASE = 14

# The places of the `seen` array, what a call reports about the ids it met. A place is a position in the buffer, or -1.
MIN_ID = 0
MAX_ID = 1
PLACE_OF_LIMIT_ID = 2
MIN_LABEL = 3
MAX_LABEL = 4
PLACE_OF_LIMIT_LABEL = 5
IDS_MIXED = 6
LABELS_MIXED = 7
NO_ID = np.int64(2**62)


def make_empty_seen() -> np.ndarray:
    """Return the `seen` array before any id was met."""
    return np.array([NO_ID, -1, -1, NO_ID, -1, -1, 0, 0], dtype=np.int64)
