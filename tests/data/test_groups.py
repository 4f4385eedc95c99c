"""Groups of documents whose labels are known together only."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data import groups as grouping
from xcwork.data.groups import (
    assign_group_labels,
    assign_groups,
    cluster_into_groups,
    collect_groups,
    draw_random_groups,
    group_by_name,
)
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError, DataError


def split_of(Y: list[list[int]], groups: list[str] | None = None, X: np.ndarray | None = None) -> Split:
    labels = np.array(Y, np.float32)
    X = np.eye(len(Y), dtype=np.float32) if X is None else X.astype(np.float32)
    space = LabelSpace([f"l{i}" for i in range(labels.shape[1])])
    return Split(sparse.csr_array(X), sparse.csr_array(labels), space, Features(X.shape[1]), groups=groups)


def test_labels_are_merged_as_a_list_or_a_set():
    split = split_of([[1, 1, 0], [1, 0, 0], [0, 0, 1]], ["b", "b", "a"])
    as_list, as_set = collect_groups(split, "list"), collect_groups(split, "set")
    assert as_list.names == as_set.names == ["b", "a"]
    assert as_list.members.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert as_list.labels.toarray().tolist() == [[2, 1, 0], [0, 0, 1]]
    assert as_set.labels.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    for groups in (as_list, as_set):
        assert not groups.repeated
        assert groups.share_labels().toarray().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    with pytest.raises(ConfigError, match="merge must be one of list, set, got 'sum'"):
        collect_groups(split, "sum")


def test_labels_written_to_every_member_count_once():
    groups = collect_groups(split_of([[1, 1, 0], [1, 1, 0], [0, 0, 1]], ["b", "b", "a"]))
    assert groups.repeated
    assert groups.labels.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]


def test_without_groups_every_document_is_its_own():
    split = split_of([[1, 0], [0, 1], [1, 1]])
    groups = collect_groups(split)
    assert groups.names == ["document 0", "document 1", "document 2"]
    np.testing.assert_array_equal(groups.members.toarray(), np.eye(3))
    np.testing.assert_array_equal(groups.labels.toarray(), split.Y.toarray())


def test_a_document_without_a_group_is_one_of_its_own():
    split = assign_groups(split_of([[1, 0], [0, 1], [1, 1], [0, 0], [1, 1]]), ["x", None, float("nan"), "", "x"])
    groups = collect_groups(split)
    assert groups.names == ["x", "document 1", "document 2", "document 3"]
    assert groups.members.toarray().sum(axis=1).tolist() == [2, 1, 1, 1]
    assert groups.labels.toarray()[0].tolist() == [2, 1]


def test_ids_may_be_numbers_or_texts():
    numbers, texts = (assign_groups(split_of([[1], [0], [1]]), ids) for ids in ([7, 8, np.int64(7)], ["7", "8", "7"]))
    assert numbers.groups == texts.groups == ["7", "8", "7"]


def test_the_number_of_ids_must_fit():
    with pytest.raises(DataError, match="X has 2 documents but groups has 3"):
        assign_groups(split_of([[1], [0]]), ["a", "a", "b"])


def test_labels_may_be_given_for_groups_alone():
    split = split_of([[0, 0, 0]] * 4, ["a", "b", "a", "c"])
    known = assign_group_labels(split, {"a": ["l0", 2, "l0"], "b": []})
    assert known.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 0, 0]]
    assert collect_groups(known).labels.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]


def test_groups_without_members_and_unknown_labels_are_refused():
    split = split_of([[0, 0]] * 2, ["a", "b"])
    with pytest.raises(DataError, match="2 groups have labels but no members, the first is 'z'; add their documents"):
        assign_group_labels(split, {"a": [0], "z": [1], "y": [1]})
    with pytest.raises(DataError, match="there is no label called 'l9'"):
        assign_group_labels(split, {"a": ["l9"]})


def test_aggregating_hides_who_carries_what_and_nothing_else():
    split = split_of([[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["a", "a", "b"])
    hidden = grouping.aggregate_labels(split)
    assert hidden.Y.toarray().tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert (collect_groups(hidden).labels != collect_groups(split).labels).nnz == 0
    assert hidden.Y.data.tolist() == [1.0] * 5


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 5))
def test_random_groups_have_the_size_and_hold_everybody(n: int, size: int, seed: int):
    split = draw_random_groups(split_of([[1]] * n), size, seed=seed)
    sizes = sorted(Counter(split.groups).values())
    assert sum(sizes) == n
    assert sizes[1:] == [size] * (len(sizes) - 1)
    assert split.groups == draw_random_groups(split, size, seed=seed).groups


def test_random_groups_differ_by_seed_and_need_a_member():
    split = split_of([[1]] * 40)
    assert draw_random_groups(split, 4, seed=0).groups != draw_random_groups(split, 4, seed=1).groups
    with pytest.raises(ConfigError, match="a group has at least 1 member, got 0"):
        draw_random_groups(split, 0)


def blobs(n: int = 64, kinds: int = 4, seed: int = 0) -> tuple[Split, np.ndarray]:
    """Documents of a few kinds that share no features, in random order."""
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(n) % kinds)
    X = np.zeros((n, 3 * kinds))
    for row, k in enumerate(kind):
        X[row, 3 * k : 3 * k + 3] = rng.uniform(0.5, 1.5, 3)
    return split_of(np.eye(kinds)[kind].tolist(), X=X), kind


@pytest.mark.parametrize(("balanced", "depth"), [(True, 1), (True, 2), (False, 1)])
def test_clustering_finds_documents_that_belong_together(balanced: bool, depth: int):
    split, kind = blobs(kinds=2**depth)
    groups = cluster_into_groups(split, depth, balanced=balanced, seed=1).groups
    together = {group: set(kind[[g == group for g in groups]].tolist()) for group in groups}
    assert sorted(map(list, together.values())) == [[k] for k in range(2**depth)]
    assert set(Counter(groups).values()) == {64 // 2**depth}


def test_depth_gives_twice_as_many_groups_until_everybody_is_alone():
    split, _ = blobs(20)
    assert [len(set(cluster_into_groups(split, depth).groups)) for depth in (0, 1, 2, 3, 9)] == [1, 2, 4, 8, 20]


def purity(split: Split, kind: np.ndarray, noise: float) -> float:
    found = [cluster_into_groups(split, 3, noise=noise, seed=seed).groups for seed in range(5)]
    rows = [[i for i, g in enumerate(groups) if g == group] for groups in found for group in set(groups)]
    return float(np.mean([np.bincount(kind[members]).max() / len(members) for members in rows]))


def test_noise_makes_groups_mixed():
    split, kind = blobs(128)
    pure, mixed, random = (purity(split, kind, noise) for noise in (0.0, 2.0, 50.0))
    assert pure > 0.9
    assert pure > mixed > random
    assert random < 0.5


def test_empty_documents_are_grouped_too():
    split = split_of([[1]] * 8, X=np.zeros((8, 3)))
    assert len(set(cluster_into_groups(split, 2).groups)) == 4
    assert len(set(cluster_into_groups(split, 2, balanced=False).groups)) == 1


def test_depth_and_noise_must_not_be_negative():
    split, _ = blobs(8)
    for bad in ({"depth": -1}, {"depth": 1, "noise": -0.5}):
        with pytest.raises(ConfigError, match="depth and noise must not be negative"):
            cluster_into_groups(split, **bad)


def test_documented_objects_are_grouped_by_class_module_or_package():
    split = replace(split_of([[1]] * 3), uids=["pandas.Series.dt.year", "numpy.linalg.norm", "numpy.ndarray.sum"])
    by = {level: group_by_name(split, level).groups for level in grouping.LEVELS}
    assert by == {
        "class": ["pandas.Series.dt", "numpy.linalg", "numpy.ndarray"],
        "module": ["pandas", "numpy.linalg", "numpy"],
        "package": ["pandas", "numpy", "numpy"],
    }
    with pytest.raises(DataError, match="these documents have no dotted names"):
        group_by_name(split_of([[1]]))
    with pytest.raises(ConfigError, match="level must be one of class, module, package, got 'file'"):
        group_by_name(split, "file")


def test_a_table_names_the_group_of_each_document(tmp_path, home):
    rows = ["text,labels,brand", "red shoe,a;b,X", "red boot,a;b,X", "blue hat,c,12", "green cap,d,"]
    for part in ("train", "test"):
        (tmp_path / f"{part}.csv").write_text("\n".join(rows) + "\n")
    dataset = load_dataset(tmp_path, groups_column="brand")
    assert dataset.train.groups == ["X", "X", "12", ""]
    assert len(collect_groups(dataset.train)) == 3
    assert load_dataset(tmp_path).train.groups is None
    with pytest.raises(DataError, match="maker"):
        load_dataset(tmp_path, groups_column="maker")


def test_a_group_is_never_torn_apart_and_ungrouped_documents_are_split(tmp_path, home):
    rows = ["text,labels,group"]
    rows += [f"word{i} word{i + 1},a,{'' if i % 2 else f'g{i // 10}'}" for i in range(200)]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    dataset = load_dataset(tmp_path / "table.csv")
    train, test = ({g for g in part.groups if g} for part in (dataset.train, dataset.test))
    assert train
    assert test
    assert not train & test
    assert all(part.groups.count("") > 5 for part in (dataset.train, dataset.test))


def test_groups_are_part_of_the_fingerprint():
    split = split_of([[1, 0], [0, 1]])
    a, b = (Dataset("d", replace(split, groups=groups), split) for groups in (["x", "x"], ["x", "y"]))
    assert a.fingerprint != b.fingerprint
