"""Layouts: planted groups stay together, outliers squeeze nobody, seeds repeat, two runs lie alike."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.layout import label_layout
from xcwork.layout.label_layout import LabelLayout, compute_label_layout
from xcwork.layout.label_vectors import LabelVectors
from xcwork.layout.projection import _import_umap, find_neighbours, project_by_pca
from xcwork.layout.regions import find_dense_places
from xcwork.layout.scaling import fit_into_square, turn_onto
from xcwork.progress import Callback, listen
from xcwork.sparse import normalise_rows

N_GROUPS = 4


def plant_vectors(n: int = 120, seed: int = 0) -> LabelVectors:
    """Make `n` labels in four tight groups; label 0 has no vector."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(N_GROUPS, 8))
    vectors = centres[np.arange(n) % N_GROUPS] + rng.normal(scale=0.1, size=(n, 8))
    vectors[0] = 0
    return LabelVectors(normalise_rows(vectors.astype(np.float32)), "planted")


def measure_spread(layout: LabelLayout) -> float:
    """Return the mean distance inside the groups divided by that between their centres."""
    groups = [layout.positions[layout.ids % N_GROUPS == group] for group in range(N_GROUPS)]
    inside = np.mean([np.linalg.norm(group - group.mean(axis=0), axis=1).mean() for group in groups])
    centres = np.array([group.mean(axis=0) for group in groups])
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    return float(inside / gaps[gaps > 0].min())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_pca_keeps_planted_groups_in_every_form(form):
    layout = compute_label_layout(LabelVectors(form(plant_vectors().vectors), "x"), np.ones(120, int), kind="pca")
    assert layout.ids.tolist() == list(range(1, 120))
    assert layout.find_missing().tolist() == [0]
    assert layout.caption == "120 labels, 1 of them without a place"
    assert measure_spread(layout) < 0.5


@pytest.mark.slow
def test_umap_keeps_planted_groups_repeats_itself_and_approximates():
    vectors, frequencies = plant_vectors(), np.arange(120)
    layout = compute_label_layout(vectors, frequencies)
    again = compute_label_layout(vectors, frequencies)
    assert np.array_equal(layout.positions, again.positions)
    assert measure_spread(layout) < 0.5
    part = compute_label_layout(vectors, frequencies, max_umap_labels=80)
    assert part.n_laid_out == 80
    assert "80 were laid out, the others stand beside the nearest of these" in part.caption
    assert measure_spread(part) < 0.5
    other = compute_label_layout(plant_vectors(seed=5), frequencies, reference=layout)
    apart = np.linalg.norm(other.positions - layout.positions, axis=1)
    alone = compute_label_layout(plant_vectors(seed=5), frequencies, seed=3)
    assert np.median(apart) < 0.3 <= np.median(np.linalg.norm(alone.positions - layout.positions, axis=1)) + 0.3
    assert all(
        np.linalg.norm(group_means(other)[group] - group_means(layout)[group])
        < min(np.linalg.norm(group_means(other)[group] - group_means(layout)[g]) for g in range(4) if g != group)
        for group in range(N_GROUPS)
    )


def test_what_umap_compiles_is_kept_for_the_next_process():
    umap_ = _import_umap()
    assert umap_.smooth_knn_dist.stats.cache_path
    assert umap_.optimize_layout_euclidean.__globals__["_nb_optimize_layout_euclidean_single_epoch"].stats.cache_path


def group_means(layout: LabelLayout) -> np.ndarray:
    return np.array([layout.positions[layout.ids % N_GROUPS == group].mean(axis=0) for group in range(N_GROUPS)])


def test_equal_vectors_do_not_coincide_when_they_are_placed():
    vectors = plant_vectors()
    vectors.vectors[5::4] = vectors.vectors[5]
    layout = compute_label_layout(vectors, np.ones(120, int), max_umap_labels=60)
    assert len(np.unique(layout.positions, axis=0)) == len(layout.ids)


def test_a_map_of_few_labels_does_not_pay_for_libraries_that_only_many_need(monkeypatch):
    for name in ("sklearn.decomposition", "sklearn.cluster"):
        monkeypatch.setitem(sys.modules, name, None)
    layout = compute_label_layout(plant_vectors(12), np.ones(12, int))
    assert set(find_dense_places(layout.positions, np.ones(11, int), 8).tolist()) == {-1}


