"""Looking through documents, and groups by recipe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.core.dataset import Dataset
from xcwork.data.browse import choose_next_document, find_documents, get_document_text, make_documents_table
from xcwork.data.group_recipes import measure_groups, regroup
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError


def test_documents_are_found_by_text_label_and_name(checkerboard: Dataset) -> None:
    train = checkerboard.train
    red = [row for row, text in enumerate(train.texts) if "red" in text]
    assert find_documents(train, search="  RED ").tolist() == red
    assert find_documents(train, label=0).tolist() == red
    assert find_documents(train, search="note2", label=0).tolist() == [2, 20, 22]
    assert find_documents(train, search="L1").tolist() == [row for row in range(24) if row % 2]
    assert len(find_documents(train)) == len(train)
    assert len(find_documents(train, search="no such word")) == 0


def test_documents_as_a_table(checkerboard: Dataset) -> None:
    frame = make_documents_table(checkerboard.train, np.array([1, 26]))
    assert frame["row"].tolist() == [1, 26]
    assert frame["labels"].tolist() == ["L1 · L3 · L5 · L7", ""]


@given(n_documents=st.integers(2, 3000), start=st.integers(0, 2999))
def test_one_after_the_other_every_document_comes_once(n_documents: int, start: int) -> None:
    row, seen = start % n_documents, []
    for _ in range(n_documents):
        row = choose_next_document(row, n_documents)
        seen.append(row)
    assert sorted(seen) == list(range(n_documents))
    assert seen[-1] == start % n_documents, "a full circle ends where it began"


def test_the_next_document_is_far_from_the_last() -> None:
    steps = [abs(choose_next_document(row, 975) - row) for row in range(975)]
    assert min(steps) > 975 / 4


def test_a_single_document_is_followed_by_itself() -> None:
    assert choose_next_document(0, 1) == 0


def test_a_document_without_text_shows_its_strongest_terms(jumble: Dataset) -> None:
    row = jumble.test.X[[0]].toarray().ravel()
    strongest = f"t{int(row.argmax())}"
    assert get_document_text(jumble.test, 0).split(", ")[0] == strongest
    assert get_document_text(jumble.train, 3) == ""


def test_recipes_group_the_training_part_only(checkerboard: Dataset) -> None:
    grouped = regroup(checkerboard, "random:size=3,seed=1")
    facts = measure_groups(grouped.train)
    assert (facts.groups, facts.members) == (9, 3.0)
    assert grouped.test is checkerboard.test
    assert (grouped.train.Y != checkerboard.train.Y).nnz == 0
    aggregated = regroup(checkerboard, "random:size=3,seed=1,aggregate=true")
    assert aggregated.train.Y.nnz == pytest.approx(facts.dilution * checkerboard.train.Y.nnz)
    assert len(set(regroup(checkerboard, "clusters:depth=2,noise=0.5").train.groups)) == 4


def test_a_document_alone_is_not_diluted(checkerboard: Dataset) -> None:
    assert measure_groups(replace(checkerboard.train, groups=None)).dilution == 1.0


@pytest.mark.parametrize(
    ("recipe", "sentence"),
    [
        ("pairs:size=2", "must be one of random, clusters, names"),
        ("random", "need size=NUMBER"),
        ("random:3", "takes name=value, got '3'; write random:size=10"),
        ("random:size=many", "size must be a number"),
        ("random:size=2,depth=1", "no setting 'depth'"),
        ("random:size=2,aggregate=maybe", "aggregate must be true or false"),
    ],
)
def test_a_recipe_that_cannot_be_is_a_sentence(checkerboard: Dataset, recipe: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        regroup(checkerboard, recipe)


def test_groups_are_an_option_of_every_source() -> None:
    dataset = load_dataset(
        "synthetic:n_documents=50,n_labels=10,n_topics=2,labels_per_document=1", groups="random:size=5"
    )
    assert len(set(dataset.train.groups)) == 8
    assert "random:size=5" in dataset.source
