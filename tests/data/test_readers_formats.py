"""Other projects' own files are read with the right counts, as they ship them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.data.load import load_dataset, resolve_source
from xcwork.data.readers import get_format_name
from xcwork.errors import DataError

FORMATS = SHARED_DATA / "formats"
HOGWARTS = ["Gryffindor", "Hufflepuff", "Ravenclaw", "Slytherin"]


@dataclass(frozen=True)
class RightAnswer:
    """What a file or folder holds; None is not checked."""

    path: str
    format: str
    n_documents: int
    n_used: int  # labels that a document has
    n_labels: int | None = None  # with those that no document has
    n_pairs: int | None = None
    n_train: int | None = None
    n_test: int | None = None
    names: list[str] = field(default_factory=list)  # some of them
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.path}-{'-'.join(map(str, self.options.values()))}"


ANSWERS = [
    RightAnswer("annif-archaeology", "annif", 6404, 126, 131, names=["Paleolithic period"]),
    RightAnswer(
        "annif-archaeology/documents.tsv", "annif", 6404, 126, 131, options={"label_file": "yso-archaeology.ttl"}
    ),
    RightAnswer(
        "annif-archaeology/documents.csv",
        "annif",
        6404,
        126,
        131,
        names=["muinaismuistoalueet"],
        options={"label_file": "yso-archaeology.rdf", "language": "fi"},
    ),
    RightAnswer(
        "annif-archaeology/documents.jsonl",
        "annif",
        6404,
        126,
        126,
        names=["rahalöydöt"],
        options={"label_file": "subjects.csv"},
    ),
    RightAnswer(
        "annif-archaeology/documents.tsv",
        "annif",
        6404,
        126,
        126,
        names=["rahalöydöt"],
        options={"label_file": "subjects.tsv"},
    ),
    RightAnswer(
        "annif-archaeology/documents.csv",
        "table",
        6404,
        126,
        131,
        options={"format": "table", "labels_column": "subject_uris", "label_file": "yso-archaeology.ttl"},
    ),
    RightAnswer("annif-fulltext", "documents", 28, 90, names=["antiikki", "pyramidit"]),
    RightAnswer("annif-hogwarts", "annif", 111, 4, 4, names=HOGWARTS),
    RightAnswer("annif-hogwarts/hogwarts-train.tsv", "annif", 111, 4, 4, names=HOGWARTS),
    RightAnswer("fasttext-cooking", "fasttext", 15404, 736, n_train=12404, n_test=3000, names=["food-safety"]),
    RightAnswer("fasttext-cooking/cooking.stackexchange.txt", "fasttext", 15404, 736),
    RightAnswer("pecos-xlinear", "pecos", 4, 2, 20, n_train=2, n_test=2),
    RightAnswer("pecos-xtransformer", "pecos", 3, 4, 4, n_pairs=8),
    RightAnswer("pecos-text2text", "text2text", 10, 9, n_pairs=12, n_train=8, n_test=2),
    RightAnswer("pecos-text2text/train_with_rel.txt", "text2text", 8, 9, n_pairs=10),
    RightAnswer("doccano/example_fasttext.txt", "fasttext", 4, 2, n_pairs=4, names=["positive", "negative"]),
    RightAnswer("doccano/example.utf16.csv", "table", 3, 2, names=["Positive", "Negative"]),
    RightAnswer("doccano/example.jsonl", "table", 3, 2, n_pairs=3),
    RightAnswer("doccano/example_out_of_order_columns.csv", "table", 3, 2),
    RightAnswer("randolphvi-sample", "table", 256, 196, n_train=128, n_test=128),
    RightAnswer("randolphvi-sample", "table", 256, 215, options={"test": "validation"}),
    RightAnswer("gutenberg-catalog", "table", 7660, 6536, n_pairs=21011, options={"labels_column": "Subjects"}),
]


@needs_shared_data("formats")
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.id)
def test_the_files_of_other_projects(answer: RightAnswer, tmp_path: Path) -> None:
    if "yso" in str(answer.options) or answer.n_labels == 131:
        pytest.importorskip("rdflib")
    source = resolve_source(FORMATS / answer.path, home=tmp_path, **answer.options)
    dataset = source.load()
    frequencies = dataset.train.label_frequencies + dataset.test.label_frequencies
    assert get_format_name(source.reader) == answer.format
    assert len(dataset.train) + len(dataset.test) == answer.n_documents
    assert int((frequencies > 0).sum()) == answer.n_used
    assert answer.n_labels in (None, len(dataset.labels))
    assert answer.n_pairs in (None, int(frequencies.sum()))
    assert answer.n_train in (None, len(dataset.train))
    assert answer.n_test in (None, len(dataset.test))
    assert set(answer.names) <= set(dataset.labels.names)


@needs_shared_data("formats/fasttext-cooking")
def test_the_cooking_questions_say_what_is_used_as_test(tmp_path: Path) -> None:
    dataset = load_dataset(FORMATS / "fasttext-cooking", home=tmp_path)
    assert int((dataset.train.label_frequencies > 0).sum()) == 735
    assert "cooking.valid.txt is the test split, because there is no test file" in dataset.notes
    assert any("cooking.stackexchange.txt is not used" in note for note in dataset.notes)


@needs_shared_data("formats/annif-archaeology")
def test_a_thesaurus_brings_alternative_names_and_broader_terms(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    path = FORMATS / "annif-archaeology" / "documents.tsv"
    datasets = [
        load_dataset(path, home=tmp_path, label_file=f"yso-archaeology.{suffix}", language="fi").labels
        for suffix in ("ttl", "rdf")
    ]
    for labels in datasets:
        place = labels.uids.index("http://www.yso.fi/onto/yso/p12897")
        assert labels.names[place] == "muinaismuistoalueet"
        assert labels.texts[place] == "muinaismuistoalueet\n\nmuinaisjäännösalueet"
        assert sum(map(len, labels.parents)) == 51
    assert dict(zip(datasets[0].uids, datasets[0].names, strict=True)) == dict(
        zip(datasets[1].uids, datasets[1].names, strict=True)
    )


@needs_shared_data("formats/doccano")
def test_a_broken_file_of_doccano_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: the record has 3 fields, but the first line names 2"):
        load_dataset(FORMATS / "doccano" / "example.invalid.2.csv", home=tmp_path)
