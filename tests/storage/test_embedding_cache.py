"""Embeddings of a dataset on disk: found by text, added to, replaced in one step, dropped with the dataset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import xcwork
from xcwork.data import data_folder
from xcwork.storage.embedding_cache import EmbeddingCache, hash_texts
from xcwork.storage.mapped_arrays import find_mapping


def make_vectors(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), ord(text[0]), 1.5] for text in texts], np.float16)


@pytest.fixture
def cache(tmp_path: Path) -> EmbeddingCache:
    return EmbeddingCache(tmp_path / "cache", "notes-1", "state")


def test_what_is_added_is_found_by_its_text(cache):
    for texts in (["b", "a", "ccc"], ["dd", "a"]):
        cache.add("tiny", hash_texts(texts), make_vectors(texts))
    wanted = ["dd", "?", "ccc", "a"]
    vectors = np.zeros((4, 3), np.float16)
    assert cache.find("tiny", hash_texts(wanted), vectors).tolist() == [True, False, True, True]
    np.testing.assert_array_equal(vectors[[0, 2, 3]], make_vectors(["dd", "ccc", "a"]))
    assert not cache.find("other", hash_texts(wanted), vectors).any()
    assert not cache.find("tiny", hash_texts(wanted), np.zeros((4, 5), np.float16)).any(), "of another width"


def test_the_file_is_mapped_and_nothing_else_is_left(cache):
    cache.add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    _, vectors = cache.read("tiny")
    assert find_mapping(vectors) is not None
    assert [path.name for path in cache.folder.iterdir()] == [cache.locate("tiny").name]


def test_a_new_state_of_the_dataset_drops_the_old_one(cache):
    cache.add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    changed = EmbeddingCache(cache.folder, cache.prefix, "later")
    changed.add("large", hash_texts(["a"]), make_vectors(["a"]))
    assert cache.read("tiny") is not None, "of another encoder"
    changed.add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    assert cache.read("tiny") is None


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x02\0\0\0\0\0\0\0{}"])
def test_a_damaged_file_counts_as_none(cache, content, caplog):
    cache.add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    cache.locate("tiny").write_bytes(content)
    assert not cache.find("tiny", hash_texts(["a"]), np.zeros((1, 3), np.float16)).any()
    assert "are damaged and computed again" in caplog.text
    cache.add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    assert cache.find("tiny", hash_texts(["a"]), np.zeros((1, 3), np.float16)).all()


def test_a_folder_that_cannot_be_written_is_worth_a_line(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    EmbeddingCache(tmp_path / "file", "notes", "1").add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    assert "could not be kept" in caplog.text


def test_embeddings_go_with_their_dataset(home):
    (home / "data").mkdir()
    rows = [f"note {i},{'even' if i % 2 else 'odd'}" for i in range(20)]
    (home / "data" / "notes.csv").write_text("\n".join(["text,labels", *rows]))
    dataset = xcwork.load_dataset("notes.csv")
    cache = dataset.train.embeddings
    assert dataset.test.embeddings == dataset.train.take([0]).embeddings == cache
    assert xcwork.load_dataset("notes.csv").train.embeddings == cache
    cache.add("tiny", hash_texts(["a"]), make_vectors(["a"]))
    assert cache.locate("tiny").is_file()
    data_folder.remove_dataset(home / "data" / "notes.csv", home)
    assert not cache.locate("tiny").exists()
