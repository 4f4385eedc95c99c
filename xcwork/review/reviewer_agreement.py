"""Do people who answered the same items agree?

For every two people: the items both answered, the share of equal answers, and Cohen's kappa, which sets that share
against what two people with their habits would reach by chance:

    kappa = (share - chance) / (1 - chance),    chance = sum over answers of the product of their frequencies

Kappa has no value where chance is 1: both always gave the same answer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations

from xcwork.review.verdicts import VerdictLog


@dataclass(frozen=True)
class ReviewerAgreement:
    """How far two people agree."""

    reviewers: tuple[str, str]
    n_items: int
    share: float  # percent of equal answers
    kappa: float | None


def compare_reviewers(verdicts: VerdictLog) -> list[ReviewerAgreement]:
    """Return one entry for every two people with an item in common, in the order of their names."""
    common: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for answers in verdicts.group_by_item().values():
        given = sorted((answer.by, answer.verdict.value) for answer in answers)
        for (one, first), (other, second) in combinations(given, 2):
            common[one, other].append((first, second))
    return [_compare(reviewers, answers) for reviewers, answers in sorted(common.items())]


def _compare(reviewers: tuple[str, str], answers: list[tuple[str, str]]) -> ReviewerAgreement:
    from sklearn.metrics import cohen_kappa_score

    first, second = zip(*answers, strict=True)
    share = sum(a == b for a, b in answers) / len(answers)
    kappa = math.nan if len({*first, *second}) == 1 else float(cohen_kappa_score(first, second))
    return ReviewerAgreement(reviewers, len(answers), 100.0 * share, kappa if math.isfinite(kappa) else None)
