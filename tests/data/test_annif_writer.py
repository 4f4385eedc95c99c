"""What is written for Annif is read back: texts, labels, their names, parents and notations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.support.text_files import list_documents
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.annif_writer import make_uris, write_annif
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError, DataError

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


def make_dataset(documents: list[str], names: list[str], **about: list) -> Dataset:
    """Return a dataset with these texts in both splits, where every text has two of the labels."""
    labels = LabelSpace(names, **about)
    features = Features(1)
    X = sparse.csr_array(np.ones((len(documents), 1), np.float32))
    Y = np.zeros((len(documents), len(names)), np.float32)
    for row in range(len(documents)):
        Y[row, [row % len(names), (row + 1) % len(names)]] = 1
    split = Split(X, sparse.csr_array(Y), labels, features, texts=documents)
    return Dataset("small", split, split)


def test_a_vocabulary_keeps_what_is_known_about_labels(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    dataset = make_dataset(
        ["red wine", "tea\twith\nmilk", "a plum"],
        ['a "quoted" \\ name', "tea"],
        uids=["http://example.org/a", "b c"],
        texts=['a "quoted" \\ name\n\nother name\n\nthird', "tea"],
        parents=[["b c"], []],
        notations=["1.1", ""],
    )
    write_annif(dataset, tmp_path / "out", language="fi")
    read = load_dataset(tmp_path / "out", home=tmp_path)
    assert read.labels.names == dataset.labels.names
    assert read.labels.uids == ["http://example.org/a", "urn:xcwork:b%20c"]
    assert read.labels.texts == dataset.labels.texts
    assert read.labels.parents == [["urn:xcwork:b%20c"], []]
    assert read.labels.notations == ["1.1", ""]
    assert read.train.texts == ["red wine", "tea with milk", "a plum"]
    np.testing.assert_array_equal(read.train.Y.toarray(), dataset.train.Y.toarray())
    assert '"tea"@fi' in (tmp_path / "out" / "subjects.ttl").read_text("utf-8")


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT, min_size=2, max_size=5), st.lists(TEXT.filter(str.strip), min_size=2, max_size=5, unique=True))
def test_texts_and_labels_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("annif")
    texts = [f"plum{number} {text}" for number, text in enumerate(texts)]
    write_annif(make_dataset(texts, names), folder / "out")
    for vocabulary in ("subjects.tsv", "subjects.ttl"):
        if vocabulary.endswith(".ttl"):
            pytest.importorskip("rdflib")
        read = load_dataset(folder / "out", home=folder / "home", label_file=str(folder / "out" / vocabulary))
        assert read.labels.names == [" ".join(name.split()) for name in names]
        assert set(list_documents(read)) == {" ".join(text.split()) for text in texts}
        assert read.train.Y.nnz == 2 * len(texts)


def test_every_label_has_an_address_of_its_own() -> None:
    assert make_uris(LabelSpace(["a", "b"], uids=["x", "x"])) == ["urn:xcwork:x", "urn:xcwork:label:1"]
    assert make_uris(LabelSpace(["a", "a"])) == ["urn:xcwork:a", "urn:xcwork:label:1"]
    assert make_uris(LabelSpace(["a"], uids=["http://e.org/<b>"])) == ["urn:xcwork:http%3A%2F%2Fe.org%2F%3Cb%3E"]


def test_what_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    split = replace(make_dataset(["a", "b"], ["x", "y"]).train, texts=None)
    dataset = Dataset("small", split, split)
    with pytest.raises(DataError, match="have no texts, so they cannot be written for Annif"):
        write_annif(dataset, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match="language must be a code"):
        write_annif(make_dataset(["a", "b"], ["x", "y"]), tmp_path / "out", language='en" .')
