"""The checks of theorems by name, for `xcwork study NAME`, the ledger of claims and the tests.

Every entry is a function of a seed that answers in seconds with a `StudyOutcome`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from xcwork.errors import ConfigError
from xcwork.studies.study_outcome import StudyOutcome

STUDIES = {
    "zestxml-theorem-1.1": "zestxml_theorems:check_closed_form",
    "zestxml-theorem-1.2": "zestxml_theorems:check_regret_bound",
    "siamesexml-lemma-1": "siamesexml_encoder:check_lemma_1",
    "siamesexml-lemma-2": "siamesexml_runs:check_lemma_2",
    "siamesexml-theorem-3": "siamesexml_runs:check_generalisation_bounds",
    "siamesexml-lipschitz": "siamesexml_encoder:check_lipschitz_constants",
    "siamesexml-covers": "siamesexml_encoder:check_covers",
    "siamesexml-claim-17": "siamesexml_claims:check_precision_surrogate",
    "siamesexml-claim-18": "siamesexml_claims:check_surrogate_chain",
    "siamesexml-corollary-19": "siamesexml_claims:check_few_labels",
    "siamesexml-metrics": "siamesexml_claims:check_printed_metrics",
    "eagle-toy": "eagle_theorems:check_toy_example",
    "eagle-groups-of-one": "eagle_theorems:check_groups_of_one",
    "eagle-figure-3": "eagle_theorems:check_regression",
    "eagle-figure-6": "eagle_theorems:check_classification",
    "eagle-definition-2": "group_limits:check_definition_2",
    "eagle-theorem-3": "eagle_theorems:check_theorem_3",
    "eagle-theorem-4": "eagle_theorems:check_theorem_4",
    "landmarks-submodularity": "landmark_theorems:check_submodularity",
    "landmarks-admm": "landmark_theorems:check_printed_admm",
    "landmarks-admm-corrected": "landmark_theorems:check_corrected_admm",
    "multihead-theorem-1": "multihead_theorems:check_theorem_1",
    "multihead-corollary-1": "multihead_theorems:check_corollary_1",
    "multihead-theorem-2": "multihead_theorems:check_theorem_2",
    "multihead-theorem-3": "multihead_theorems:check_theorem_3",
    "multihead-theorem-4": "multihead_theorems:check_theorem_4",
    "multihead-equation-16": "multihead_theorems:check_equation_16",
    "multihead-heads": "multihead_theorems:check_head_lengths",
    "multihead-figure-5": "multihead_theorems:check_low_rank",
    "multihead-decomposition": "multihead_theorems:check_printed_decomposition",
}


def run_study(name: str, seed: int = 0) -> StudyOutcome:
    """Run the check called `name`."""
    from threadpoolctl import threadpool_limits

    check = find_study(name)
    with threadpool_limits(1):  # the matrices are small: on a busy machine threads only wait for each other
        return check(seed)


def find_study(name: str) -> Callable[[int], StudyOutcome]:
    """Return the check called `name`."""
    if name not in STUDIES:
        raise ConfigError(f"there is no study called {name!r}; choose one of {', '.join(STUDIES)}")
    module, _, function = STUDIES[name].partition(":")
    return getattr(import_module(f"xcwork.studies.{module}"), function)
