"""Tables, dataset folders and raw LF JSON lines."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from pathlib import Path

import pytest

from xcwork.core.dataset import Dataset
from xcwork.data import readers
from xcwork.errors import ConfigError, DataError

PLAIN = {"vectorizer": {"ngrams": 1, "stop_words": False}}
DOCUMENTS = [
    ("1", "Chewy cookies", "soft sugar and butter", ["baking", "sweet"]),
    ("2", "Bacon", "crisp in the oven", ["meat", "oven"]),
    ("3", "Brown eggs", "", []),
    ("4", "Soda", "baking powder", ["baking", "New York"]),
]


def load(path: Path, **options: object) -> Dataset:
    return readers.read(readers.choose_reader(path), path, path.name, {**PLAIN, **options})


def refusal(path: Path, **options: object) -> DataError:
    with pytest.raises(DataError) as caught:
        load(path, **options)
    return caught.value


def json_lines(path: Path, records: list[dict]) -> Path:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def table(path: Path, header: list[str], rows: list[list[str]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return path


def folder(path: Path, labels: bool = True) -> Path:
    records = [dict(zip(("uid", "title", "content", "labels"), row, strict=True)) for row in DOCUMENTS]
    json_lines(path / "train.jsonl.gz", records[:3])
    json_lines(path / "test.jsonl", records[3:])
    if labels:
        described = [
            {"uid": "oven", "title": "Ovens", "alt_labels": ["stove"], "parents": ["meat"]},
            {"uid": "meat", "title": "Meat", "alt_labels": [], "parents": []},
            {"uid": "baking", "title": "Baking", "alt_labels": ["pastry", "bread"], "parents": []},
        ]
        json_lines(path / "labels.jsonl", described)
    return path


def carried(dataset: Dataset) -> list[set[str]]:
    keys = dataset.labels.uids or dataset.labels.names
    return [
        {keys[i] for i in split.Y.indices[split.Y.indptr[row] : split.Y.indptr[row + 1]]}
        for split in (dataset.train, dataset.test)
        for row in range(len(split))
    ]


def test_folder_with_described_labels(tmp_path):
    dataset = load(folder(tmp_path))
    assert dataset.labels.names == ["Ovens", "Meat", "Baking", "New York", "sweet"]
    assert dataset.labels.uids == ["oven", "meat", "baking", "New York", "sweet"]
    assert dataset.labels.parents == [["meat"], [], [], [], []]
    assert dataset.labels.texts[2].split() == ["Baking", "pastry", "bread"]
    assert carried(dataset) == [set(row[3]) for row in DOCUMENTS]
    assert dataset.train.uids == ["1", "2", "3"]
    assert dataset.train.texts == ["Chewy cookies\nsoft sugar and butter", "Bacon\ncrisp in the oven", "Brown eggs"]
    assert "New York" in [dataset.labels.names[i] for i in dataset.unseen_labels]
    assert {"stove", "chewy"} <= set(dataset.features.names)


def test_text_and_label_text_can_be_chosen(tmp_path):
    folder(tmp_path)
    assert load(tmp_path, text="title").train.texts == ["Chewy cookies", "Bacon", "Brown eggs"]
    assert load(tmp_path, text="content").train.texts[0] == "soft sugar and butter"
    assert load(tmp_path, label_text="title").labels.texts[:3] == ["Ovens", "Meat", "Baking"]
    with pytest.raises(ConfigError, match="text must be one of"):
        load(tmp_path, text="body")
    with pytest.raises(ConfigError, match="no option 'ngram'"):
        load(tmp_path, vectorizer={"ngram": 1})


def test_documents_may_name_labels_by_title(tmp_path):
    folder(tmp_path)
    titles = [{"uid": "L1", "title": name} for name in ("baking", "meat", "oven", "sweet", "New York")]
    json_lines(tmp_path / "labels.jsonl", titles)
    dataset = load(tmp_path)
    assert dataset.labels.names[:2] == ["baking", "meat"]
    assert carried(dataset) == [set(row[3]) for row in DOCUMENTS]


@pytest.mark.parametrize(
    ("cells", "how"),
    [
        ([json.dumps(row[3]) for row in DOCUMENTS], "JSON lists"),
        ([str(row[3]) for row in DOCUMENTS], "Python lists"),
        (["|".join(row[3]) for row in DOCUMENTS], "`|`"),
        (["; ".join(row[3]) for row in DOCUMENTS], "`;`"),
        ([", ".join(row[3]) for row in DOCUMENTS], "`,`"),
    ],
)
def test_label_cells(tmp_path, cells, how):
    rows = [[row[0], row[1], cell] for row, cell in zip(DOCUMENTS, cells, strict=True)]
    table(tmp_path / "train.csv", ["id", "Text", "Tags"], rows)
    table(tmp_path / "test.csv", ["id", "Text", "Tags"], rows[-1:])
    dataset = load(tmp_path)
    assert carried(dataset)[:4] == [set(row[3]) for row in DOCUMENTS]
    assert how in dataset.source


def test_label_cells_as_numpy_prints_them(tmp_path):
    table(tmp_path / "d.csv", ["text", "tags"], [["one word", "['a b' 'c']"], ["two", "['d']"]])
    assert set(load(tmp_path / "d.csv").labels.names) == {"a b", "c", "d"}


def test_blanks_separate_labels_only_when_they_are_reused(tmp_path):
    words = [["x y"], ["y z"], ["x z"], ["x y z"]]
    table(tmp_path / "a.csv", ["text", "labels"], [[f"document {i}", *row] for i, row in enumerate(words)])
    assert load(tmp_path / "a.csv").labels.names == ["x", "y", "z"]
    names = ["New York", "San Francisco", "New York", "Los Angeles"]
    table(tmp_path / "b.csv", ["text", "labels"], [[f"document {i}", name] for i, name in enumerate(names)])
    dataset = load(tmp_path / "b.csv")
    assert dataset.labels.names == ["Los Angeles", "New York", "San Francisco"]
    assert "one label per cell" in dataset.source


def test_a_cell_can_be_one_label(tmp_path):
    rows = [["one text", "Smith, John"], ["two", "Doe, Jane"]]
    table(tmp_path / "d.csv", ["text", "labels"], rows)
    assert len(load(tmp_path / "d.csv").labels) == 4
    assert load(tmp_path / "d.csv", separator="").labels.names == ["Doe, Jane", "Smith, John"]


def test_explicit_separator_and_columns(tmp_path):
    rows = [["a question", "x/y, z", "left"], ["another one", "y", "right"]]
    table(tmp_path / "q.tsv", ["inquiry", "areas", "side"], rows, delimiter="\t")
    with pytest.raises(DataError, match=r"no text column was found.*text_column"):
        load(tmp_path / "q.tsv")
    with pytest.raises(DataError, match=r"no labels column was found.*labels_column"):
        load(tmp_path / "q.tsv", text_column="inquiry")
    dataset = load(tmp_path / "q.tsv", text_column="inquiry,side", labels_column="areas", separator="/")
    assert dataset.labels.names == ["x", "y", "y, z"]
    assert sorted(dataset.train.texts + dataset.test.texts) == ["a question\nleft", "another one\nright"]
    error = refusal(tmp_path / "q.tsv", text_column="answer", labels_column="areas")
    assert "there is no column 'answer'" in str(error)
    assert error.line == 1


def test_zipped_csv_with_html(tmp_path):
    rows = [[str(i), f"Q{i}", f"<p>How much &amp; why</p>\n<a href='x'>{i}</a>", "a b"] for i in range(20)]
    content = table(tmp_path / "cooking.csv", ["id", "title", "content", "tags"], rows).read_text()
    with zipfile.ZipFile(tmp_path / "cooking.csv.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cooking.csv", content)
    (tmp_path / "cooking.csv").unlink()
    dataset = load(tmp_path)
    assert len(dataset.train) + len(dataset.test) == 20
    assert "Q3 How much & why 3" in dataset.train.texts + dataset.test.texts
    kept = load(tmp_path, strip_html=False)
    assert any("<p>" in text for text in kept.train.texts)


def test_the_hash_split_depends_on_the_document_alone(tmp_path):
    records = [{"uid": f"d{i}", "text": f"words number{i}", "labels": ["x"]} for i in range(100)]
    first = load(json_lines(tmp_path / "a.jsonl", records))
    again = load(json_lines(tmp_path / "b.jsonl", [*records[::-1], {"uid": "new", "text": "n", "labels": ["y"]}]))
    assert set(first.test.uids) == set(again.test.uids) - {"new"}
    assert 8 <= len(first.test) <= 35
    assert not set(first.test.uids) & set(first.train.uids)
    half = load(json_lines(tmp_path / "a.jsonl", records), test_share=0.5)
    assert set(first.test.uids) < set(half.test.uids)


def test_two_documents_make_two_parts(tmp_path):
    records = [{"text": text, "labels": ["x"]} for text in ("one", "two")]
    dataset = load(json_lines(tmp_path / "a.jsonl", records))
    assert len(dataset.train) == len(dataset.test) == 1
    assert "not two different documents" in str(refusal(json_lines(tmp_path / "b.jsonl", records[:1] * 3)))


def test_parquet(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"abstract": [row[1] for row in DOCUMENTS], "labels": [row[3] for row in DOCUMENTS]}
    parquet.write_table(pa.table(columns), tmp_path / "train.parquet")
    parquet.write_table(pa.table(columns), tmp_path / "test.parquet")
    assert carried(load(tmp_path)) == [set(row[3]) for row in DOCUMENTS] * 2
    content = (tmp_path / "test.parquet").read_bytes()
    (tmp_path / "test.parquet").write_bytes(content[: len(content) // 2])
    assert refusal(tmp_path).file == tmp_path / "test.parquet"


def test_label_file_with_one_name_a_line(tmp_path):
    json_lines(tmp_path / "train.jsonl", [{"text": "red", "labels": [0, 2]}, {"text": "blue", "labels": [1]}])
    json_lines(tmp_path / "test.jsonl", [{"text": "green", "labels": [2]}])
    (tmp_path / "names.txt").write_text("zero\none\ntwo\nthree\n")
    dataset = load(tmp_path, label_file="names.txt")
    assert dataset.labels.names == ["zero", "one", "two", "three"]
    assert dataset.test.Y.toarray().tolist() == [[0, 0, 1, 0]]
    assert "does not exist" in str(refusal(tmp_path, label_file="nowhere.txt"))


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ('{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": true}\n', 2, "neither a name nor"),
        ('{"text": "a", "labels": ["x"]}\n{"text": "b", "labels": [{}]}\n', 2, "no field that looks like a name"),
        ('{"text": "a", "labels": ["x"]}\n{"text": "b", "lab', 2, "not JSON"),
        ('{"text": "a", "labels": ["x"]}\n[1, 2]\n', 2, "not an object"),
        ('{"text": [1], "labels": ["x"]}\n{"text": "b", "labels": []}\n', 1, "text is expected"),
        ('{"content": "a"}\n', 1, "no labels column"),
        ("\n\n", 1, "no records"),
    ],
)
def test_broken_json_lines(tmp_path, content, line, part):
    file = tmp_path / "data.jsonl"
    file.write_text(content)
    error = refusal(file)
    assert (error.file, error.line) == (file, line)
    assert part in str(error)
    assert error.remedy


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        (b"text,labels\na,x\nb\n", 3, "1 fields"),
        (b'text,labels\na,x\n"b,y\nc,z\n', 3, "not CSV"),
        (b"text,labels\na,x\nb\xff,y\n", 3, "not utf-8"),
        (b'text,labels\na,"[""x""]"\nb,"[""y"""\n', 3, "not a list of labels"),
        (b"text,text\na,x\n", 1, "occurs twice"),
        (b"text,labels\n", 1, "no records"),
        (b"a,x\nb,y\n", 1, "no text column"),
    ],
)
def test_broken_csv(tmp_path, content, line, part):
    file = tmp_path / "data.csv"
    file.write_bytes(content)
    error = refusal(file)
    assert (error.file, error.line) == (file, line)
    assert part in str(error)


