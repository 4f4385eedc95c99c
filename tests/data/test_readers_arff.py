"""ARFF files of MULAN and MEKA: splits that the relation names, roles of attributes, missing values, spellings."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError, DataError


def load(path: Path, **options: object) -> Dataset:
    return load_dataset(path, home=path.parent, **options)


def numbered(path: Path, relation: str, n_rows: int = 40) -> Path:
    rows = "".join(f"{i % 2},{i + 1}\n" for i in range(n_rows))
    path.write_text(f"@relation '{relation}'\n@attribute odd {{0,1}}\n@attribute x numeric\n@data\n{rows}")
    return path


@pytest.mark.parametrize(
    ("words", "n_training"), [("-split-number 30", 30), ("-split-percentage 25", 10), ("-split-percentage 12.5", 5)]
)
def test_the_relation_of_meka_says_which_rows_train(tmp_path: Path, words: str, n_training: int) -> None:
    dataset = load(numbered(tmp_path / "set.arff", f"Set: -C 1 {words}"))
    assert dataset.train.X.toarray().ravel().tolist() == list(range(1, n_training + 1))
    assert dataset.test.X.toarray().ravel().tolist() == list(range(n_training + 1, 41))
    assert words in dataset.source


def test_test_share_goes_before_the_relation(tmp_path: Path) -> None:
    dataset = load(numbered(tmp_path / "set.arff", "Set: -C 1 -split-number 30"), test_share=0.5)
    assert dataset.train.X.toarray().ravel().tolist() != list(range(1, 31))
    assert "held out" in dataset.source


def test_the_relation_does_not_tear_a_pair_of_files(tmp_path: Path) -> None:
    for part in ("train", "test"):
        numbered(tmp_path / f"set-{part}.arff", "Set: -C 1 -split-number 30")
    dataset = load_dataset(tmp_path, home=tmp_path / "home")
    assert (len(dataset.train), len(dataset.test)) == (40, 40)


@pytest.mark.parametrize("words", ["-split-number 40", "-split-number 0", "-split-percentage 100"])
def test_a_split_without_training_or_test_rows_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(DataError, match=r"leaves no training or no test documents of 40; .*test_share"):
        load(numbered(tmp_path / "set.arff", f"Set: -C 1 {words}"))


def test_the_relation_counts_bags(tmp_path: Path) -> None:
    rows = "".join(f'bag{i},"{i},1\\n{i},2",{i % 2}\n' for i in range(30))
    (tmp_path / "bags.arff").write_text(
        "@relation 'bags: -split-number 20'\n@attribute id string\n@attribute bag relational\n"
        "  @attribute x numeric\n  @attribute y numeric\n@end bag\n@attribute odd {0,1}\n@data\n" + rows
    )
    dataset = load(tmp_path / "bags.arff")
    assert dataset.train.groups == [f"bag{i}" for i in range(20) for _ in range(2)]
    assert len(dataset.test) == 20
    assert dataset.notes == ()


def with_names(path: Path, kind: str, names: list[str]) -> Path:
    rows = "".join(f"{name},{i % 2},{i}\n" for i, name in enumerate(names))
    header = f"@relation x\n@attribute name {kind}\n@attribute label {{0,1}}\n@attribute x numeric\n@data\n"
    path.write_text(header + rows)
    path.with_suffix(".xml").write_text('<labels><label name="label"/></labels>')
    return path


def nominal(values: list[str]) -> str:
    return "{" + ",".join(dict.fromkeys(values)) + "}"


@pytest.mark.parametrize("n_repeated", [0, 3])
@pytest.mark.parametrize("is_text", [False, True])
def test_an_attribute_that_names_the_rows_is_left_out(tmp_path: Path, n_repeated: int, is_text: bool) -> None:
    names = [f"P{i}" for i in range(40 - n_repeated)] + ["P0"] * n_repeated
    dataset = load(with_names(tmp_path / "set.arff", "string" if is_text else nominal(names), names))
    assert dataset.features.names == ["x"]
    values = np.vstack([dataset.train.X.toarray(), dataset.test.X.toarray()]).ravel()
    assert sorted(values.tolist()) == list(range(40))
    assert dataset.notes == ("the attribute 'name' names the rows, so it is left out of the features",)


@pytest.mark.parametrize("names", [[f"P{i % 25}" for i in range(40)], [f"P{i}" for i in range(10)]])
def test_an_attribute_whose_values_recur_or_are_few_stays(tmp_path: Path, names: list[str]) -> None:
    dataset = load(with_names(tmp_path / "set.arff", nominal(names), names))
    assert dataset.features.size == 1 + len(set(names))
    assert dataset.notes == ()


HEADER = "@relation 'x: -C 1'\n@attribute label {0,1}\n"


def arff(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text(header + "@data\n" + "".join(f"{row}\n" for row in rows))
    return path


def all_values(dataset: Dataset) -> list[list[float]]:
    return sorted(np.vstack([dataset.train.X.toarray(), dataset.test.X.toarray()]).tolist())


def test_a_number_called_id_names_the_rows_and_a_measurement_does_not(tmp_path: Path) -> None:
    rows = [f"{i % 2},{i + 1000},{i + 1}" for i in range(30)]
    header = HEADER + "@attribute NAME numeric\n@attribute size numeric\n"
    named = load(arff(tmp_path / "named.arff", header.replace("NAME", "doc_id"), rows))
    assert named.features.names == ["size"]
    assert named.notes == ("the attribute 'doc_id' names the rows, so it is left out of the features",)
    measured = load(arff(tmp_path / "measured.arff", header.replace("NAME", "height"), rows))
    assert measured.features.names == ["height", "size"]
    repeated = [f"{i % 2},{i // 2},{i + 1}" for i in range(30)]
    assert load(arff(tmp_path / "repeated.arff", header.replace("NAME", "id"), repeated)).features.names == [
        "id",
        "size",
    ]


SENTENCES = ["red apples and pears", "dry red wine", "sweet white wine", "green apples"]


def test_text_is_the_features_where_there_are_no_others(tmp_path: Path) -> None:
    rows = [f"{i % 2},'{SENTENCES[i % 4]} number{i}'" for i in range(40)]
    dataset = load(arff(tmp_path / "texts.arff", HEADER + "@attribute words string\n", rows))
    assert dataset.features.vectorizer is not None
    assert sorted([*dataset.train.texts, *dataset.test.texts])[0] == "dry red wine number1"
    assert dataset.notes == ()


def test_text_beside_features_is_kept_or_used(tmp_path: Path) -> None:
    rows = [f"{i % 2},'{SENTENCES[i % 4]}',{i}" for i in range(40)]
    file = arff(tmp_path / "both.arff", HEADER + "@attribute words string\n@attribute x numeric\n", rows)
    dataset = load(file)
    assert dataset.features.names == ["x"]
    assert {*dataset.train.texts, *dataset.test.texts} == set(SENTENCES)
    assert "the text of 'words' is kept, but not among the features" in dataset.notes[0]
    assert load(file, features="text").features.vectorizer is not None
    with pytest.raises(DataError, match="no attribute is text"):
        load(arff(tmp_path / "none.arff", HEADER + "@attribute x numeric\n", ["1,2", "0,3"]), features="text")


def test_a_date_is_left_out_with_a_note(tmp_path: Path) -> None:
    header = HEADER + '@attribute day date "yyyy-MM-dd HH:mm"\n@attribute x numeric\n'
    dataset = load(arff(tmp_path / "days.arff", header, [f'{i % 2},"2020-01-0{i} 10:00",{i}' for i in range(1, 9)]))
    assert dataset.features.names == ["x"]
    assert dataset.notes == ("the attribute 'day' is a date, so it is left out of the features",)


GAPS = HEADER + "@attribute size numeric\n@attribute colour {red,'dark green'}\n@attribute big {0,1}\n"
GAP_ROWS = ["1,3,red,1", "0,?,red,1", "1,5,'dark green',?", "0,1,?,0"]


def test_missing_values_are_filled_as_weka_does(tmp_path: Path) -> None:
    file = arff(tmp_path / "gaps.arff", GAPS, GAP_ROWS)
    dataset = load(file)
    assert dataset.features.names == ["size", "colour=red", "colour=dark green", "big"]
    assert all_values(dataset) == [[1, 1, 0, 0], [3, 1, 0, 1], [3, 1, 0, 1], [5, 0, 1, 1]]
    assert dataset.notes[0].startswith("3 values of 3 attributes are missing ('?') and filled in (mean of numbers")
    zeros = load(file, missing_features="zero")
    assert all_values(zeros) == [[0, 1, 0, 1], [1, 0, 0, 0], [3, 1, 0, 1], [5, 0, 1, 0]]
    with pytest.raises(DataError, match="line 8: the value of 'size' is missing"):
        load(file, missing_features="refuse")


def test_the_training_file_alone_decides_what_fills_gaps(tmp_path: Path) -> None:
    arff(tmp_path / "x-train.arff", HEADER + "@attribute a numeric\n", ["1,2", "0,4", "{1 ?}"])
    arff(tmp_path / "x-test.arff", HEADER + "@attribute a numeric\n", ["1,100", "0,?"])
    dataset = load_dataset(tmp_path, home=tmp_path / "home")
    assert dataset.train.X.toarray().ravel().tolist() == [2, 4, 3]
    assert dataset.test.X.toarray().ravel().tolist() == [100, 3]


def test_an_attribute_without_any_value_is_zero(tmp_path: Path) -> None:
    header = HEADER + "@attribute a numeric\n@attribute b {u,v,w}\n@attribute x numeric\n"
    dataset = load(arff(tmp_path / "none.arff", header, ["1,?,?,1", "0,?,?,2"]))
    assert all_values(dataset) == [[0, 0, 0, 0, 1], [0, 0, 0, 0, 2]]


def test_missing_labels_are_absent_or_their_documents_left_out_or_refused(tmp_path: Path) -> None:
    rows = ["?,1", "1,2", "0,3", "1,4", "?,5"]
    file = arff(tmp_path / "labels.arff", HEADER + "@attribute x numeric\n", rows)
    dataset = load(file)
    assert len(dataset.train) + len(dataset.test) == 5
    assert dataset.train.Y.nnz + dataset.test.Y.nnz == 2
    assert dataset.notes[0].startswith("2 values of labels in 2 documents are missing ('?') and count as absent")
    dropped = load(file, missing_labels="drop")
    assert all_values(dropped) == [[2], [3], [4]]
    assert "so these documents are left out" in dropped.notes[0]
    with pytest.raises(DataError, match=r"line 5: the value of a label is missing.*missing_labels='absent'"):
        load(file, missing_labels="refuse")
    for option in ("missing_labels", "missing_features"):
        with pytest.raises(ConfigError, match=f"{option} must be one of"):
            load(file, **{option: "guess"})


@pytest.mark.parametrize(
    ("relation", "labels"),
    [
        ("'x: -C 2'", ["a", "b"]),
        ("'x: -C -2'", ["c", "d"]),
        ('"x: -split-percentage 50 -C -1"', ["d"]),
        ("x: -C 1", ["a"]),
        ("'x -c 2 '  % old spelling", ["a", "b"]),
    ],
)
def test_meka_counts_labels_from_either_end(tmp_path: Path, relation: str, labels: list[str]) -> None:
    header = f"@relation {relation}\n" + "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd")
    assert load(arff(tmp_path / "x.arff", header, ["1,0,1,0", "0,1,0,1"])).labels.names == labels


@pytest.mark.parametrize("count", [0, 4, -4, 9])
def test_a_count_that_leaves_nothing_is_refused(tmp_path: Path, count: int) -> None:
    header = f"@relation 'x: -C {count}'\n" + "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd")
    with pytest.raises(DataError, match=f"-C {count} in the relation leaves no labels or no features"):
        load(arff(tmp_path / "x.arff", header, ["1,0,1,0", "0,1,0,1"]))


def test_the_user_counts_labels_before_all_others(tmp_path: Path) -> None:
    header = "@relation 'x: -C 1'\n" + "".join(f"@attribute {name} {{0,1}}\n" for name in "abcd")
    file = arff(tmp_path / "x.arff", header, ["1,0,1,0", "0,1,0,1"])
    (tmp_path / "x.xml").write_text('<labels><label name="b"/></labels>')
    assert load(file).labels.names == ["b"]
    assert load(file, n_labels=2).labels.names == ["c", "d"]
    assert load(file, n_labels=2, labels_at="start").labels.names == ["a", "b"]
    (tmp_path / "other.xml").write_text('<labels><label name="c"/></labels>')
    assert load(file, label_file="other.xml").labels.names == ["c"]
    (tmp_path / "x.xml").unlink()
    assert load(file).labels.names == ["a"]  # an XML file of another name is not asked before MEKA


@pytest.mark.parametrize(
    ("kind", "values", "truth"),
    [
        ("{-1,1}", ("-1", "1"), [0, 1]),
        ("{YES,NO}", ("YES", "NO"), [1, 0]),
        ("{f,t}", ("t", "f"), [1, 0]),
        ("numeric", ("0", "1.0"), [0, 1]),
        ("{1}", ("1", "1"), [1, 1]),
        ("{0 1}", ("1", "0"), [1, 0]),
    ],
)
def test_ways_to_say_that_a_label_applies(tmp_path: Path, kind: str, values: tuple[str, str], truth: list[int]) -> None:
    rows = [f"{value},{i}" for i, value in enumerate(values, start=1)]
    header = f"@relation 'x: -C 1 -split-number 1'\n@attribute l {kind}\n@attribute x numeric\n"
    dataset = load(arff(tmp_path / "x.arff", header, rows))
    assert [dataset.train.Y.nnz, dataset.test.Y.nnz] == truth
    assert dataset.labels.names == ["l"]


def test_a_label_with_other_values_is_a_label_for_each(tmp_path: Path) -> None:
    header = "@relation 'x: -C 2 -split-number 2'\n@attribute c {A,'B c',C}\n@attribute l {0,1}\n@attribute x numeric\n"
    dataset = load(arff(tmp_path / "x.arff", header, ["A,1,1", "'B c',0,2", "{2 3}"]))
    assert dataset.labels.names == ["c=A", "c=B c", "c=C", "l"]
    assert dataset.train.Y.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 0, 0]]
    assert dataset.test.Y.toarray().tolist() == [[1, 0, 0, 0]]  # a sparse row means the first value


@pytest.mark.parametrize("value", ["2", "0.5", "x", ""])
def test_a_value_that_no_label_has_is_refused_with_its_line(tmp_path: Path, value: str) -> None:
    header = "@relation 'x: -C 1'\n@attribute l numeric\n@attribute x numeric\n"
    with pytest.raises(DataError, match="line 6: the value of 'l' is"):
        load(arff(tmp_path / "x.arff", header, ["1,2", f"{value},3"]))


SPELLINGS = """% a comment

