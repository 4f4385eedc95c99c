"""One-vs-all against scikit-learn, and what blocks, checkpoints and pruning may not change."""

from __future__ import annotations

import numpy as np
import pytest

import xcwork
from xcwork.errors import Cancelled
from xcwork.methods.common import checkpoints, one_vs_all_svm
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.one_vs_all.method import OneVsAll
from xcwork.progress import Callback
from xcwork.sparse import normalise_rows


class StopAfter(Callback):
    def __init__(self, steps: int) -> None:
        self.left = steps

    def on_step(self, phase, step, total):
        self.left -= 1
        return self.left < 0


@pytest.fixture
def blocks_trained(monkeypatch) -> list[list[int]]:
    """Two labels a block, and a record of the blocks that were really trained."""
    trained: list[list[int]] = []
    train = one_vs_all_svm.BlockTrainer.train

    def recorded(self, labels):
        trained.append(labels.tolist())
        return train(self, labels)

    monkeypatch.setattr(one_vs_all_svm, "MAX_LABELS_PER_BLOCK", 2)
    monkeypatch.setattr(one_vs_all_svm.BlockTrainer, "train", recorded)
    return trained


@pytest.mark.parametrize("C", [0.3, 1.0, 5.0])
def test_margins_are_those_of_scikit_learn(jumble, C):
    from sklearn.svm import LinearSVC

    model = OneVsAll(C=C, tolerance=1e-4, prune=0.0, max_passes=500).fit(jumble.train)
    best = model.predict(jumble.test.X, k=11)
    X, test = (normalise_rows(split.X).toarray() for split in (jumble.train, jumble.test))
    for label in np.flatnonzero(jumble.train.label_frequencies).tolist():
        y = jumble.train.Y.toarray()[:, label] * 2 - 1
        oracle = LinearSVC(C=C, loss="squared_hinge", tol=1e-9, max_iter=100_000, random_state=0).fit(X, y)
        ours = [dict(best.get_row(document))[label] for document in range(len(jumble.test))]
        np.testing.assert_allclose(ours, oracle.decision_function(test), atol=5e-3)


def test_a_looser_tolerance_stays_near(jumble):
    exact, usual = (
        OneVsAll(tolerance=t, prune=0.0).fit(jumble.train).predict(jumble.test.X, k=11) for t in (1e-3, 0.1)
    )
    a, b = exact.to_csr(11).toarray(), usual.to_csr(11).toarray()
    assert np.abs(a - b).max() < 0.1


def test_pruning_drops_the_small_weights_only(jumble):
    full = OneVsAll(prune=0.0).fit(jumble.train).model_.weights.toarray()
    pruned = OneVsAll(prune=0.2).fit(jumble.train).model_.weights.toarray()
    np.testing.assert_array_equal(pruned, np.where(np.abs(full) >= 0.2, full, 0))
    assert 0 < np.count_nonzero(pruned) < np.count_nonzero(full)


def test_the_size_of_a_block_changes_nothing(jumble, monkeypatch):
    models = []
    for size in (1, 3, 32):
        monkeypatch.setattr(one_vs_all_svm, "MAX_LABELS_PER_BLOCK", size)
        models.append(OneVsAll(prune=0.0).fit(jumble.train))
    for model in models[1:]:
        assert model.model_.weights.toarray().tobytes() == models[0].model_.weights.toarray().tobytes()
        assert model.model_.bias.tobytes() == models[0].model_.bias.tobytes()


def test_blocks_shrink_with_the_size_of_the_data(jumble, monkeypatch):
    trainer = one_vs_all_svm.BlockTrainer.from_split(jumble.train, one_vs_all_svm.SvmSettings())
    assert trainer.block_size == 11
    monkeypatch.setattr(one_vs_all_svm, "BLOCK_BYTES", 3 * (8 * 25 + 9 * 40) + 1)
    assert trainer.block_size == 3
    monkeypatch.setattr(one_vs_all_svm, "BLOCK_BYTES", 1)
    assert trainer.block_size == 1


