"""Groups by recipe."""

from __future__ import annotations

from dataclasses import replace

import pytest

from xcwork.core.dataset import Dataset
from xcwork.data.group_recipes import measure_groups, regroup_dataset
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError


def test_recipes_group_the_training_split_only(checkerboard: Dataset) -> None:
    grouped = regroup_dataset(checkerboard, "random:size=3,seed=1")
    facts = measure_groups(grouped.train)
    assert (facts.groups, facts.members) == (9, 3.0)
    assert grouped.test is checkerboard.test
    assert (grouped.train.Y != checkerboard.train.Y).nnz == 0
    aggregated = regroup_dataset(checkerboard, "random:size=3,seed=1,aggregate=true")
    assert aggregated.train.Y.nnz == pytest.approx(facts.dilution * checkerboard.train.Y.nnz)
    assert len(set(regroup_dataset(checkerboard, "clusters:depth=2,noise=0.5").train.groups)) == 4


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
        regroup_dataset(checkerboard, recipe)


def test_groups_are_an_option_of_every_source() -> None:
    dataset = load_dataset(
        "synthetic:n_documents=50,n_labels=10,n_topics=2,labels_per_document=1", groups="random:size=5"
    )
    assert len(set(dataset.train.groups)) == 8
    assert "random:size=5" in dataset.source
