"""Documents as bags of sentences, and sentence embeddings as features of any method."""

from __future__ import annotations

import pytest

from tests.support.stub_encoder import HashedWords
from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawSplit
from xcwork.errors import DataError
from xcwork.methods.registry import create
from xcwork.studies.sentence_bags import embed_dataset, split_into_bags

TEXTS = [
    "The soup was wonderful. The waiter was rude and slow!",
    "A quiet room with a view.",
    "Good soup, good bread? Yes.",
]
LABELS = [["food", "service"], ["room"], ["food"]]


@pytest.fixture
def dataset():
    raw = RawSplit(texts=TEXTS * 4, labels=LABELS * 4)
    return build_dataset(RawDataset(train=raw, test=raw, source="made up"), name="reviews")


def test_every_sentence_has_the_labels_of_its_document(dataset) -> None:
    bags = split_into_bags(dataset.train)
    assert bags.texts[:3] == ["The soup was wonderful.", "The waiter was rude and slow!", "A quiet room with a view."]
    assert bags.groups[:3] == ["document 0", "document 0", "document 1"]
    assert (bags.Y[[0]] != dataset.train.Y[[0]]).nnz == 0
    assert (bags.Y[[1]] != dataset.train.Y[[0]]).nnz == 0


def test_short_pieces_alone_are_the_whole_text(dataset) -> None:
    assert split_into_bags(dataset.train).texts[3] == "Good soup, good bread?"  # "Yes." is too short to say anything


def test_a_network_for_bags_learns_from_sentence_embeddings(dataset) -> None:
    embedded = embed_dataset(dataset, encoder=HashedWords())
    assert embedded.train.X.shape[1] == HashedWords().dimension
    assert embedded.train.labels.Z is None
    bags = split_into_bags(dataset.train)
    from_bags = embed_dataset(type(dataset)("bags", bags, dataset.test), encoder=HashedWords())
    model = create("deep_miml", width=16, epochs=20, min_steps=0, concepts=2, learning_rate=0.01).fit(from_bags.train)
    assert model.evaluate_bags(from_bags.train, k=1)["P@1"] == 100


def test_without_texts_there_is_nothing_to_cut_or_to_embed(dataset) -> None:
    from dataclasses import replace

    split = replace(dataset.train, texts=None)
    with pytest.raises(DataError, match="no text"):
        split_into_bags(split)
    with pytest.raises(DataError, match="have none"):
        embed_dataset(replace(dataset, train=split), encoder=HashedWords())