def test_a_resumed_training_repeats_no_block(jumble, tmp_path, blocks_trained):
    expected = OneVsAll().fit(jumble.train)
    all_blocks = list(blocks_trained)
    assert len(all_blocks) == 5
    for stop_after in range(1, 5):
        checkpoint = Checkpoint(tmp_path / str(stop_after))
        blocks_trained.clear()
        with pytest.raises(Cancelled):
            OneVsAll().fit(jumble.train, callbacks=[StopAfter(stop_after)], checkpoint=checkpoint)
        assert blocks_trained == all_blocks[:stop_after]
        resumed = OneVsAll().fit(jumble.train, checkpoint=checkpoint)
        assert blocks_trained == all_blocks
        assert resumed.model_.weights.toarray().tobytes() == expected.model_.weights.toarray().tobytes()
        assert resumed.model_.bias.tobytes() == expected.model_.bias.tobytes()


def test_a_killed_training_goes_on_from_the_last_checkpoint(jumble, tmp_path, blocks_trained, monkeypatch):
    monkeypatch.setattr(checkpoints, "MIN_SAVING_TIMES_BETWEEN_SAVES", 0)
    checkpoint, real = Checkpoint(tmp_path), one_vs_all_svm.BlockTrainer.train

    def killed(self, labels):
        if len(blocks_trained) == 3:
            raise KeyboardInterrupt
        return real(self, labels)

    with monkeypatch.context() as patch:
        patch.setattr(one_vs_all_svm.BlockTrainer, "train", killed)
        with pytest.raises(KeyboardInterrupt):
            OneVsAll().fit(jumble.train, checkpoint=checkpoint)
    assert len(blocks_trained) == 3
    OneVsAll().fit(jumble.train, checkpoint=checkpoint)
    assert len(blocks_trained) == 5


@pytest.mark.parametrize("changed", ["parameters", "data"])
def test_a_checkpoint_of_something_else_is_not_used(jumble, tmp_path, blocks_trained, changed):
    checkpoint = Checkpoint(tmp_path)
    with pytest.raises(Cancelled):
        OneVsAll().fit(jumble.train, callbacks=[StopAfter(3)], checkpoint=checkpoint)
    blocks_trained.clear()
    if changed == "parameters":
        OneVsAll(C=2.0).fit(jumble.train, checkpoint=checkpoint)
    else:
        OneVsAll().fit(jumble.train.take(np.arange(39)), checkpoint=checkpoint)
    assert len(blocks_trained) == 5


def test_features_keep_their_names(checkerboard):
    explanation = OneVsAll().fit(checkerboard.train).explain("red square", "L0")
    values = {part.document_term: part.value for part in explanation}
    assert values["red"] > 0.1
    assert values["red square"] > 0.1
    assert values["(any document)"] < 0


def test_a_label_without_documents_has_no_classifier(jumble):
    model = OneVsAll().fit(jumble.train)
    explanation = model.explain(jumble.test.X[[0]], 9)
    assert explanation.score == -1
    assert explanation.parts[0].label_term == "no training document to learn from"
    assert np.flatnonzero(np.isnan(model.model_.bias)).tolist() == [4, 9]


def test_an_empty_document_is_ranked_by_the_biases(jumble):
    model = OneVsAll().fit(jumble.train)
    best = model.predict(np.zeros((1, 25), np.float32), k=11)
    seen = np.flatnonzero(~np.isnan(model.model_.bias))
    assert [label for label, _ in best.get_row(0)] == sorted(
        seen.tolist(), key=lambda label: (-model.model_.bias[label], label)
    )


def test_the_planted_model_is_found():
    dataset = xcwork.load_dataset("synthetic", n_documents=800, n_labels=60, n_topics=6, seed=3)
    one, popular = (
        xcwork.evaluate(xcwork.create(name).fit(dataset.train), dataset) for name in ("one_vs_all", "popularity")
    )
    assert one.metrics["P@1"] > popular.metrics["P@1"] + 20
