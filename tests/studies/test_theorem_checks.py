"""The checks of the papers' theorems: what holds, what does not, and that the numbers say so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from xcwork.errors import ConfigError
from xcwork.studies.catalogue import STUDIES, find_study, run_study
from xcwork.studies.siamesexml_claims import (
    compute_contrastive_loss,
    compute_precision_loss,
    compute_ramp_loss,
)

FALSE_AS_PRINTED = {
    "siamesexml-claim-18",
    "siamesexml-corollary-19",
    "siamesexml-metrics",
    "eagle-toy",
    "eagle-theorem-4",
    "landmarks-admm",
    "multihead-theorem-1",
    "multihead-corollary-1",
    "multihead-theorem-3",
    "multihead-theorem-4",
    "multihead-decomposition",
}
LONG = {"multihead-figure-5"}  # thousands of steps of training


@pytest.mark.parametrize("name", sorted(STUDIES.keys() - LONG))
def test_a_check_finds_what_the_ledger_says(name: str) -> None:
    found = run_study(name)
    assert found.holds is (name not in FALSE_AS_PRINTED)
    assert found.sentence.endswith(".")
    assert len({tuple(row) for row in found.rows}) == 1


@pytest.mark.parametrize("name", ["siamesexml-covers", "eagle-theorem-3", "landmarks-submodularity", "multihead-heads"])
def test_a_seed_decides_everything_random(name: str) -> None:
    assert run_study(name, 3).rows == run_study(name, 3).rows


def test_every_name_leads_to_a_function() -> None:
    assert all(callable(find_study(name)) for name in STUDIES)


def test_an_unknown_study_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="choose one of zestxml-theorem-1"):
        run_study("theorem of everything")


def test_the_losses_of_the_surrogate_chain_by_hand() -> None:
    scores, positive = np.array([0.9, 0.1, 0.5]), np.array([True, True, False])
    assert compute_precision_loss(scores, positive, k=2) == 0.5
    assert compute_ramp_loss(scores, positive, gamma=0.8, k=2) == pytest.approx(1 - 0.5 / 2)
    by_hand = 2 * math.log(2) + 0.1 + 0.9 - math.log(1 - 0.5 * math.exp(-0.5))
    assert compute_contrastive_loss(scores, positive, c=0.5, d=1.0) == pytest.approx(by_hand)


def test_ties_count_against_the_ranking() -> None:
    assert compute_precision_loss(np.zeros(4), np.array([True, True, False, False]), k=2) == 1.0
