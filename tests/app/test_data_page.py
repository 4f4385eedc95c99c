"""The data page: every way to a dataset, its card, its documents, its groups; and what is wrong with bad files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from tests.support.pages import FORMULA, HOSTILE, read_component
from xcwork.data.load import load_dataset
from xcwork.data.readers import list_formats

pytestmark = pytest.mark.slow

SMALL = "synthetic:n_documents=60,n_labels=12,n_topics=3,labels_per_document=1.5"


def said(page) -> str:
    """All errors and warnings of a page, without the signs that keep them from being Markdown."""
    return " ".join(each.value for each in (*page.error, *page.warning)).replace("\\", "")


def documents(page):
    """The frame of the table of documents."""
    return next(each.value for each in page.dataframe if {"row", "text", "labels"} <= set(each.value.columns))


def preview(page) -> str:
    """The first documents of an upload, as they are shown before it is added."""
    return next(each.proto.body for each in page.get("html") if '<div class="data-preview"' in each.proto.body)


def reason(page) -> str:
    """Why an upload cannot be added."""
    figures = next(each.proto.body for each in page.get("html") if '<div class="data-sum"' in each.proto.body)
    return figures.partition('role="status">')[2].partition("</p>")[0]


def adding(page):
    """The button that adds an upload."""
    return page.button(key="data.upload.add")


def upload(page, *files: tuple[str, bytes]):
    page.button(key="data.add").click().run()
    uploader = page.file_uploader[0]
    return uploader.set_value([(name, content, "application/octet-stream") for name, content in files]).run()


def view(page, name: str):
    """One of the views of the dataset."""
    return page.segmented_control(key="data.view").set_value(name).run()


def test_the_card_of_a_dataset(open_page, corpus: Path) -> None:
    page = open_page("data", data="fruit.csv")
    dataset = load_dataset(corpus)
    shown = {metric.label: metric.value for metric in page.metric}
    assert shown["Training documents"] == str(len(dataset.train))
    assert shown["Labels"] == str(len(dataset.labels))
    assert len(page.get("plotly_chart")) == 2
    assert page.get("plotly_chart")[0].proto.alt.startswith("The most frequent label has")
    assert any("half of the labels" in text.value for text in page.markdown)
    assert read_component(page, "data_frequent")["groups"][0]["rows"][0]["value"] == str(
        dataset.train.label_frequencies.max().astype(int)
    )
    assert "xcwork describe fruit.csv" in [code.value for code in page.code]


def test_health_checks_name_what_is_wrong(open_page, home: Path) -> None:
    lines = ["text,labels", *["same words,a"] * 8, *(f"grape vine{i},b" for i in range(20)), "no label,"]
    (home / "data" / "odd.csv").write_text("\n".join(lines) + "\n")
    page = open_page("data", data="odd.csv")
    assert "earlier one" in said(page)
    assert "has no labels" in said(page)
    assert any("No test document occurs" in text.value for text in page.markdown)
    assert not any("Every document has a label" in text.value for text in page.markdown)
    assert any("Can be trained, but" in text.value for text in page.markdown)


def test_documents_are_searched_and_paged(open_page, corpus: Path) -> None:
    page = view(open_page("data", data="fruit.csv"), "Documents")
    assert len(documents(page)) == 8
    page.text_input(key="data.search").set_value("PLUM number").run()
    assert all(text.startswith("plum") for text in documents(page)["text"])
    page.text_input(key="data.search").set_value("<script>").run()
    assert set(documents(page)["text"].str[:8]) == {"<script>"}
    page.text_input(key="data.search").set_value("nothing *like* that").run()
    assert any("No document contains" in text.value for text in page.markdown)


def test_a_csv_in_three_clicks(open_page, home: Path) -> None:
    rows = [f"{word} and {word} {i};{word}|thing" for i in range(15) for word in ("cat", "dog")]
    content = "\n".join(["Question;Topics", *rows]).encode()
    page = upload(open_page("data", data=SMALL), ("../../my pets.csv", content))
    assert page.multiselect[0].value == ["Question"]
    assert "<i>cat</i><i>thing</i>" in preview(page)
    assert reason(page) == ""
    adding(page).click().run()
    assert not page.exception
    assert page.query_params["data"] == "my pets.csv"
    assert "add" not in page.query_params, "the dialog is closed"
    assert {metric.label: metric.value for metric in page.metric}["Labels"] == "3"
    assert (home / "data" / "my pets.csv").read_bytes() == content
    assert load_dataset("my pets.csv").labels.names == ["cat", "dog", "thing"]  # the choice of columns was stored
    assert not list((home / "data" / ".uploads").iterdir())


def test_columns_can_be_corrected(open_page, home: Path) -> None:
    rows = [f"title {i},a long body of text number {i},{'x' if i % 2 else 'y'}" for i in range(30)]
    page = upload(open_page("data", data=SMALL), ("t.csv", "\n".join(["heading,body,kind", *rows]).encode()))
    assert page.multiselect[0].value == ["body"]
    page.multiselect[0].set_value(["heading"]).run()
    assert "title 2" in preview(page)
    assert "a long body" not in preview(page)
    adding(page).click().run()
    assert load_dataset("t.csv").train.texts[0].startswith("title")


def test_columns_can_be_chosen_where_the_guess_fails(open_page, home: Path) -> None:
    rows = [f'{word} story {i},"[{{""code"": [1]}}]",{word}' for i in range(15) for word in ("cat", "dog")]
    page = upload(open_page("data", data=SMALL), ("films.csv", "\n".join(["overview,tags,kind", *rows]).encode()))
    assert "films.csv, line 2" in said(page)
    labels = next(each for each in page.selectbox if each.label == "Labels")
    assert labels.options == ["overview", "tags", "kind"]
    assert adding(page).disabled
    labels.set_value("kind").run()
    assert not page.error
    assert "<i>cat</i>" in preview(page)
    adding(page).click().run()
    assert load_dataset("films.csv").labels.names == ["cat", "dog"]


def test_labels_that_are_records_are_understood(open_page, home: Path) -> None:
    """As in films of a well-known database: a column of JSON lists, each element a record with an id and a name."""
    genres = (
        '[{""id"": 18, ""name"": ""Drama""}, {""id"": 35, ""name"": ""Comedy""}]',
        '[{""id"": 18, ""name"": ""Drama""}]',
    )
    rows = [f'a story of {i},"{genres[i % 2]}"' for i in range(30)]
    page = upload(open_page("data", data=SMALL), ("films.csv", "\n".join(["overview,genres", *rows]).encode()))
    assert not page.error
    assert "<i>Drama</i><i>Comedy</i>" in preview(page)
    adding(page).click().run()
    assert load_dataset("films.csv").labels.names == ["Comedy", "Drama"]


def test_the_field_of_records_without_a_usual_name_can_be_said(open_page, home: Path) -> None:
    cells = ('[{""code"": ""x1"", ""heading"": ""Drama""}]', '[{""code"": ""x2"", ""heading"": ""Comedy""}]')
    rows = [f'a story of {i},"{cells[i % 2]}"' for i in range(30)]
    page = upload(open_page("data", data=SMALL), ("films.csv", "\n".join(["overview,genres", *rows]).encode()))
    assert "Say which field holds the names of the labels" in page.error[0].value
    field = next(each for each in page.text_input if each.key.startswith("data.upload.field."))
    field.set_value("heading").run()
    assert not page.error
    adding(page).click().run()
    assert load_dataset("films.csv").labels.names == ["Comedy", "Drama"]


def test_every_selector_stays_when_one_is_emptied(open_page, corpus: Path) -> None:
    page = upload(open_page("data", data=SMALL), ("t.csv", corpus.read_bytes()))
    page.multiselect[0].set_value([]).run()
    assert "no text column is chosen" in said(page).lower()
    assert {"Labels", "Between two labels stands", "Encoding"} <= {each.label for each in page.selectbox}
    assert adding(page).disabled


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("cut.csv.gz", gzip.compress(b"text,labels\n" + b"some words,a\n" * 5000)[:60], "cut off or damaged"),
        ("empty.csv", b"", "empty"),
        ("notes.docx", b"PK not a zip", "no format fits"),
        ("torn.csv", b'text,labels\n"never closed,a\nb,c\n', "check its quotes"),
        ("noise.csv", bytes(range(256)) * 20, "not a text file"),
        ("header.csv", b"text,labels\n", "no records"),
        ("sheet.xlsx", b"PK not a workbook", "not an excel workbook"),
        ("lone.csv", b"text\nonly one column\n", "one column"),
        ("bad.zip", b"PK\x03\x04 not an archive", "damaged"),
    ],
)
def test_a_damaged_upload_is_a_sentence_and_leaves_nothing(
    open_page, home: Path, name: str, content: bytes, sentence: str
) -> None:
    page = upload(open_page("data", data=SMALL), (name, content))
    assert not page.exception
    assert sentence in said(page).lower()
    assert name in said(page)
    assert ".uploads" not in said(page)
    assert page.metric, "the rest of the page is there"
    assert [path.name for path in (home / "data").iterdir()] == [".uploads"]
    assert not any(button.label == "Add dataset" and not button.disabled for button in page.button)


def test_another_file_can_be_chosen_after_a_damaged_one(open_page, home: Path, corpus: Path) -> None:
    page = upload(open_page("data", data=SMALL), ("lone.csv", b"text\nonly one column\n"))
    page.button(key="data.upload.another").click().run()
    page.file_uploader[0].set_value([("fine.csv", corpus.read_bytes(), "text/csv")]).run()
    assert not page.error
    adding(page).click().run()
    assert page.query_params["data"] == "fine.csv"


def test_a_single_document_cannot_be_added(open_page, home: Path) -> None:
    page = upload(open_page("data", data=SMALL), ("few.csv", b"text,labels\na single document,x\n"))
    assert adding(page).disabled
    assert reason(page) == "At least two documents are needed, and there is one."
    assert not page.error


def test_what_fails_when_all_of_it_is_read_still_waits(open_page, home: Path, monkeypatch) -> None:
    rows = "".join(f"words about {word} {i},{word}\n" for i in range(15) for word in ("cat", "dog"))
    monkeypatch.setattr("xcwork_app.panels.data.table_choices.MAX_RECORDS", 10)
    content = f'text,labels\n{rows}"never closed,a\n'.encode()
    page = upload(open_page("data", data=SMALL), ("torn.csv", content))
    assert not page.error
    adding(page).click().run()
    assert "torn.csv" in said(page)
    assert not adding(page).disabled, "it can be tried with other options"
    assert [path.name for path in (home / "data").iterdir() if not path.name.startswith(".")] == []


def test_a_file_in_latin_1_is_offered_as_such(open_page, home: Path) -> None:
    rows = "".join(f"Grüße aus Köln Nummer {i},städte\n" for i in range(9))
    page = upload(open_page("data", data=SMALL), ("latin.csv", f"text,labels\n{rows}".encode("latin-1")))
    assert "Read as latin-1?" in said(page)
    assert "Grüße aus Köln" in preview(page)
    adding(page).click().run()
    assert load_dataset("latin.csv").labels.names == ["städte"]


def test_a_wrong_labels_column_is_warned_about(open_page, home: Path) -> None:
    tags = ("baking oven", "oven", "sugar baking", "eggs sugar", "oven eggs baking", "eggs")
    rows = "".join(f"title {i},words about {i % 3},{tags[i % 6]}\n" for i in range(60))
    page = upload(open_page("data", data=SMALL), ("questions.csv", f"title,content,tags\n{rows}".encode()))
    separator = next(each for each in page.selectbox if each.label == "Between two labels stands")
    assert separator.options[0] == "a space (recognised)"
    labels = next(each for each in page.selectbox if each.label == "Labels")
    labels.set_value("title").run()
    assert any("Nearly every label occurs once" in text.value for text in page.markdown)
    next(each for each in page.selectbox if each.label == "Labels").set_value("tags").run()
    assert not any("Nearly every label occurs once" in text.value for text in page.markdown)


@pytest.mark.parametrize("name", ["records.json", "sheet.xlsx"])
def test_records_and_workbooks_are_read(open_page, home: Path, tmp_path: Path, name: str) -> None:
    rows = [{"title": f"{word} {i}", "tags": f"{word};pet"} for i in range(9) for word in ("cat", "dog")]
    file = tmp_path / name
    if name.endswith(".json"):
        file.write_text(json.dumps(rows))
    else:
        pd.DataFrame(rows).to_excel(file, index=False)
    page = upload(open_page("data", data=SMALL), (name, file.read_bytes()))
    assert not page.error
    assert "<i>cat</i><i>pet</i>" in preview(page)
    adding(page).click().run()
    assert load_dataset(name).labels.names == ["cat", "dog", "pet"]


def test_giving_up_leaves_nothing(open_page, home: Path, corpus: Path) -> None:
    page = upload(open_page("data", data=SMALL), ("t.csv", corpus.read_bytes()))
    page.button(key="data.upload.cancel").click().run()
    assert not page.file_uploader
    assert not list((home / "data" / ".uploads").iterdir())


def test_the_share_of_test_documents_is_stored(open_page, home: Path, corpus: Path) -> None:
    page = upload(open_page("data", data=SMALL), ("t.csv", corpus.read_bytes()))
    next(each for each in page.selectbox if each.label == "Held out to test").set_value(0.5).run()
    adding(page).click().run()
    dataset = load_dataset("t.csv")
    assert len(dataset.test) > 0.35 * (len(dataset.train) + len(dataset.test))


def test_several_files_are_one_dataset(open_page, home: Path) -> None:
    lines = "\n".join(
        f'{{"title": "{w} {i}", "content": "", "labels": ["{w}"]}}' for i in range(8) for w in ("a1", "b1")
    )
    page = upload(open_page("data", data=SMALL), ("train.jsonl", lines.encode()), ("test.jsonl", lines.encode()))
    adding(page).click().run()
    assert not page.exception
    assert page.query_params["data"] == "my-dataset"
    assert sorted(path.name for path in (home / "data" / "my-dataset").iterdir()) == ["test.jsonl", "train.jsonl"]


def test_a_corpus_without_column_names_is_recognised(open_page, home: Path) -> None:
    lines = "".join(f"plum number{i}\t<http://example.org/{i % 3}>\n" for i in range(20))
    page = upload(open_page("data", data=SMALL), ("titles.tsv", lines.encode()))
    assert any("Recognised as Annif" in caption.value for caption in page.caption)
    adding(page).click().run()
    assert not page.exception
    assert (home / "data" / "titles.tsv").is_file()


def test_the_formats_are_listed(open_page) -> None:
    page = open_page("data", data=SMALL, add="file")
    shown = " ".join(text.value for text in page.markdown)
    for declared in list_formats():
        assert f"**{declared.name}**" in shown


def test_a_path_with_options(open_page, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.csv"
    file.write_text("\n".join(["q,t", *(f"{w} {i},{w}" for i in range(9) for w in ("red", "blue"))]) + "\n")
    page = open_page("data", data=SMALL, add="file")
    page.segmented_control(key="data.add.way").set_value("path").run()
    page.text_input(key="data.path.text").set_value(str(file))
    page.text_input(key="data.path.options").set_value("text_column=q labels_column=t")
    page.button(key="data.path.add").click().run()
    assert not page.exception
    assert {metric.label: metric.value for metric in page.metric}["Labels"] == "2"
    assert any("--option labels_column=t" in code.value for code in page.code)


def test_a_wrong_path_is_a_sentence(open_page) -> None:
    page = open_page("data", data=SMALL, add="path")
    page.text_input(key="data.path.text").set_value("/no/such/thing")
    page.button(key="data.path.add").click().run()
    assert "there is no dataset '/no/such/thing'" in said(page).lower()
    assert page.metric


def test_the_generator_has_knobs(open_page) -> None:
    page = open_page("data", data=SMALL, add="made-up")
    page.number_input(key="data.generate.n_documents").set_value(100)
    page.number_input(key="data.generate.n_labels").set_value(40)
    page.number_input(key="data.generate.n_topics").set_value(4)
    page.button(key="data.generate.add").click().run()
    assert not page.exception
    assert page.query_params["data"].startswith("synthetic:n_documents=100,n_labels=40,n_topics=4")
    assert {metric.label: metric.value for metric in page.metric}["Labels"] == "40"


def test_knobs_that_cannot_be_are_a_sentence(open_page) -> None:
    page = open_page("data", data=SMALL, add="made-up")
    page.number_input(key="data.generate.n_labels").set_value(5)
    page.button(key="data.generate.add").click().run()
    assert "cannot be more topics (20) than labels (5)" in said(page)


def test_groups_are_built_and_used(open_page) -> None:
    page = view(open_page("data", data=SMALL), "Groups")
    page.segmented_control(key="data.groups").set_value("random").run()
    page.slider(key="data.groups.size").set_value(4).run()
    shown = {metric.label: metric.value for metric in page.metric}
    assert (shown["Groups"], shown["Documents per group"]) == ("12", "4.0")
    page.button(key="data.groups.use").click().run()
    assert not page.exception
    assert page.query_params["data"].endswith("?groups=random%3Asize%3D4")


def test_names_cannot_group_documents_without_dots(open_page, corpus: Path) -> None:
    page = view(open_page("data", data="fruit.csv"), "Groups")
    page.segmented_control(key="data.groups").set_value("names").run()
    assert "no dotted names" in said(page)


def test_hostile_labels_are_shown_as_they_are(open_page, corpus: Path) -> None:
    page = view(open_page("data", data="fruit.csv"), "Documents")
    page.text_input(key="data.search").set_value("cmd()").run()
    assert documents(page)["labels"][0] == FORMULA
    assert not any(HOSTILE in text.value for text in (*page.markdown, *page.caption))
