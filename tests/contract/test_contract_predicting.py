"""What every method's predictions have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from xcwork.core.topk import MISSING
from xcwork.errors import ConfigError, DataError, NotFittedError
from xcwork.methods.registry import create

BLIND = {"popularity"}  # methods that do not look at the document


def test_it_learns_the_checkerboard(name, on_checkerboard, checkerboard):
    best = on_checkerboard.predict(checkerboard.test, k=4)
    for document in range(6):
        same_colour = set(range(document % 2, 8, 2))
        if name in BLIND:
            assert best.ids[document].tolist() == [0, 1, 2, 3]
        else:
            assert set(best.ids[document].tolist()) == same_colour


def test_unseen_labels_are_found_by_zero_shot_methods_and_never_listed_by_others(on_checkerboard, checkerboard):
    best = on_checkerboard.predict(checkerboard.test, k=9)
    if on_checkerboard.capabilities.zero_shot:
        assert best.ids[6:, 0].tolist() == [8, 8]
        assert [label for label, _ in on_checkerboard.predict("violet star", k=3, among=[8]).get_row(0)] == [8]
    else:
        assert 8 not in best.ids
        assert on_checkerboard.predict("violet star", k=3, among=[8]).get_row(0) == []


def test_a_batch_is_its_documents_one_by_one(on_jumble, jumble, same):
    batch = on_jumble.predict(jumble.test.X, k=6)
    for document in range(len(jumble.test)):
        alone = on_jumble.predict(jumble.test.X[[document]], k=6)
        same(replace(batch, ids=batch.ids[[document]], scores=batch.scores[[document]]), alone)


def test_equal_documents_get_equal_answers(on_jumble, jumble):
    best = on_jumble.predict(jumble.test.X, k=11)
    np.testing.assert_array_equal(best.ids[4], best.ids[5])
    np.testing.assert_array_equal(best.scores[4], best.scores[5])


def test_scores_descend_and_ties_are_ordered_by_id(on_jumble, on_checkerboard, jumble, checkerboard):
    for best in (on_jumble.predict(jumble.test, k=11), on_checkerboard.predict(checkerboard.test, k=9)):
        assert best.ids.dtype == np.int32
        assert best.scores.dtype == np.float32
        for ids, scores in zip(best.ids.tolist(), best.scores.tolist(), strict=True):
            present = [(-score, label) for label, score in zip(ids, scores, strict=True) if label != MISSING]
            assert present == sorted(present)
            assert len({label for _, label in present}) == len(present)
            assert all(np.isfinite(score) for score, _ in present)
            assert ids[len(present) :] == [MISSING] * (len(ids) - len(present))
            assert all(score == -np.inf for score in scores[len(present) :])


def test_k_beyond_the_number_of_labels_gives_all_of_them(on_jumble, jumble, same):
    everything = on_jumble.predict(jumble.test.X, k=1000)
    assert everything.ids.shape == (17, 11)
    same(everything.head(3), on_jumble.predict(jumble.test.X, k=3))


def test_k_must_be_positive(on_jumble, jumble):
    with pytest.raises(ConfigError, match="k must be at least 1, got 0"):
        on_jumble.predict(jumble.test, k=0)


def test_an_empty_document_is_answered_without_nan(on_jumble, jumble):
    best = on_jumble.predict(sparse.csr_array((2, 25), dtype=np.float32), k=5)
    assert not np.isnan(best.scores).any()
    assert best.ids[0].tolist() == best.ids[1].tolist()
    assert np.isfinite(best.scores[best.ids != MISSING]).all()


def test_no_documents_give_no_rows(on_jumble):
    assert len(on_jumble.predict(sparse.csr_array((0, 25), dtype=np.float32), k=5)) == 0


def test_among_restricts_the_candidates_and_changes_no_score(on_jumble, jumble):
    allowed = np.array([1, 2, 4, 7, 8])
    full, restricted = on_jumble.predict(jumble.test.X, k=11), on_jumble.predict(jumble.test.X, k=5, among=allowed)
    for document in range(len(jumble.test)):
        expected = {label: score for label, score in full.get_row(document) if label in allowed}
        found = dict(restricted.get_row(document))
        assert set(found) <= set(allowed.tolist())
        assert set(found) >= set(expected)
        for label, score in expected.items():
            assert found[label] == pytest.approx(score, rel=1e-5, abs=1e-6)


def test_among_nothing_gives_nothing(on_jumble, jumble):
    assert (on_jumble.predict(jumble.test.X, k=3, among=[]).ids == MISSING).all()


def test_filter_pairs_never_appear_and_others_move_up(on_jumble, jumble):
    filtered, free = on_jumble.predict(jumble.test, k=4), on_jumble.predict(jumble.test.X, k=11)
    forbidden = {(0, 0), (0, 1), (0, 2), (4, 3), (16, 10)}
    for document in range(len(jumble.test)):
        expected = [label for label, _ in free.get_row(document) if (document, label) not in forbidden]
        assert [label for label, _ in filtered.get_row(document)] == expected[:4]


def test_split_sparse_dense_and_text_are_the_same_question(on_checkerboard, checkerboard, same):
    split = checkerboard.test
    expected = on_checkerboard.predict(split, k=5)
    texts = (split.texts, np.array(split.texts), np.array(split.texts, object), pd.Series(split.texts))
    # A row of features is less than the text that a sentence encoder reads.
    rows = () if on_checkerboard.capabilities.reads_text else (split.X, split.X.toarray())
    for documents in (*rows, *texts):
        same(on_checkerboard.predict(documents, k=5), expected)
    one = on_checkerboard.predict(split.texts[0], k=5)
    assert one.ids.tolist() == [expected.ids[0].tolist()]
    assert one.to_records()[0]["label"] == checkerboard.labels.names[expected.ids[0, 0]]


def test_documents_of_another_width_are_refused(on_jumble):
    with pytest.raises(DataError, match="the documents have 24 features, but the model was trained on 25"):
        on_jumble.predict(np.ones((2, 24), np.float32))


def test_predicting_and_explaining_need_training(name, jumble):
    method = create(name)
    for ask in (lambda: method.predict(jumble.test), lambda: method.explain(jumble.test.X[[0]], 0)):
        with pytest.raises(NotFittedError, match="has not been trained; call fit first"):
            ask()