def test_a_far_outlier_does_not_shrink_the_rest():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(1000, 2))
    alone = fit_into_square(cloud)
    beside = fit_into_square(np.vstack([cloud, [[1e6, 1e5]]]))
    widths = [float(np.ptp(each[:1000], axis=0).max()) for each in (alone, beside)]
    assert widths[1] > 0.95 * widths[0]
    assert beside[-1, 0] > beside[:-1, 0].max()


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 30), st.just(2)), elements=st.floats(-1e6, 1e6, width=32)))
def test_every_layout_fits_into_the_square_in_order_of_distance(positions):
    fitted = fit_into_square(positions)
    assert fitted.shape == positions.shape
    assert np.isfinite(fitted).all()
    assert np.abs(fitted).max(initial=0) <= 1


def test_a_turned_and_mirrored_layout_is_turned_back():
    rng = np.random.default_rng(1)
    ids, there = np.arange(50), rng.normal(size=(50, 2)).astype(np.float32)
    angle = 2.0
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.diag([1, -1])
    back = turn_onto((there @ turn + 7).astype(np.float32), ids, there, ids)
    offset = back - there
    assert np.abs(offset - offset.mean(axis=0)).max() < 1e-3


def test_neighbours_begin_with_the_label_itself_even_among_equal_ones():
    reduced = normalise_rows(np.repeat(np.eye(3, dtype=np.float32), 30, axis=0))
    found = find_neighbours(reduced, 5)
    assert found.ids[:, 0].tolist() == list(range(90))
    assert all(len(set(row)) == 5 for row in found.ids.tolist())
    assert (found.ids // 30 == np.arange(90)[:, None] // 30).all()


def test_pca_agrees_with_the_singular_value_decomposition():
    rows = np.random.default_rng(2).normal(size=(40, 6)).astype(np.float32)
    centred = rows - rows.mean(axis=0)
    expected = np.abs(centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T)
    assert np.allclose(np.abs(project_by_pca(rows)), expected, atol=1e-3)


class StopAt(Callback):
    def __init__(self, phase: str, step: int) -> None:
        self.place = (phase, step)

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        return (phase, step) >= self.place and phase == self.place[0]


def test_umap_stops_between_two_epochs_and_goes_on_with_what_it_has(tmp_path):
    vectors, frequencies = plant_vectors(), np.ones(120, int)
    with pytest.raises(Cancelled, match="stopped during laying out labels"), listen([StopAt("laying out labels", 20)]):
        compute_label_layout(vectors, frequencies, folder=tmp_path)
    assert [entry.name.split("-")[0] for entry in tmp_path.iterdir()] == ["reduced"]
    resumed = compute_label_layout(vectors, frequencies, folder=tmp_path)
    assert np.array_equal(resumed.positions, compute_label_layout(vectors, frequencies).positions)


@pytest.mark.parametrize(("n_labels", "kind"), [(0, "pca"), (1, "pca"), (2, "umap"), (3, "umap")])
def test_very_few_labels(n_labels, kind):
    vectors = LabelVectors(np.eye(n_labels, 2, dtype=np.float32) + np.float32(0.1), "toy")
    layout = compute_label_layout(vectors, np.ones(n_labels, int), kind=kind)
    assert layout.positions.shape == (n_labels, 2)
    assert np.isfinite(layout.positions).all()


def test_wrong_requests_are_refused():
    with pytest.raises(ConfigError, match="one of pca, umap"):
        compute_label_layout(plant_vectors(), np.ones(120, int), kind="tsne")
    with pytest.raises(DataError, match="vectors for 120 labels"):
        compute_label_layout(plant_vectors(), np.ones(130, int))


def test_labels_that_share_nothing_are_counted_and_said():
    shared = sparse.random_array((600, 60), density=0.4, random_state=0, format="csr", dtype=np.float32)
    alone = sparse.eye_array(40, dtype=np.float32, format="csr")  # one word each, which no other label has
    vectors = LabelVectors(normalise_rows(sparse.csr_array(sparse.block_diag([shared, alone]))), "texts")
    layout = compute_label_layout(vectors, np.ones(640, int), kind="pca")
    assert 30 <= layout.n_adrift <= 40
    assert "too little in common with others, so their places mean nothing" in layout.caption
    assert compute_label_layout(plant_vectors(), np.ones(120, int), kind="pca").n_adrift == 0


def test_more_labels_than_umap_takes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = plant_vectors()  # 119 labels with a vector
    monkeypatch.setattr(label_layout, "MAX_SAMPLED_LABELS", 60)
    assert compute_label_layout(vectors, np.ones(120, int)).n_laid_out == 119
    monkeypatch.setattr(label_layout, "MAX_UMAP_LABELS", 118)
    assert compute_label_layout(vectors, np.ones(120, int)).n_laid_out == 60