def test_another_encoding_on_request(tmp_path):
    file = tmp_path / "data.csv"
    file.write_bytes("text,labels\ncafé,x\nthé,y\n".encode("latin-1"))
    assert "encoding='latin-1'" in str(refusal(file))
    dataset = load(file, encoding="latin-1")
    assert sorted(dataset.train.texts + dataset.test.texts) == ["café", "thé"]
    assert "no encoding called" in str(refusal(file, encoding="klingon"))


def test_labels_described_twice(tmp_path):
    folder(tmp_path)
    json_lines(tmp_path / "labels.jsonl", [{"uid": "oven", "title": "a"}, {"uid": "oven", "title": "b"}])
    error = refusal(tmp_path)
    assert (error.file.name, error.line) == ("labels.jsonl", 2)


def lf_folder(path: Path, targets: object = (0, 2)) -> Path:
    json_lines(
        path / "trn.json.gz",
        [
            {"uid": "a", "title": "Red", "content": "wine", "target_ind": targets, "target_rel": [1.0, 1.0]},
            {"uid": "b", "title": "Blue", "content": "", "target_ind": []},
        ],
    )
    json_lines(path / "tst.json.gz", [{"uid": "c", "title": "Green", "content": "tea", "target_ind": [1]}])
    labels = [{"uid": f"l{i}", "title": name} for i, name in enumerate(("Wine", "Tea", "Red"))]
    json_lines(path / "lbl.json.gz", labels)
    (path / "filter_labels_test.txt").write_text("0 2\n")
    return path


