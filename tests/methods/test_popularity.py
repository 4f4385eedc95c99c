from __future__ import annotations

import numpy as np
import pytest

from xcwork.methods.popularity.method import Popularity


def test_the_score_is_the_share_of_training_documents(jumble):
    model = Popularity().fit(jumble.train)
    counts = np.asarray(jumble.train.Y.sum(axis=0)).ravel()
    expected = sorted(((-count, label) for label, count in enumerate(counts) if count), key=lambda entry: entry)
    best = model.predict(jumble.test.X, k=11)
    for document in range(len(jumble.test)):
        assert [label for label, _ in best.get_row(document)] == [label for _, label in expected]
    assert best.scores[0, 0] == pytest.approx(counts.max() / 40)


def test_labels_without_training_documents_are_left_out(jumble):
    best = Popularity().fit(jumble.train).predict(jumble.test.X, k=11)
    assert best.ids[0, -2:].tolist() == [-1, -1]
    assert not {4, 9} & set(best.ids.ravel().tolist())


def test_the_explanation_is_the_count(jumble):
    model = Popularity().fit(jumble.train)
    explanation = model.explain(jumble.test.X[[0]], 4)
    assert explanation.score == 0
    assert explanation.parts[0].label_term == "label of 0 of 40 training documents"
