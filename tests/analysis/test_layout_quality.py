"""The quality of a layout: 1 for the plane itself, little for places at random."""

from __future__ import annotations

import numpy as np

from xcwork.analysis.layout_quality import measure_layout_quality
from xcwork.sparse import normalise_rows


def test_a_faithful_layout_keeps_all_neighbours_and_a_random_one_few():
    rng = np.random.default_rng(0)
    places = rng.uniform(-0.05, 0.05, size=(400, 2)).astype(np.float32)
    vectors = normalise_rows(np.column_stack([places, np.ones(400, np.float32)]))  # nearly flat
    true = measure_layout_quality(vectors, places, max_sample=200)
    random = measure_layout_quality(vectors, rng.permutation(places), max_sample=200)
    assert true.neighbours_kept > 0.95
    assert true.trustworthiness > 0.99
    assert random.neighbours_kept < 0.2
    assert random.trustworthiness < 0.6
    assert true.n_labels == 200
