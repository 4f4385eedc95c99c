"""How many models a calibration trains: as many as there is time for, and at least one.

The steps are wide, lest machines of about the same speed come to different probabilities.
"""

from __future__ import annotations

REFIT_CPU_SECONDS = 20.0  # that refits may take together; the first one is trained however long it takes
REFITS = (9, 4, 2)  # numbers of them, as many as there is time for


def count_refits(cpu_seconds: float) -> int:
    """Return how many models are trained, if the first one took so long."""
    return next((n for n in REFITS if n * cpu_seconds <= REFIT_CPU_SECONDS), 1)
