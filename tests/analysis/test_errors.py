"""Missed labels and label hints on data where every cause is planted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.analysis.errors import (
    STATES,
    find_likely_missing,
    find_likely_wrong,
    list_missed_labels,
    triage_missed_labels,
)
from xcwork.core.bands import make_absolute_bands, make_shot_bands
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError


def dataset_of(train: np.ndarray, test: np.ndarray, **options) -> Dataset:
    labels = LabelSpace([f"label {i}" for i in range(test.shape[1])])
    splits = []
    for Y, extra in ((train, {}), (test, options)):
        X = sparse.csr_array((len(Y), 1), dtype=np.float32)
        splits.append(Split(X, sparse.csr_array(np.asarray(Y, np.float32)), labels, Features(1), **extra))
    return Dataset("toy", *splits)


def ranked(rows: list[list[int]], k: int) -> TopK:
    ids = np.full((len(rows), k), -1, np.int32)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    scores = np.where(ids >= 0, 1.0 - 0.1 * np.arange(k), -np.inf).astype(np.float32)
    return TopK(ids, scores)


def test_every_state_is_told_apart():
    train = np.array([[1, 1, 1, 1, 0, 0]] * 6)
    # Document 0: label 0 is found, 1 outranked, 2 not listed, 3 filtered, 4 unseen and absent, 5 unseen but listed.
    dataset = dataset_of(train, np.array([[1, 1, 1, 1, 1, 1]]), filter_pairs=np.array([[0, 3]]), uids=["a"])
    table = list_missed_labels(ranked([[0, 5, 1]], 5), dataset, k=1).set_index("label_id")
    assert table["state"].to_dict() == {
        1: "outranked",
        2: "not listed",
        3: "filtered",
        4: "not listed, unseen label",
        5: "outranked",
    }
    assert table["rank"].fillna(0).to_dict() == {1: 3, 2: 0, 3: 0, 4: 0, 5: 2}
    assert table["score"].loc[[5, 1]].tolist() == pytest.approx([0.9, 0.8])
    assert table["score"].loc[[2, 3, 4]].isna().all()
    assert table["top_label"].tolist() == ["label 0"] * 5
    assert table["band"].to_dict() == {1: "torso", 2: "torso", 3: "torso", 4: "zero-shot", 5: "zero-shot"}
    assert table["uid"].tolist() == ["a"] * 5
    assert table["label"].loc[2] == "label 2"


def test_a_document_without_predictions():
    dataset = dataset_of(np.ones((2, 2)), np.ones((1, 2)))
    for topk in (TopK.make_empty(1, 5), TopK.make_empty(1, 0)):
        table = list_missed_labels(topk, dataset)
        assert table["state"].tolist() == ["not listed"] * 2
        assert table["top_label"].isna().all()
        assert table["top_score"].isna().all()
        assert table["score"].isna().all()


def test_nothing_missed_is_an_empty_table_with_all_columns():
    dataset = dataset_of(np.ones((2, 1)), np.ones((1, 1)))
    table = list_missed_labels(ranked([[0]], 1), dataset)
    assert len(table) == 0
    assert {"document", "label_id", "state", "rank", "top_label"} <= set(table.columns)
    assert triage_missed_labels(table, make_absolute_bands(dataset.train.label_frequencies))["total"].tolist() == [
        0,
        0,
        0,
        0,
    ]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_missed_labels_equal_a_plain_loop_and_triage_counts_them(seed):
    rng = np.random.default_rng(seed)
    n, n_labels, width, k = 6, 8, 5, 2
    train, test = rng.random((9, n_labels)) < 0.2, rng.random((n, n_labels)) < 0.4
    lists = [rng.permutation(n_labels)[: rng.integers(0, width + 1)].tolist() for _ in range(n)]
    dataset = dataset_of(train, test)
    frequencies, expected = train.sum(axis=0), set()
    for document, row in enumerate(lists):
        for label in np.flatnonzero(test[document]).tolist():
            if label in row[:k]:
                continue
            listed = (
                "outranked" if label in row else "not listed, unseen label" if frequencies[label] == 0 else "not listed"
            )
            expected.add((document, label, listed))
    table = list_missed_labels(ranked(lists, width), dataset, k=k, bands=make_shot_bands(frequencies))
    assert set(zip(table["document"], table["label_id"], table["state"], strict=True)) == expected
    counts = triage_missed_labels(table, make_shot_bands(frequencies)).set_index("band")
    assert counts.index.tolist() == ["many-shot", "few-shot", "zero-shot"]
    assert counts["total"].sum() == len(expected)
    assert counts.loc["zero-shot", "not listed"] == 0
    for state in STATES:
        assert counts[state].sum() == sum(found == state for _, _, found in expected)


def planted(n: int = 200) -> tuple[TopK, np.ndarray]:
    """One label per document, predicted first with a score above 0.5; four wrong ones below 0.5 follow."""
    rng = np.random.default_rng(0)
    n_labels = 10
    truth = np.zeros((n, n_labels))
    truth[np.arange(n), np.arange(n) % n_labels] = 1
    ids = (np.arange(n)[:, None] + np.arange(5)) % n_labels
    scores = np.column_stack([0.6 + 0.4 * rng.random(n), -np.sort(-0.4 * rng.random((n, 4)), axis=1)])
    return TopK(ids.astype(np.int32), scores.astype(np.float32)), truth


def test_a_forgotten_label_comes_first():
    topk, truth = planted()
    complete = truth.copy()
    truth[17] = 0  # the annotator forgot the only label of document 17, which the model is sure of
    table = find_likely_missing(topk, dataset_of(complete, truth), limit=5)
    assert (table["document"][0], table["label_id"][0], table["rank"][0]) == (17, 7, 1)
    assert table["label"][0] == "label 7"
    assert table["n_true"][0] == 0
    assert table["confidence"][0] > 90
    assert table["confidence"][1] < 10, "all other wrong predictions have scores that are usually wrong"
    assert len(table) == 5


def test_filter_pairs_and_true_labels_are_never_called_missing():
    topk, truth = planted()
    pairs = np.array([[17, 7]])
    complete, truth[17] = truth.copy(), 0
    table = find_likely_missing(topk, dataset_of(complete, truth, filter_pairs=pairs), limit=10_000)
    assert not ((table["document"] == 17) & (table["label_id"] == 7)).any()
    assert not truth[table["document"], table["label_id"]].any()
    assert len(table) == 200 * 4


def test_confidence_rises_with_the_score_and_matches_the_share_of_correct_predictions():
    rng = np.random.default_rng(1)
    scores = np.sort(rng.random((2000, 1)), axis=0)[::-1]
    truth = (rng.random((2000, 1)) < scores).astype(float)  # a calibrated score
    topk = TopK(np.zeros((2000, 1), np.int32), scores.astype(np.float32))
    table = find_likely_missing(topk, dataset_of(truth, truth), limit=10_000)
    assert np.all(np.diff(table["confidence"]) <= 0)
    assert np.abs(table["confidence"] / 100 - table["score"]).mean() < 0.1


def test_a_wrongly_assigned_label_comes_first():
    topk, truth = planted()
    complete = truth.copy()
    truth[30, 6] = 1  # document 30 has nothing of label 6, which is found everywhere else
    table = find_likely_wrong(topk, dataset_of(complete, truth), k=1)
    assert table["document"].tolist() == [30]
    assert table["label_id"].tolist() == [6]
    assert table["rank"].tolist() == [pd.NA]
    assert table["found_elsewhere"].tolist() == [100.0]
    assert table["suspicion"].tolist() == pytest.approx([100 * 21 / 22]), "found in all twenty other documents"
    assert table["top_label"].tolist() == ["label 0"]


def test_a_label_that_is_never_found_is_no_hint():
    dataset = dataset_of(np.ones((2, 3)), np.array([[0, 1, 0], [0, 1, 1]]))
    assert len(find_likely_wrong(ranked([[0], [0]], 2), dataset)) == 0


def test_suspicion_is_the_chance_to_be_found_times_the_lack_of_confidence():
    # Label 0 is found in 2 of the 3 other documents; in document 2 it is not listed, in document 3 it comes second.
    truth = np.array([[1, 0], [1, 0], [1, 0], [1, 0]])
    topk = ranked([[0, 1], [0, 1], [1], [1, 0]], 2)
    table = find_likely_wrong(topk, dataset_of(truth, truth), k=1).set_index("document")
    assert table["found_elsewhere"].tolist() == pytest.approx([200 / 3, 200 / 3])
    # Fewer than twenty predictions a bin: one bin, in which 3 of 7 predictions are right.
    assert table.loc[3, "suspicion"] == pytest.approx(100 * 3 / 5 * (1 - 3 / 7))
    assert table.loc[2, "suspicion"] == pytest.approx(100 * 3 / 5)
    assert table.index.tolist() == [2, 3]


@pytest.mark.parametrize("find", [find_likely_missing, find_likely_wrong])
def test_limits_and_empty_lists(find):
    dataset = dataset_of(np.ones((2, 2)), np.ones((1, 2)))
    assert len(find(TopK.make_empty(1, 5), dataset)) == 0
    with pytest.raises(ConfigError, match="at least 1 row"):
        find(TopK.make_empty(1, 5), dataset, limit=0)


def test_hints_follow_the_calibration_of_the_run():
    truth = np.array([[1, 0], [0, 1], [1, 0]])
    topk = ranked([[1, 0], [1, 0], [1, 0]], 2)
    known = replace(topk, probabilities=np.array([[0.5, 0.4], [0.9, 0.1], [0.7, 0.6]], np.float32))
    dataset = dataset_of(truth, truth)
    assert find_likely_missing(known, dataset, limit=2)["confidence"].round(1).tolist() == [70.0, 50.0]
    assert find_likely_missing(known, dataset, limit=2)["document"].tolist() == [2, 0]


def test_misses_of_one_label_are_a_part_of_all(jumble: Dataset) -> None:
    topk = TopK.make_empty(17, 5)
    every = list_missed_labels(topk, jumble, k=5)
    for label in range(11):
        alone = list_missed_labels(topk, jumble, k=5, label=label)
        assert alone["document"].tolist() == every[every["label_id"] == label]["document"].tolist()