def test_lf_json(tmp_path):
    dataset = load(lf_folder(tmp_path))
    assert dataset.labels.names == ["Wine", "Tea", "Red"]
    assert dataset.train.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert dataset.test.Y.toarray().tolist() == [[0, 1, 0]]
    assert dataset.test.filter_pairs.tolist() == [[0, 2]]
    assert dataset.train.texts == ["Red\nwine", "Blue"]
    assert load(tmp_path, text="title").train.texts == ["Red", "Blue"]


def test_filter_pairs_follow_documents_that_become_the_test_split(tmp_path):
    lf_folder(tmp_path)
    (tmp_path / "tst.json.gz").unlink()
    records = [{"uid": f"d{i}", "title": f"word{i}", "content": "", "target_ind": [i % 2]} for i in range(20)]
    json_lines(tmp_path / "trn.json.gz", records)
    (tmp_path / "filter_labels_train.txt").write_text("".join(f"{i} 2\n" for i in range(0, 20, 2)))
    dataset = load(tmp_path, test_share=0.5)
    filtered = {split.uids[row] for split in (dataset.train, dataset.test) for row, _ in split.filter_pairs.tolist()}
    assert filtered == {f"d{i}" for i in range(0, 20, 2)}
    assert len(dataset.train.filter_pairs)
    assert len(dataset.test.filter_pairs)


@pytest.mark.parametrize("targets", [[3], [-1], "0", [0.5], None])
def test_lf_json_with_wrong_targets(tmp_path, targets):
    error = refusal(lf_folder(tmp_path, targets))
    assert (error.file.name, error.line) == ("trn.json.gz", 1)
    assert "target_ind" in str(error)


@pytest.mark.parametrize("name", ["question", "Message", "comment", "review", "post", "article"])
def test_usual_names_of_texts_need_no_option(tmp_path, name):
    table(tmp_path / "q.csv", [name, "topics"], [["how to bake bread", "baking"], ["how to cook soup", "soup"]])
    assert f"text from '{name}'" in load(tmp_path / "q.csv").source
