"""Exact and HNSW search behind one interface, against brute force."""

from __future__ import annotations

import json

import numpy as np
import pytest

from xcwork.core.topk import MISSING
from xcwork.errors import Cancelled, ConfigError, DataError, XcworkError
from xcwork.progress import Callback, listen
from xcwork.search import ExactIndex, factory, hnsw, index, load_index, make_index
from xcwork.search.hnsw import HnswIndex

KINDS = ("exact", "hnsw")


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(400, 12)).astype(np.float32)


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(30, 12)).astype(np.float32)


def brute_force(vectors: np.ndarray, queries: np.ndarray, k: int, space: str) -> np.ndarray:
    if space == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("space", ["cosine", "ip"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_nearest_vectors_are_found(vectors, queries, kind, space):
    found = make_index(vectors, kind, space=space).query(queries, 10)
    expected = brute_force(vectors, queries, 10, space)
    if kind == "exact":
        np.testing.assert_array_equal(found.ids, expected)
    else:
        assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.ids, expected, strict=True)]) > 0.95
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (queries, vectors)]
    left, right = units if space == "cosine" else (queries, vectors)
    np.testing.assert_allclose(found.scores[0], left[0] @ right[found.ids[0]].T, atol=1e-5)


def test_blocks_of_vectors_and_queries_do_not_matter(vectors, queries, monkeypatch):
    expected = ExactIndex().build(vectors).query(queries, 7)
    monkeypatch.setattr(index, "VECTORS_PER_BLOCK", 5)
    monkeypatch.setattr(index, "QUERIES_PER_BLOCK", 3)
    found = ExactIndex().build(vectors).query(queries, 7)
    np.testing.assert_array_equal(found.ids, expected.ids)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_vectors_are_ordered_by_id(kind):
    same = np.ones((6, 3), np.float32)
    assert make_index(same, kind).query(same[:1], 6).ids.tolist() == [[0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("kind", KINDS)
def test_zero_vectors_have_similarity_zero(kind):
    rows = np.array([[0, 0], [1, 0], [-1, 0]], np.float32)
    found = make_index(rows, kind).query(np.array([[1, 0], [0, 0]], np.float32), 3)
    assert found.ids[0].tolist() == [1, 0, 2]
    np.testing.assert_allclose(found.scores, [[1, 0, -1], [0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_among_restricts_the_ids_exactly(vectors, queries, kind):
    allowed = np.arange(0, 400, 7)
    found = make_index(vectors, kind).query(queries, 5, among=allowed[::-1])
    np.testing.assert_array_equal(found.ids, allowed[brute_force(vectors[allowed], queries, 5, "cosine")])


def test_among_many_ids_walks_the_graph_with_a_filter(vectors, queries, monkeypatch):
    monkeypatch.setattr(hnsw, "MIN_GRAPH_VECTORS", 10)
    allowed = np.arange(0, 400, 2)
    found = make_index(vectors, "hnsw").query(queries, 5, among=allowed)
    expected = allowed[brute_force(vectors[allowed], queries, 5, "cosine")]
    assert set((found.ids % 2).ravel().tolist()) == {0}
    assert (found.ids == expected).mean() > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_k_beyond_the_vectors_gives_them_all(vectors, queries, kind):
    built = make_index(vectors[:20], kind)
    assert built.query(queries, 50).ids.shape == (30, 20)
    assert built.query(queries, 50, among=[3, 4]).ids.shape == (30, 2)
    assert built.query(queries, 5, among=[]).ids.shape == (30, 0)
    assert MISSING not in built.query(queries, 20).ids
    assert len(built.query(queries[:0], 3)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_index_answers_as_the_saved_one(vectors, queries, kind, tmp_path):
    built = make_index(vectors, kind, space="ip")
    built.save(tmp_path / "index")
    loaded = load_index(tmp_path / "index")
    assert type(loaded) is type(built)
    a, b = built.query(queries, 9), loaded.query(queries, 9)
    assert a.ids.tobytes() == b.ids.tobytes()
    assert a.scores.tobytes() == b.scores.tobytes()


def test_the_settings_of_a_graph_are_kept(vectors, tmp_path):
    built = HnswIndex("ip", M=5, ef_construction=33, ef=44, seed=6, threads=2).build(vectors)
    built.measured_recall = 0.5
    built.save(tmp_path / "index")
    loaded = load_index(tmp_path / "index")
    for setting in (*hnsw.SETTING_NAMES, "measured_recall", "dimension"):
        assert getattr(loaded, setting) == getattr(built, setting)
    assert json.loads((tmp_path / "index" / "index.json").read_text())["ef"] == 44


def test_one_seed_gives_one_graph(vectors, queries):
    a, b = (HnswIndex(M=4, ef_construction=10, ef=10, seed=2).build(vectors).query(queries, 10) for _ in range(2))
    assert a.ids.tobytes() == b.ids.tobytes()


def test_recall_counts_the_true_neighbours_that_are_found(vectors, queries, monkeypatch):
    assert ExactIndex().build(vectors).measure_recall(queries) == 1.0
    graph = make_index(vectors, "hnsw")
    assert graph.measured_recall > 0.95
    exact = graph._query_exactly

    def half(rows, k, among):
        best = exact(rows, k + k, among)
        return type(best)(best.ids[:, ::2], best.scores[:, ::2])

    monkeypatch.setattr(graph, "_query", half)  # every second of the true neighbours
    assert graph.measure_recall(queries, k=10) == pytest.approx(0.5)


def test_the_kind_follows_the_number_of_vectors(vectors, monkeypatch):
    assert make_index(vectors).kind == "exact"
    monkeypatch.setattr(factory, "MIN_GRAPH_VECTORS", 300)
    assert make_index(vectors).kind == "hnsw"


def test_building_reports_and_can_be_stopped(vectors, monkeypatch):
    class Listener(Callback):
        values, stop = {}, False

        def on_step(self, phase, step, total):
            return self.stop

        def on_values(self, phase, values):
            self.values.update(values)

    listener = Listener()
    with listen([listener]):
        make_index(vectors, "hnsw")
        assert listener.values["recall"] > 0.95
        listener.stop = True
        with pytest.raises(Cancelled):
            make_index(vectors, "hnsw")


def test_what_cannot_be_searched_is_refused(vectors, queries):
    with pytest.raises(ConfigError, match="kind must be auto, exact or hnsw, got 'tree'"):
        make_index(vectors, "tree")
    with pytest.raises(ConfigError, match="space must be one of cosine, ip, got 'l2'"):
        make_index(vectors, space="l2")
    with pytest.raises(DataError, match="queries have 11 numbers, but indexed vectors have 12"):
        make_index(vectors).query(queries[:, :11], 3)
    with pytest.raises(DataError, match="some vectors are not finite"):
        make_index(np.array([[1, np.nan]], np.float32))


def test_a_damaged_graph_is_never_opened(vectors, tmp_path):
    make_index(vectors, "hnsw").save(tmp_path / "index")
    graph, settings = (tmp_path / "index" / name for name in ("graph.bin", "index.json"))
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    graph.write_bytes(content)
    with pytest.raises(DataError, match="the search graph is damaged; build the index again"):
        load_index(tmp_path / "index")
    graph.unlink()
    with pytest.raises(DataError, match="the search graph is missing"):
        load_index(tmp_path / "index")
    settings.write_text("{}")
    with pytest.raises(DataError, match="the settings of the search graph lack M, dimension"):
        load_index(tmp_path / "index")
    settings.write_text("not json")
    with pytest.raises(DataError, match="cannot be read"):
        load_index(tmp_path / "index")


def test_a_folder_without_an_index_is_refused(tmp_path):
    from xcwork.storage.state import write_state

    with pytest.raises(XcworkError, match=r"state\.json is missing"):
        load_index(tmp_path)
    write_state(tmp_path / "other", {"vectors": np.ones((2, 2))})
    with pytest.raises(DataError, match="does not hold a search index"):
        load_index(tmp_path / "other")
