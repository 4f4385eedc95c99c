"""What a check of a theorem found: one sentence, and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class StudyOutcome:
    """The result of a study: whether the claim held in it, one sentence, and a table."""

    holds: bool
    sentence: str
    rows: list[dict[str, Any]]
