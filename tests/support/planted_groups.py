"""Data for the tests of EAGLE and its parts."""

from __future__ import annotations

from xcwork.core.split import Split
from xcwork.data.groups import draw_random_groups
from xcwork.data.synthetic import make_synthetic


def planted(group_size: int = 5, seed: int = 0) -> tuple[Split, Split]:
    data = make_synthetic(n_documents=1200, n_labels=60, n_topics=6, seed=seed)
    return draw_random_groups(data.train, group_size, seed=seed), data.test
