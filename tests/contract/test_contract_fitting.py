"""What training has in common for every method: cancelling, resuming, forgetting, repeating."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tests.support.brief_training import Stopper, briefly, count_steps, train_briefly
from xcwork.errors import Cancelled, DataError, NotFittedError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.registry import create

INSTANT = {
    "bm25",
    "nearest_documents",
    "popularity",
    "tfidf",
}  # they only count and transpose, so nothing can be stopped
UNTAUGHT = INSTANT | {"sentence_match"}  # they learn nothing from the labels of documents


def test_a_stop_at_any_step_raises_and_leaves_it_untrained(name, jumble):
    steps = count_steps(name, jumble)
    assert (steps == 0) == (name in INSTANT)
    for stop_at in sorted({0, steps // 2, steps - 1} if steps else ()):
        method = briefly(name)
        with pytest.raises(Cancelled):
            method.fit(jumble.train, callbacks=[Stopper(stop_at)])
        with pytest.raises(NotFittedError):
            method.predict(jumble.test)


def test_a_stop_while_predicting_raises_and_the_model_stays(name, on_jumble, jumble, same):
    expected = on_jumble.predict(jumble.test, k=3)
    stopper = Stopper(0)
    if name == "popularity":
        on_jumble.predict(jumble.test, k=3, callbacks=[stopper])
        assert stopper.steps == 0
    else:
        with pytest.raises(Cancelled):
            on_jumble.predict(jumble.test, k=3, callbacks=[stopper])
    same(on_jumble.predict(jumble.test, k=3), expected)


def test_a_resumed_training_equals_an_uninterrupted_one(name, jumble, tmp_path, same):
    steps = count_steps(name, jumble)
    expected = train_briefly(name, jumble).predict(jumble.test, k=11)
    for stop_at in sorted({0, 1, steps // 2, steps - 1} & set(range(steps))):
        checkpoint = Checkpoint(tmp_path / str(stop_at))
        with pytest.raises(Cancelled):
            briefly(name).fit(jumble.train, callbacks=[Stopper(stop_at)], checkpoint=checkpoint)
        resumed = briefly(name).fit(jumble.train, checkpoint=checkpoint)
        same(resumed.predict(jumble.test, k=11), expected)
    finished = briefly(name).fit(jumble.train, checkpoint=Checkpoint(tmp_path / "whole"))
    same(finished.predict(jumble.test, k=11), expected)


def test_a_resumable_method_leaves_a_checkpoint_when_it_is_stopped(name, jumble, tmp_path):
    checkpoint = Checkpoint(tmp_path)
    last = count_steps(name, jumble) - 1
    if briefly(name).capabilities.resumable:
        with pytest.raises(Cancelled):
            briefly(name).fit(jumble.train, callbacks=[Stopper(last)], checkpoint=checkpoint)
        assert checkpoint.restore() is not None
    else:
        briefly(name).fit(jumble.train, checkpoint=checkpoint)
        assert checkpoint.restore() is None


def test_a_new_fit_forgets_the_old_one(name, jumble, checkerboard, same):
    method = briefly(name).fit(checkerboard.train).fit(jumble.train)
    fresh = train_briefly(name, jumble)
    same(method.predict(jumble.test, k=11), fresh.predict(jumble.test, k=11))
    assert set(vars(method)) == set(vars(fresh))


def test_one_seed_gives_one_result(name, jumble, same):
    a, b = (briefly(name, seed=3).fit(jumble.train).predict(jumble.test, k=11) for _ in range(2))
    same(a, b)


def test_it_leaves_its_data_as_it_was(name, jumble):
    def content() -> list[bytes]:
        matrices = (jumble.train.X, jumble.train.Y, jumble.labels.Z, jumble.test.X)
        return [part.tobytes() for matrix in matrices for part in (matrix.data, matrix.indices, matrix.indptr)]

    before = content()
    method = briefly(name).fit(jumble.train)
    method.predict(jumble.test, k=3, among=[1, 2])
    method.explain(jumble.test.X[[0]], 0)
    assert content() == before


def test_training_data_without_rows_is_refused(name, jumble):
    with pytest.raises(DataError, match="there are no documents or no labels to train on"):
        create(name).fit(jumble.train.take([]))


def test_training_data_without_any_label_is_refused_where_labels_teach(name, jumble):
    bare = replace(jumble.train, Y=sparse.csr_array(jumble.train.Y.shape, dtype=np.float32))
    method = create(name)
    if method.learns_from_labels:
        with pytest.raises(DataError, match="no training document has a label"):
            method.fit(bare)
        assert not hasattr(method, "model_")
    else:
        assert len(method.fit(bare).predict(bare, k=1)) == len(bare)


def test_only_methods_that_count_or_compare_do_without_labels(name):
    assert create(name).learns_from_labels == (name not in UNTAUGHT)


def test_label_text_is_asked_for_where_it_is_needed(name, jumble):
    bare = replace(jumble.train, labels=replace(jumble.labels, Z=None, texts=None, features=None))
    if create(name).capabilities.needs_label_text:
        with pytest.raises(DataError, match=r"needs label text or label features.*popularity"):
            create(name).fit(bare)
    else:
        assert (briefly(name).fit(bare).predict(bare, k=1).ids[:3] >= 0).all()


def test_a_single_document_with_a_single_label_is_enough(name, jumble):
    labels = replace(jumble.labels, names=["only"], Z=jumble.labels.Z[[0]])
    X = sparse.csr_array(np.ones((1, 25), np.float32))
    tiny = replace(jumble.train, X=X, Y=sparse.csr_array(np.ones((1, 1), np.float32)), labels=labels)
    assert briefly(name).fit(tiny).predict(X, k=3).ids.tolist() == [[0]]
