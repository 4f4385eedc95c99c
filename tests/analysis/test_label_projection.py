"""The label map: who is drawn, where, and that it stays the same."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.analysis.label_projection import label_map, sample_evenly
from xcwork.analysis.neighbours import LabelVectors
from xcwork.core.bands import shot_bands
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.progress import Callback, listening


@given(st.lists(st.integers(-1, 3), max_size=60), st.integers(1, 70), st.integers(0, 3))
def test_samples_are_even_over_the_groups(groups, size, seed):
    groups = np.array(groups, np.int64)
    chosen = sample_evenly(groups, size, seed=seed)
    counts, sizes = np.bincount(groups[chosen], minlength=4), np.bincount(groups[groups >= 0], minlength=4)
    assert len(chosen) == min(size, sizes.sum())
    assert len(set(chosen.tolist())) == len(chosen)
    assert (groups[chosen] >= 0).all()
    # A group that was not taken whole has at least as many as any other, but for rounding.
    assert all(counts[g] >= counts.max() - 1 for g in range(4) if counts[g] < sizes[g])


@pytest.fixture
def scene():
    """Three tight groups of labels far from each other; label 0 has no vector, label 59 no training document."""
    rng = np.random.default_rng(1)
    centres = np.eye(3)[np.arange(60) % 3] @ rng.normal(size=(3, 8)) * 5
    vectors = (centres + rng.normal(scale=0.1, size=(60, 8))).astype(np.float32)
    vectors[0] = 0
    Y = (rng.random((40, 60)) < 0.2).astype(np.float32)
    Y[:, 59] = 0
    labels = LabelSpace([f"label {i}" for i in range(60)])
    X = sparse.csr_array((40, 1), dtype=np.float32)
    split = Split(X, sparse.csr_array(Y), labels, Features(1))
    return LabelVectors(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), "toy"), Dataset(
        "toy", split, split
    )


def spread(points) -> float:
    """Mean distance inside the planted groups divided by the distance between their centres."""
    groups = [points[points["label_id"] % 3 == g][["x", "y"]].to_numpy() for g in range(3)]
    inside = np.mean([np.linalg.norm(g - g.mean(axis=0), axis=1).mean() for g in groups])
    centres = np.array([g.mean(axis=0) for g in groups])
    return inside / np.linalg.norm(centres - centres[[1, 2, 0]], axis=1).mean()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_groups_stay_together_in_every_form(scene, form):
    vectors, dataset = scene
    found = label_map(LabelVectors(form(vectors.vectors), "toy"), dataset, n_clusters=3)
    assert len(found.points) == 59
    assert found.n_without_vector == 1
    assert spread(found.points) < 0.1
    by_group = found.points.groupby(found.points["label_id"] % 3)["cluster"].nunique()
    assert by_group.tolist() == [1, 1, 1]
    assert found.points["cluster"].nunique() == 3
    assert "59 of 60 labels" in found.caption


@pytest.mark.slow
def test_umap_keeps_groups_and_repeats_itself(scene):
    vectors, dataset = scene
    first, again = (label_map(vectors, dataset, kind="umap", n_clusters=3) for _ in range(2))
    assert first.points.equals(again.points)
    assert spread(first.points) < 0.5


def test_a_sample_always_has_what_is_looked_for_and_does_not_move(scene):
    vectors, dataset = scene
    plain = label_map(vectors, dataset, max_points=20).points
    assert len(plain) == 18  # a tenth is kept free for labels that are looked for
    missing = sorted(set(range(1, 60)) - set(plain["label_id"]))[0]
    found = label_map(vectors, dataset, max_points=20, chosen=[missing, 0, 999], neighbours=1).points
    assert missing in found["label_id"].tolist()
    assert len(found) <= 20
    assert found[found["chosen"]]["label_id"].tolist()
    assert found.iloc[:18][["label_id", "x", "y"]].equals(plain[["label_id", "x", "y"]])
    # A label that is added lies among those that are like it.
    group = plain[plain["label_id"] % 3 == missing % 3][["x", "y"]].mean()
    here = found.set_index("label_id").loc[missing, ["x", "y"]]
    others = plain[plain["label_id"] % 3 != missing % 3][["x", "y"]]
    assert np.linalg.norm(here - group) < np.linalg.norm(others - here, axis=1).min()


@pytest.mark.slow
def test_labels_added_to_umap_lie_among_their_neighbours(scene):
    vectors, dataset = scene
    plain = label_map(vectors, dataset, kind="umap", max_points=30).points
    missing = sorted(set(range(1, 60)) - set(plain["label_id"]))[0]
    found = label_map(vectors, dataset, kind="umap", max_points=30, chosen=[missing], neighbours=0).points
    here = found.set_index("label_id").loc[missing]
    group = plain[plain["label_id"] % 3 == missing % 3]
    assert group["x"].min() <= here["x"] <= group["x"].max()
    assert group["y"].min() <= here["y"] <= group["y"].max()


def test_layouts_are_kept_and_recomputed_when_damaged(scene, tmp_path, caplog):
    vectors, dataset = scene
    folder = tmp_path / "maps"
    first = label_map(vectors, dataset, folder=folder)
    steps = Steps()
    with listening([steps]):
        again = label_map(vectors, dataset, folder=folder)
    assert not steps.phases
    assert first.points.equals(again.points)
    assert len(list(folder.iterdir())) == 1
    label_map(vectors, dataset, folder=folder, seed=1)
    assert len(list(folder.iterdir())) == 2
    for stored in folder.iterdir():
        (stored / "arrays.safetensors").write_bytes(b"damaged")
    with caplog.at_level(logging.WARNING), listening([steps]):
        assert label_map(vectors, dataset, folder=folder).points.equals(first.points)
    assert "is recomputed" in caplog.text
    assert steps.phases == ["drawing the label map"]


def test_a_folder_that_cannot_be_written_costs_only_a_line_in_the_log(scene, tmp_path, caplog):
    vectors, dataset = scene
    (tmp_path / "maps").write_text("a file stands where the folder should be")
    with caplog.at_level(logging.WARNING):
        assert len(label_map(vectors, dataset, folder=tmp_path / "maps").points) == 59
    assert "could not be kept" in caplog.text


class Steps(Callback):
    def __init__(self):
        self.phases = []

    def on_phase(self, phase, total):
        self.phases.append(phase)


def test_recall_and_bands_colour_the_points(scene):
    vectors, dataset = scene
    recall = np.arange(60.0)
    bands = shot_bands(dataset.train.label_frequencies)
    points = label_map(vectors, dataset, recall=recall, bands=bands).points
    assert points["recall"].tolist() == points["label_id"].tolist()
    assert points.set_index("label_id").loc[59, "band"] == "zero-shot"


@pytest.mark.parametrize(("n_labels", "kind"), [(1, "pca"), (2, "pca"), (3, "umap"), (2, "umap")])
def test_very_few_labels(n_labels, kind):
    labels = LabelSpace([f"l{i}" for i in range(n_labels)])
    split = Split(
        sparse.csr_array((1, 1), dtype=np.float32),
        sparse.csr_array(np.ones((1, n_labels), np.float32)),
        labels,
        Features(1),
    )
    found = label_map(
        LabelVectors(np.eye(n_labels, 2, dtype=np.float32) + 0.1, "toy"), Dataset("toy", split, split), kind=kind
    )
    assert len(found.points) == n_labels
    assert np.isfinite(found.points[["x", "y"]].to_numpy()).all()


def test_wrong_requests_are_refused(scene):
    vectors, dataset = scene
    with pytest.raises(ConfigError, match="one of pca, umap"):
        label_map(vectors, dataset, kind="tsne")
    with pytest.raises(ConfigError, match="2 to 10,000"):
        label_map(vectors, dataset, max_points=20_000)
    with pytest.raises(DataError, match="vectors for 5 labels"):
        label_map(LabelVectors(vectors.vectors[:5], "toy"), dataset)


def test_labels_without_any_vector_give_an_empty_map(scene):
    vectors, dataset = scene
    found = label_map(LabelVectors(np.zeros_like(vectors.vectors), "toy"), dataset)
    assert len(found.points) == 0
    assert "60 labels have no vector" in found.caption
