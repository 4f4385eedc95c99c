"""Documents in lines: fastText, PECOS text2text, and files of texts beside files of labels."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.support.text_files import list_documents, write_folder
from xcwork.data.load import load_dataset, resolve_source
from xcwork.data.readers import get_format_name
from xcwork.errors import ConfigError, DataError

FASTTEXT = "__label__red __label__blue the first text\n__label__red second\nthird without\n__label__blue\n"


@pytest.mark.parametrize("name", ["a.txt", "cooking.train", "a.ft", "a.fasttext", "plain"])
@pytest.mark.parametrize("prefix", ["__label__", "__tag__", "__MY_CLASS__"])
def test_fasttext_lines(tmp_path: Path, name: str, prefix: str) -> None:
    (tmp_path / name).write_text(FASTTEXT.replace("__label__", prefix))
    dataset = load_dataset(tmp_path / name, home=tmp_path / "home")
    assert list_documents(dataset) == {
        "the first text": {"red", "blue"},
        "second": {"red"},
        "third without": set(),
        "": {"blue"},
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_fasttext_in_other_encodings_and_packed(tmp_path: Path, end: str, encoding: str) -> None:
    text = "__label__süß\tApfel\n__label__süß __label__rot Kirsche, Pflaume\n\n__label__rot Rote Bete\n"
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.replace("\n", end).encode(encoding)))
    dataset = load_dataset(tmp_path / "a.txt.gz", home=tmp_path)
    assert list_documents(dataset) == {"Apfel": {"süß"}, "Kirsche, Pflaume": {"süß", "rot"}, "Rote Bete": {"rot"}}


@pytest.mark.parametrize(
    "lines",
    [
        "__label__a,__label__b apple tart\n__label__a plum\n",
        "__label__a, __label__b apple tart\n__label__a plum\n",
        "apple tart __label__a __label__b\nplum __label__a\n",
        "__label__a\t__label__b\tapple tart\n__label__a\tplum\n",
        "__label__a __label__b , apple tart\n__label__a , plum\n",
    ],
)
def test_other_ways_to_write_fasttext_lines(tmp_path: Path, lines: str) -> None:
    (tmp_path / "a.txt").write_text(lines)
    assert list_documents(load_dataset(tmp_path / "a.txt", home=tmp_path)) == {"apple tart": {"a", "b"}, "plum": {"a"}}


def test_a_label_anywhere_in_a_fasttext_line_counts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("__label__a plum __label__b pear\n__label__a __label__a apple\n")
    assert list_documents(load_dataset(tmp_path / "a.txt", home=tmp_path)) == {"plum pear": {"a", "b"}, "apple": {"a"}}


@pytest.mark.parametrize(
    ("names", "train", "test"),
    [
        (["train", "test"], "train", "test"),
        (["train", "valid", "test"], "train", "test"),
        (["train", "valid"], "train", "valid"),
        (["trn", "tst"], "trn", "tst"),
        (["questions-train", "questions-dev", "questions"], "questions-train", "questions-dev"),
    ],
)
def test_names_of_splits(tmp_path: Path, names: list[str], train: str, test: str) -> None:
    lines = "__label__a {name} one\n__label__b {name} two\n"
    folder = write_folder(tmp_path / "data", {f"{name}.txt": lines.format(name=name) for name in names})
    dataset = load_dataset(folder, home=tmp_path)
    assert set(dataset.train.texts) == {f"{train} one", f"{train} two"}
    assert set(dataset.test.texts) == {f"{test} one", f"{test} two"}
    unused = set(names) - {train, test}
    assert all(any(f"{name}.txt" in note and "not used" in note for note in dataset.notes) for name in unused)
    assert any("because there is no test file" in note for note in dataset.notes) == (
        test in ("valid", "questions-dev")
    )


def test_the_file_to_test_on_can_be_named(tmp_path: Path) -> None:
    lines = "__label__a {name} one\n__label__b {name} two\n"
    files = {f"{name}.txt": lines.format(name=name) for name in ("train", "valid", "test")}
    folder = write_folder(tmp_path / "data", files)
    assert load_dataset(folder, home=tmp_path, test="valid").test.texts[0] == "valid one"
    held_out = load_dataset(folder, home=tmp_path, test="")
    assert sorted(held_out.train.texts + held_out.test.texts) == ["train one", "train two"]
    with pytest.raises(DataError, match=r"no file 'eval' to test on; files to test on: 'test', 'valid'"):
        load_dataset(folder, home=tmp_path, test="eval")


def test_any_prefix_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("#red #blue first\n#red second\nthird\n")
    dataset = load_dataset(tmp_path / "a.txt", home=tmp_path, format="fasttext", label_prefix="#")
    assert list_documents(dataset) == {"first": {"red", "blue"}, "second": {"red"}, "third": set()}
    with pytest.raises(DataError, match="no line begins with a label; say what labels begin with"):
        load_dataset(tmp_path / "a.txt", home=tmp_path, format="fasttext")
    with pytest.raises(ConfigError, match="label_prefix must be a word"):
        load_dataset(tmp_path / "a.txt", home=tmp_path, format="fasttext", label_prefix="a b")


def test_a_label_without_a_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("__label__a one\n__label__b two\n__label__ three\n")
    with pytest.raises(DataError, match=r"line 3: a label has no name after '__label__'"):
        load_dataset(tmp_path / "a.txt", home=tmp_path)


WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=8)
DOCUMENTS = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=4)), min_size=2, max_size=8
)


@settings(max_examples=40, deadline=None)
@given(DOCUMENTS)
def test_what_is_written_as_fasttext_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, documents: list[tuple[list[str], list[str]]]
) -> None:
    rows = {
        " ".join([f"plum{number}", *(word for word in words if "__" not in word)]): {
            label.rstrip(",") or "x" for label in labels
        }
        for number, (labels, words) in enumerate(documents)
    }
    folder = tmp_path_factory.mktemp("fasttext")
    lines = ["".join(f"__label__{label} " for label in sorted(labels)) + text for text, labels in rows.items()]
    (folder / "a.txt").write_text("\n".join(lines) + "\n", "utf-8")
    dataset = load_dataset(folder / "a.txt", home=folder / "home")
    assert list_documents(dataset) == rows


def test_text2text_lines_with_items_and_relevances(tmp_path: Path) -> None:
    files = {
        "train.txt": "0::2.0,2::0\tfirst text\n1\tsecond text\n2::0.5\tthird, with 3 words\n",
        "test.txt": "\tno labels\n1,1\tagain\n",
        "output-items.txt": "zero\none\ntwo\nthree\n",
    }
    dataset = load_dataset(write_folder(tmp_path / "data", files), home=tmp_path)
    assert dataset.labels.names == ["zero", "one", "two", "three"]
    assert list_documents(dataset) == {
        "first text": {"zero"},
        "second text": {"one"},
        "third, with 3 words": {"two"},
        "no labels": set(),
        "again": {"one"},
    }
    assert dataset.labels.texts == dataset.labels.names


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("x\ttext", "is not ids, a tab and a text"),
        ("no tab here", "is not ids, a tab"),
        ("3::much\ttext", "the relevance 'much'"),
    ],
)
def test_broken_text2text_lines(tmp_path: Path, line: str, sentence: str) -> None:
    good = [f"{number}\ttext number {number} of many" for number in range(20)]
    (tmp_path / "a.txt").write_text("\n".join([*good, line]) + "\n")
    with pytest.raises(DataError, match=rf"line 21: .*{sentence}"):
        load_dataset(tmp_path / "a.txt", home=tmp_path)


def test_items_that_do_not_fit(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"train.txt": "0\tplum a\n7\tpear b\n", "my-items.txt": "a\nb\n"})
    dataset = load_dataset(folder, home=tmp_path)
    assert dataset.labels.names == ["0", "7"]
    assert "my-items.txt has 2 lines, but ids go up to 7, so it does not name the labels" in dataset.notes
    with pytest.raises(DataError, match="line 3: there are 2 labels, but ids go up to 7"):
        load_dataset(folder, home=tmp_path, label_file="my-items.txt")


def test_a_table_of_numbered_records_is_not_text2text(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("id\ttext\n1\tone two\n2\tthree four\n")
    (tmp_path / "b.tsv").write_text("id\ttext\tlabels\n1\tone two\tx\n2\tthree four\ty\n")
    source = resolve_source(tmp_path / "b.tsv", home=tmp_path)
    assert get_format_name(source.reader) == "table"
    assert get_format_name(resolve_source(tmp_path / "a.tsv", home=tmp_path).reader) == "table"


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        ("train_raw_texts.txt", "train_labels.txt"),
        ("train_texts.txt", "train_labels.txt"),
        ("train_raw_texts.txt", "Y.trn.txt"),
        ("X.trn.txt", "Y.trn.txt"),
        ("train_texts.txt", "train_raw_labels.txt"),
        ("raw/trn_X.txt", "trn_X_Y.txt"),
    ],
)
def test_naming_schemes_of_texts_and_labels(tmp_path: Path, texts: str, labels: str) -> None:
    def rename(name: str) -> str:
        return name.replace("train", "test").replace("trn", "tst")

    files = {
        texts: "one word\ntwo words\nthree words\n",
        labels: "0,2\n\n1\n",
        rename(texts): "four words\n",
        rename(labels): "2\n",
        "train.txt": "3 2 3\n0,2 0:1\n1:1\n1 1:1\n",  # features of the same documents, as CascadeXML has them
    }
    folder = write_folder(tmp_path / "data", files)
    source = resolve_source(folder, home=tmp_path)
    assert get_format_name(source.reader) == "lines"
    assert list_documents(source.load()) == {
        "one word": {"0", "2"},
        "two words": set(),
        "three words": {"1"},
        "four words": {"2"},
    }
    (folder / "label_map.txt").write_text("red\nblue\ngreen\n")
    assert list_documents(load_dataset(folder, home=tmp_path))["one word"] == {"red", "green"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("food_safety acid\nacid\nmeat\n", [{"food_safety", "acid"}, {"acid"}, {"meat"}]),
        ("food safety\tacid\nacid\nmeat\n", [{"food safety", "acid"}, {"acid"}, {"meat"}]),
        ("3 2\n0:1 1:1\n1:1\n1:0\n", [{"0", "1"}, {"1"}, set()]),
        ("0 1\r\n1\r\n0\r\n", [{"0", "1"}, {"1"}, {"0"}]),
    ],
)
def test_lines_of_labels(tmp_path: Path, lines: str, expected: list[set[str]]) -> None:
    files = {"train_texts.txt": "plum\npear\napple\n", "train_labels.txt": lines}
    documents = list_documents(load_dataset(write_folder(tmp_path / "data", files), home=tmp_path))
    assert [documents[text] for text in ("plum", "pear", "apple")] == expected


def test_texts_may_be_called_train(tmp_path: Path) -> None:
    files = {"train.txt": "plum\npear\n", "train_labels.txt": "a b\na\n"}
    documents = list_documents(load_dataset(write_folder(tmp_path / "data", files), home=tmp_path))
    assert documents == {"plum": {"a", "b"}, "pear": {"a"}}


def test_texts_and_labels_of_different_lengths(tmp_path: Path) -> None:
    files = {"train_texts.txt": "a\nb\nc\n", "train_labels.txt": "x\ny\n"}
    with pytest.raises(DataError, match=r"line 3: there are 2 lines of labels, but 3 texts in train_texts.txt"):
        load_dataset(write_folder(tmp_path / "data", files), home=tmp_path)


@pytest.mark.parametrize(
    "names",
    [
        ("X.npz", "Y.npz", "Xt.npz", "Yt.npz"),
        ("train_feat.npz", "train_label.npz", "test_feat.npz", "test_label.npz"),
        ("X_train.npz", "Y_train.npz", "X_test.npz", "Y_test.npz"),
        ("X.trn.npz", "Y.trn.npz", "X.tst.npz", "Y.tst.npz"),
        ("trn_X_Xf.npz", "trn_X_Y.npz", "tst_X_Xf.npz", "tst_X_Y.npz"),
    ],
)
def test_names_of_pecos_matrices(tmp_path: Path, names: tuple[str, ...]) -> None:
    matrices = [[[1, 0], [0, 2]], [[1, 0, 0], [0, 1, 1]], [[3, 1]], [[0, 0, 1]]]
    folder = tmp_path / "data"
    folder.mkdir()
    for name, rows in zip(names, matrices, strict=True):
        sparse.save_npz(folder / name, sparse.csr_matrix(np.array(rows, np.float32)))
    (folder / "train.txt").write_text("first text\nsecond text\n")
    (folder / "label_map.txt").write_text("red\nblue\ngreen\n")
    dataset = load_dataset(folder, home=tmp_path)
    assert (dataset.train.X.shape, dataset.test.X.shape) == ((2, 2), (1, 2))
    assert dataset.train.texts == ["first text", "second text"]
    assert dataset.labels.names == ["red", "blue", "green"]
    (folder / "train.txt").write_text("another file of three lines\n\n\n")
    assert load_dataset(folder, home=tmp_path).train.texts is None


def test_raw_texts_beside_a_matrix_of_labels(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "data", {"train_raw_texts.txt": "red wine\ngreen tea\n", "test_raw_texts.txt": "wine"}
    )
    sparse.save_npz(folder / "Y.trn.npz", sparse.csr_matrix(np.eye(2, dtype=np.float32)))
    sparse.save_npz(folder / "Y.tst.npz", sparse.csr_matrix(np.eye(1, 2, dtype=np.float32)))
    dataset = load_dataset(folder, home=tmp_path)
    assert dataset.test.texts == ["wine"]
    assert dataset.features.vectorizer is not None
