"""What a page says about a dataset: verdict, checks, similar names, languages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.data.card import describe
from xcwork.data.label_names import find_similar_names, make_name_key
from xcwork.data.load import load_dataset
from xcwork.data.profile import DatasetProfile, judge_dataset, list_checks, make_profile

SAME = [
    ("Machine learning", "machine-learning", "machine learnings", "MACHINE_LEARNING"),
    ("café", "cafe", "Cafés"),
    ("C++", "c++"),
]
DIFFERENT = [("C", "C++"), ("C#", "C"), ("numpy.ma.sort", "numpy.masort"), ("gas", "ga"), ("glass", "glas"), ("1", "2")]


@pytest.mark.parametrize("names", SAME)
def test_names_that_mean_the_same_are_found(names: tuple[str, ...]) -> None:
    assert find_similar_names(["other", *names, "else"]) == [list(range(1, len(names) + 1))]


@pytest.mark.parametrize("names", DIFFERENT)
def test_names_that_mean_something_else_are_not(names: tuple[str, str]) -> None:
    assert find_similar_names(names) == []


def test_names_without_a_letter_are_not_all_alike() -> None:
    assert find_similar_names(["?!", "…", "--"]) == []


@given(st.lists(st.text(max_size=8), max_size=30, unique=True))
def test_groups_are_apart_and_have_one_key(names: list[str]) -> None:
    groups = find_similar_names(names)
    members = [label for group in groups for label in group]
    assert len(members) == len(set(members))
    assert all(len({make_name_key(names[label]) for label in group}) == 1 < len(group) for group in groups)


@pytest.fixture
def profile(tmp_path: Path) -> DatasetProfile:
    rows = [f"the {fruit} is number {i},{fruit}|fruit" for i in range(10) for fruit in ("apple", "pear")]
    rows += ["the odd one is here,Apples|pear|fruit", "the last one is there,"]
    file = tmp_path / "fruit.csv"
    file.write_text("\n".join(["text,labels", *rows]) + "\n")
    dataset = load_dataset(file)
    return make_profile(dataset, describe(dataset))


def test_a_profile_counts_what_is_there(profile: DatasetProfile) -> None:
    assert profile.frequent_labels[0].name == "fruit"
    assert profile.labels_per_document == {"0": 1, "1": 0, "2": 20, "3": 1}
    assert [set(group) for group in profile.similar_names] == [{"Apples", "apple"}]
    assert profile.languages == {"English": 1.0}
    failed = [check.name for check in profile.checks if not check.is_passed]
    assert "Every document has a label" in failed
    assert "No document occurs twice" not in failed
    assert profile.n_passed == len(profile.checks) - len(failed)


def test_the_verdict_follows_the_counts() -> None:
    card = describe(load_dataset("synthetic:n_documents=400,n_labels=40,n_topics=4,unseen_share=0.0"))
    sound = replace(
        card,
        orphan_labels=0,
        duplicate_documents={"train": 0, "test": 0},
        unlabelled_documents={"train": 0, "test": 0},
        empty_documents={"train": 0, "test": 0},
        overlapping_documents=0,
        n_unseen_labels=0,
        missing_label_texts=None,
        train_documents_per_label={"mean": 9.0, "median": 9.0, "max": 30},
    )
    assert judge_dataset(sound) == "Ready to train: half of the labels have at least 9 training documents."
    assert len(list_checks(sound)) == 6
    rare = replace(sound, train_documents_per_label={"mean": 1.2, "median": 1.0, "max": 3}, n_unseen_labels=1)
    assert judge_dataset(rare) == (
        "Ready to train: half of the labels have at most 1 training document, so most of them are rare, "
        "and 1 label has none."
    )
    assert judge_dataset(replace(rare, orphan_labels=3)).startswith("Can be trained, but 1 of 6 checks failed:")
    assert judge_dataset(replace(sound, n_seen_labels=0)).startswith("Cannot be trained on")