@RELATION "x: -C 1 -split-number 3"   % another
@Attribute\tlabel{0, 1}
@ATTRIBUTE 'the size' real [0,10]
@attribute "its \'colour\'" { red , 'dark green', "50% grey" }  % and one more
@attribute n INTEGER
@DATA
% rows
1,2.5,red,7
0\t1.5\t'dark green'\t8  % tabs
1, 0.5 ,"50% grey", 9, {2.5}
{0 1, 2 'dark green',\t3 10}, {4}
{1\t3}
"""


def test_spellings_of_weka(tmp_path: Path) -> None:
    (tmp_path / "x.arff").write_text(SPELLINGS)
    dataset = load(tmp_path / "x.arff")
    assert dataset.labels.names == ["label"]
    colour = "its 'colour'"
    assert dataset.features.names == [
        "the size",
        f"{colour}=red",
        f"{colour}=dark green",
        f"{colour}=50% grey",
        "n",
    ]
    assert dataset.train.X.toarray().tolist() == [[2.5, 1, 0, 0, 7], [1.5, 0, 1, 0, 8], [0.5, 0, 0, 1, 9]]
    assert dataset.test.X.toarray().tolist() == [[0, 0, 1, 0, 10], [3, 1, 0, 0, 0]]
    assert dataset.train.Y.toarray().ravel().tolist() == [1, 0, 1]
    assert dataset.test.Y.toarray().ravel().tolist() == [1, 0]
    assert dataset.notes == ("the weights of the rows are ignored",)


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("X-train-sparse.arff", "X-test-sparse.arff"),
        ("X-train.arff.gz", "X-test.arff.bz2"),
        ("x_train.arff.xz", "x_test.arff"),
        ("x.train.arff", "x.test.arff"),
        ("x-1-tra.arff", "x-1-tst.arff"),
        ("x-training.arff", "x-testing.arff"),
        ("train.arff", "test.arff"),
    ],
)
def test_names_of_pairs(tmp_path: Path, train: str, test: str) -> None:
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    for name, rows in ((train, ["1,2", "0,3", "1,4"]), (test, ["1,5"])):
        content = ("@relation x\n@attribute l {0,1}\n@attribute x numeric\n@data\n" + "\n".join(rows)).encode()
        (tmp_path / name).write_bytes(pack.get(Path(name).suffix, bytes)(content))
    (tmp_path / "x.xml").write_text('<labels><label name="l"/></labels>')
    dataset = load_dataset(tmp_path, home=tmp_path / "home")
    assert dataset.train.X.toarray().ravel().tolist() == [2, 3, 4]
    assert dataset.test.X.toarray().ravel().tolist() == [5]
    assert dataset.labels.names == ["l"]


def test_the_whole_set_beside_its_splits_is_not_read(tmp_path: Path) -> None:
    for part, n_rows in (("", 9), ("-train", 6), ("-test", 3)):
        arff(tmp_path / f"x{part}.arff", HEADER + "@attribute x numeric\n", [f"{i % 2},{i}" for i in range(n_rows)])
    dataset = load_dataset(tmp_path, home=tmp_path / "home")
    assert (len(dataset.train), len(dataset.test)) == (6, 3)
