"""New labels and edited texts: the right rank, nobody's model changed, and a sentence where it cannot be done."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.brief_training import BRIEF
from tests.support.stub_encoder import HashedWords, use_encoder
from xcwork.analysis.what_if import EditedText, compare_edit, compare_ranks, explain_no_new_labels, try_label
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.methods import registry
from xcwork.storage.state import read_state

pytestmark = pytest.mark.slow

ZERO_SHOT = [name for name in registry.METHODS if registry.find_method_class(name).capabilities.zero_shot]
OTHERS = [name for name in registry.METHODS if name not in ZERO_SHOT]


@pytest.fixture(autouse=True)
def _stub_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that read text do so without the weights of a real encoder."""
    use_encoder(monkeypatch, HashedWords())


def fitted(name, dataset):
    return registry.create(name, **BRIEF.get(name, {})).fit(dataset.train)


def stored(model, folder):
    model.save(folder)
    return (folder / "state.json").read_bytes(), (folder / "arrays.safetensors").read_bytes()


@pytest.mark.parametrize("name", ZERO_SHOT)
def test_a_new_label_is_ranked_and_the_model_stays_as_it_was(name, checkerboard, tmp_path):
    model = fitted(name, checkerboard)
    before = stored(model, tmp_path / "before")
    predicted = model.predict(checkerboard.test, 5)
    tried = try_label(model, "violet star in the night", "violet star", name="stars", k=3)
    assert tried.name == "stars"
    assert tried.label_id == len(checkerboard.labels)
    assert tried.rank is None or 1 <= tried.rank <= len(checkerboard.labels) + 1
    assert tried.sentence.startswith("stars ")
    assert stored(model, tmp_path / "after") == before
    again = model.predict(checkerboard.test, 5)
    assert np.array_equal(predicted.ids, again.ids)
    assert np.array_equal(predicted.scores, again.scores)
    assert read_state(tmp_path / "after")


def test_rank_score_reasons_and_whom_it_displaces(checkerboard):
    model = fitted("tfidf", checkerboard)
    tried = try_label(model, "red square", "red square", k=4)
    # The document equals four labels already; the new one has the same score and the highest id.
    assert (tried.rank, tried.displaced) == (5, [])
    assert tried.score == pytest.approx(1.0)
    better = try_label(model, "red square violet", "red square violet star", k=4)
    assert better.rank == 1
    assert better.displaced == ["L6"]
    assert better.explanation.score == pytest.approx(better.score)
    assert better.sentence == f"red square violet star comes 1st with a score of {better.score:.4f} and pushes out L6."
    assert better.changes["state"].tolist() == ["new", "down", "down", "down", "out"]


def test_words_the_model_does_not_know(checkerboard):
    tried = try_label(fitted("tfidf", checkerboard), "red square", "zzz qqq")
    assert tried.rank is None
    assert tried.score is None
    assert "The model knows none of the words of zzz qqq" in tried.sentence


@pytest.mark.parametrize("name", OTHERS)
def test_methods_that_cannot_say_why(name, checkerboard):
    model = registry.find_method_class(name)()
    reason = explain_no_new_labels(model)
    assert "cannot score a new one" in reason
    with pytest.raises(ConfigError, match="cannot score a new one"):
        try_label(model, "red", "blue")


def test_ready_made_features_cannot_read_a_label(jumble):
    model = fitted("tfidf", jumble)
    assert "ready-made features" in explain_no_new_labels(model)
    assert explain_no_new_labels(fitted("popularity", jumble)) is not None


def test_one_document_and_a_text_are_needed(checkerboard):
    model = fitted("tfidf", checkerboard)
    with pytest.raises(ConfigError, match="needs a text"):
        try_label(model, "red", "  ")
    with pytest.raises(DataError, match="one document, got 8"):
        try_label(model, checkerboard.test, "red")
    assert try_label(model, checkerboard.test.take([0]), "red square").rank is not None


def test_an_edited_text(checkerboard):
    model = fitted("tfidf", checkerboard)
    edit = compare_edit(model, "red square", "black circle", k=4)
    assert edit.changes["state"].tolist() == ["new"] * 4 + ["out"] * 4
    assert edit.after.to_records()[0]["label"] == "L1"
    assert compare_edit(model, "red square", "red square").sentence == "No rank changed."
    assert edit.sentence == "Of the first labels 4 came in, 4 dropped out."


def test_a_test_document_keeps_its_filter_pairs_when_it_is_edited(checkerboard):
    model, test = fitted("tfidf", checkerboard), checkerboard.test
    first = int(model.predict("black circle", 1).ids[0, 0])
    document = replace(test, filter_pairs=np.array([[2, first]])).take([2])
    edit = compare_edit(model, document, "black circle", k=4)
    assert first not in edit.before.ids
    assert first not in edit.after.ids
    expected = model.predict(document.replace_texts(["black circle"]), 4)
    assert np.array_equal(edit.after.ids[:, :4], expected.ids)
    assert first not in edit.changes["label_id"].tolist()
    tried = try_label(model, document.replace_texts(["black circle"]), "black circle", k=4)
    assert first not in tried.changes["label_id"].tolist()
    with pytest.raises(DataError, match="one document, got 8"):
        compare_edit(model, test, "black circle")


def test_probabilities_before_and_after():
    scores = np.array([[3.0, 2]], np.float32)
    before = TopK(np.array([[0, 1]], np.int32), scores, probabilities=np.array([[0.8, 0.5]], np.float32))
    after = TopK(np.array([[1, 2]], np.int32), scores, probabilities=np.array([[0.75, 0.25]], np.float32))
    changes = compare_ranks(before, after, k=1)
    assert changes["label_id"].tolist() == [1, 0]
    assert changes["probability_before"].tolist() == pytest.approx([0.5, 0.8])
    assert changes["probability_after"].tolist() == pytest.approx([0.75, np.nan], nan_ok=True)
    edit = EditedText(before, after, changes)
    assert edit.find_probabilities("1") == (0.5, 0.75)
    assert edit.find_probabilities("2") == (None, 0.25)
    assert edit.find_probabilities("nowhere") == (None, None)
    assert edit.sentence == "Of the first labels 1 came in, 1 dropped out."


def test_ranks_may_lie_below_the_first_k():
    before = TopK(np.array([[0, 1, 2]], np.int32), np.array([[3.0, 2, 1]], np.float32))
    after = TopK(np.array([[2, 0, 1]], np.int32), np.array([[9.0, 3, 2]], np.float32))
    changes = compare_ranks(before, after, k=2)
    assert changes[["label_id", "rank_before", "rank_after", "change", "state"]].to_numpy().tolist() == [
        [2, 3, 1, 2, "new"],
        [0, 1, 2, -1, "down"],
        [1, 2, 3, -1, "out"],
    ]
