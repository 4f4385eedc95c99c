"""Annif's corpora, vocabularies as label files, and folders with one file per document."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.support.text_files import list_documents, write_folder
from xcwork.data.load import load_dataset, resolve_source
from xcwork.data.readers import get_format_name
from xcwork.data.readers.subject_vocabulary import is_vocabulary, read_vocabulary
from xcwork.errors import ConfigError, DataError
from xcwork.extras import MissingExtraError

RED = "http://example.org/c/red"
BLUE = "http://example.org/c/blue"
TURTLE = f"""@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<{RED}> a skos:Concept ; skos:prefLabel "red"@en, "rot"@de ; skos:altLabel "crimson"@en, "purpur"@de ;
    skos:notation "1.1" ; skos:broader <http://example.org/c/colour> .
<{BLUE}> a skos:Concept ; skos:prefLabel "blue"@en, "blau"@de ; skos:notation "1.2" .
<http://example.org/c/colour> a skos:Concept ; skos:prefLabel "colour"@en ; skos:narrower <{BLUE}> .
<http://example.org/c/old> a skos:Concept ; skos:prefLabel "old"@en ; owl:deprecated true .
"""
RDF = f"""<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="{RED}"><skos:prefLabel xml:lang="en">red</skos:prefLabel>
<skos:altLabel xml:lang="en">crimson</skos:altLabel><skos:broader rdf:resource="http://example.org/c/colour"/></skos:Concept>
<skos:Concept rdf:about="{BLUE}"><skos:prefLabel xml:lang="en">blue</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
VOCABULARIES = {
    "vocab.tsv": f"# a comment\n<{RED}>\tred\t1.1\n\n<{BLUE}>\tblue\t1.2\n",
    "subjects.tsv": f"{RED}\tred\n{BLUE}\tblue\n",
    "subjects.csv": f"uri,notation,label_de,label_en\n{RED},1.1,rot,red\n<{BLUE}>,1.2,blau,blue\n",
    "my-vocab.csv": f"uri;label_en\n{RED};red\n{BLUE};blue\n",
    "thesaurus.csv": f"\ufeffuri,label\r\n{RED},red\r\n{BLUE},blue\r\n",
    "colours.ttl": TURTLE,
    "colours.rdf": RDF,
    "colours.nt": f'<{RED}> <http://www.w3.org/2004/02/skos/core#prefLabel> "red"@en .\n'
    f'<{BLUE}> <http://www.w3.org/2004/02/skos/core#prefLabel> "blue"@en .\n',
}
EXPECTED = {"an apple": {"red"}, "the sky and a plum": {"red", "blue"}, "sea water": {"blue"}}
CORPORA = {
    "documents.tsv": f"an apple\t<{RED}>\nthe sky and a plum\t<{RED}> <{BLUE}>\n\nsea water\t<{BLUE}>\n",
    "bare.tsv": f"an apple\t{RED}\nthe sky and a plum\t{RED} {BLUE}\nsea water\t{BLUE}\n",
    "windows.tsv": f"\ufeffan apple\t<{RED}>\r\nthe sky and a plum\t<{RED}>  <{BLUE}>\r\nsea water\t<{BLUE}>\r\n",
    "documents.csv": f"text,subject_uris\nan apple,<{RED}>\nthe sky and a plum,<{RED}> <{BLUE}>\nsea water,<{BLUE}>\n",
    "headless.csv": f'"an apple",<{RED}>\nthe sky and a plum,<{RED}> <{BLUE}>\nsea water,{BLUE}\n',
    "semicolons.csv": f"subject_uris;text\n{RED};an apple\n{RED} {BLUE};the sky and a plum\n{BLUE};sea water\n",
    "documents.jsonl": f'{{"text": "an apple", "subjects": [{{"uri": "{RED}"}}]}}\n'
    f'{{"text": "the sky and a plum", "subjects": [{{"uri": "{RED}"}}, {{"label": "blue"}}]}}\n'
    f'{{"text": "sea water", "subjects": [{{"uri": "<{BLUE}>", "label": "bleu"}}]}}\n',
}


def skip_without_rdflib(name: str) -> None:
    if name.endswith((".ttl", ".rdf", ".nt")):
        pytest.importorskip("rdflib")


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("corpus", CORPORA)
def test_uris_of_documents_become_names(tmp_path: Path, corpus: str, vocabulary: str) -> None:
    skip_without_rdflib(vocabulary)
    files = {corpus: CORPORA[corpus], vocabulary: VOCABULARIES[vocabulary]}
    folder = write_folder(tmp_path / "data", files)
    for path in (folder, folder / corpus):
        source = resolve_source(
            path, home=tmp_path / "home", language="en" if "label_de" in files[vocabulary] else None
        )
        assert get_format_name(source.reader) == "annif"
        dataset = source.load()
        assert list_documents(dataset) == EXPECTED
        assert {RED, BLUE} <= set(dataset.labels.uids)


def test_a_table_with_addresses_is_not_a_corpus_of_annif(tmp_path: Path) -> None:
    rows = "".join(f"a plum of {number},fruit,http://example.org/{number}\n" for number in range(5))
    (tmp_path / "a.csv").write_text("text,labels,link\n" + rows)
    (tmp_path / "b.tsv").write_text(("text,labels,link\n" + rows).replace(",", "\t"))
    for name in ("a.csv", "b.tsv"):
        source = resolve_source(tmp_path / name, home=tmp_path)
        assert get_format_name(source.reader) == "table"
        assert source.load().labels.names == ["fruit"]


def test_a_vocabulary_names_uris_in_other_formats(tmp_path: Path) -> None:
    rows = [("an apple", [RED]), ("the sky and a plum", [RED, BLUE]), ("sea water", [BLUE])]
    records = "".join(json.dumps({"title": text, "tags": uris}) + "\n" for text, uris in rows)
    folder = write_folder(tmp_path / "data", {"a.jsonl": records, "subjects.tsv": VOCABULARIES["subjects.tsv"]})
    dataset = load_dataset(folder / "a.jsonl", home=tmp_path)
    assert list_documents(dataset) == EXPECTED
    assert "names of labels are from subjects.tsv" in dataset.notes
    assert list_documents(load_dataset(folder, home=tmp_path)) == EXPECTED


def test_documents_without_a_vocabulary_keep_uris_or_the_names_they_give(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"a.tsv": CORPORA["documents.tsv"]})
    assert set(load_dataset(folder, home=tmp_path).labels.names) == {RED, BLUE}
    lines = (
        f'{{"text": "apple", "subjects": [{{"uri": "{RED}", "label": "red"}}]}}\n{{"text": "sea", "subjects": []}}\n'
    )
    folder = write_folder(tmp_path / "other", {"a.jsonl": lines})
    labels = load_dataset(folder, home=tmp_path).labels
    assert (labels.names, labels.uids) == (["red"], [RED])


def test_a_changed_vocabulary_beside_a_file_is_read_again(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", {"a.tsv": CORPORA["documents.tsv"]})
    load_dataset(folder / "a.tsv", home=tmp_path)
    write_folder(folder, {"subjects.tsv": VOCABULARIES["subjects.tsv"]})
    assert set(load_dataset(folder / "a.tsv", home=tmp_path).labels.names) == {"red", "blue"}


@pytest.mark.parametrize("suffix", ["ttl", "rdf"])
def test_what_a_thesaurus_says_about_its_concepts(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("rdflib")
    path = tmp_path / f"colours.{suffix}.gz"
    path.write_bytes(gzip.compress(VOCABULARIES[f"colours.{suffix}"].encode()))
    vocabulary = read_vocabulary(path, language="en")
    place = vocabulary.uris.index(RED)
    assert vocabulary.names[place] == "red"
    assert vocabulary.alternatives[place] == ["crimson"]
    assert vocabulary.parents[place] == ["http://example.org/c/colour"]
    assert vocabulary.to_raw_labels("title").texts[place] == "red"
    assert vocabulary.to_raw_labels().texts[place] == "red\n\ncrimson"


def test_languages_notations_deprecated_and_narrower_concepts(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    path = tmp_path / "colours.ttl"
    path.write_text(TURTLE)
    vocabulary = read_vocabulary(path)
    assert vocabulary.names == ["red", "blue", "colour"]
    assert vocabulary.notations == ["1.1", "1.2", ""]
    assert vocabulary.parents[1] == ["http://example.org/c/colour"]
    assert vocabulary.notes == ("names of labels are in the language 'en'; label_language= takes another one: de",)
    german = read_vocabulary(path, language="de")
    assert german.names == ["rot", "blau", "colour"]
    assert german.alternatives[0] == ["purpur"]
    assert "1 of 3 subjects have no name in the language 'de'" in german.notes
    assert "http://example.org/c/old" in read_vocabulary(path, used=["http://example.org/c/old"]).uris
    with pytest.raises(ConfigError, match=r"colours.ttl has no names in the language 'fr'; it has de, en"):
        read_vocabulary(path, language="fr")


def test_labels_are_resolved_by_uri_name_and_notation(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    path.write_text(VOCABULARIES["subjects.csv"])
    vocabulary = read_vocabulary(path, language="en")
    rows = [[f"<{RED}>", "Blue"], ["1.2", "rot"], ["unknown"], [RED, "red"]]
    assert vocabulary.resolve_labels(rows) == [[RED, BLUE], [BLUE, RED], ["unknown"], [RED]]


def test_notations_are_stored_with_the_dataset(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "data", {"a.tsv": CORPORA["documents.tsv"], "vocab.tsv": VOCABULARIES["vocab.tsv"]}
    )
    dataset = load_dataset(folder, home=tmp_path)
    assert dataset.labels.notations == ["1.1", "1.2"]
    dataset.save(tmp_path / "stored")
    assert load_dataset(tmp_path / "stored", home=tmp_path).labels.notations == ["1.1", "1.2"]


def test_vocabularies_are_recognised_and_other_tables_are_not(tmp_path: Path) -> None:
    for name, content in VOCABULARIES.items():
        (tmp_path / name).write_text(content)
        assert is_vocabulary(tmp_path / name), name
    for name, content in {
        "a.csv": "text,labels\nx,y\n",
        "b.tsv": CORPORA["documents.tsv"],
        "c.txt": "red\nblue\n",
    }.items():
        (tmp_path / name).write_text(content)
        assert not is_vocabulary(tmp_path / name), name


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.tsv", f"<{RED}>\tred\n<{BLUE}>\tblue\nnothing\n", "line 3: 'nothing' is not a URI, a tab and a name"),
        ("a.csv", f"uri,label\n{RED},red\n,blue\n", "line 3: the subject has no URI"),
        ("a.csv", "uri,label\n", "the file has no records"),
        ("a.ttl", "<a> <b> ", "cannot be read as turtle"),
        ("a.ttl", "<http://e.org/a> <http://e.org/b> 1 .", "no concept with a skos:prefLabel"),
        (
            "a.ttl",
            "@prefix : <x> . " + ":a :b " + "[ :b " * 5000 + "1 " + "] " * 5000 + ".",
            "cannot be read as turtle",
        ),
        ("a.rdf", "<rdf:RDF", "cannot be read as RDF/XML"),
        ("a.rdf", RDF.replace("skos:Concept", "skos:Concept x:y='1'", 1), "cannot be read as RDF/XML"),
        ("a.nt", "<a> <b>\n", "cannot be read as nt"),
    ],
)
def test_broken_vocabularies(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    skip_without_rdflib(name)
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=sentence):
        read_vocabulary(tmp_path / name)


ENTITIES = '<!DOCTYPE rdf:RDF [ <!ENTITY a "aaaaaaaaaa"> <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"> ]>'
EXTERNAL = '<!DOCTYPE rdf:RDF [ <!ENTITY a SYSTEM "file:///etc/hostname"> ]>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("document_type", [ENTITIES, EXTERNAL, '<!DOCTYPE rdf SYSTEM "http://localhost:9/x.dtd">'])
def test_xml_with_entities_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, document_type: str, encoding: str
) -> None:
    rdflib = pytest.importorskip("rdflib")
    monkeypatch.setattr(rdflib.Graph, "parse", lambda *_args, **_options: pytest.fail("the parser was called"))
    content = RDF.replace("<rdf:RDF", f"{document_type}\n<rdf:RDF", 1).replace(">red<", ">&a;<")
    (tmp_path / "a.rdf").write_bytes(content.replace("UTF-8", encoding).encode(encoding))
    with pytest.raises(DataError, match="line 2: the document type has more than plain entities"):
        read_vocabulary(tmp_path / "a.rdf")


NAMESPACES = """<!-- an export --><!DOCTYPE rdf:RDF [
  <!ENTITY ex "http://example.org/?a='1'" >
  <!-- the namespace -->
  <!ENTITY skos 'http://www.w3.org/2004/02/skos/core#' >
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="&skos;">
<skos:Concept rdf:about="&ex;a"><skos:prefLabel>Salt &amp; <![CDATA[&ex;]]></skos:prefLabel></skos:Concept></rdf:RDF>
"""


def test_entities_for_namespaces_are_written_out(tmp_path: Path) -> None:
    skip_without_rdflib("set.rdf")
    (tmp_path / "set.rdf").write_text('<?xml version="1.0"?>\n' + NAMESPACES)
    vocabulary = read_vocabulary(tmp_path / "set.rdf")
    assert (vocabulary.uris, vocabulary.names) == (["http://example.org/?a='1'a"], ["Salt & &ex;"])


def test_an_entity_that_makes_a_file_grow_is_refused(tmp_path: Path) -> None:
    skip_without_rdflib("set.rdf")
    content = NAMESPACES.replace("Salt", "&long;" * 3000).replace(
        "<!ENTITY ex", f'<!ENTITY long "{"a" * 999}"><!ENTITY ex'
    )
    (tmp_path / "set.rdf").write_text(content)
    with pytest.raises(DataError, match="its entities make the file more than 20 times larger"):
        read_vocabulary(tmp_path / "set.rdf")


def test_rdflib_says_nothing_about_addresses(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    skip_without_rdflib("set.ttl")
    core = "http://www.w3.org/2004/02/skos/core#"
    (tmp_path / "set.nt").write_text(f'<http://a.org/{{x}}> <{core}prefLabel> "odd" .\n')
    assert read_vocabulary(tmp_path / "set.nt").names == ["odd"]
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("yso.tsv", "<http://example.org/a>\tname of a\n<http://example.org/b>\tname of b\n"),
        ("yso.csv", "uri,notation,label_fi\nhttp://example.org/a,1,name of a\nhttp://example.org/b,2,name of b\n"),
    ],
)
def test_a_vocabulary_is_found_whatever_it_is_called(tmp_path: Path, name: str, content: str) -> None:
    lines = "red fox\t<http://example.org/a>\nblue sea\t<http://example.org/b>\n"
    write_folder(tmp_path, {"kirja-train.tsv": lines, "kirja-validate.tsv": lines, name: content})
    dataset = load_dataset(tmp_path)
    assert list(dataset.labels.names) == ["name of a", "name of b"]
    assert "kirja-validate.tsv is the test split, because there is no test file" in dataset.notes


def test_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdflib")
    import socket

    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was opened"))
    imports = "@base <http://localhost:9/> . <x> <http://www.w3.org/2002/07/owl#imports> <http://localhost:9/y> .\n"
    (tmp_path / "a.ttl").write_text(imports + TURTLE)
    xml_base = RDF.replace("<rdf:RDF", '<rdf:RDF xml:base="http://localhost:9/"', 1)
    (tmp_path / "a.rdf").write_text(xml_base)
    for name in ("a.ttl", "a.rdf"):
        assert read_vocabulary(tmp_path / name, language="en").uris[0] == RED


def test_a_packed_bomb_of_a_vocabulary_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    (tmp_path / "a.ttl.gz").write_bytes(gzip.compress(b"#" * (200 * 2**20)))
    with pytest.raises(DataError, match="unpacks to more than"):
        read_vocabulary(tmp_path / "a.ttl.gz")


def test_a_thesaurus_without_rdflib_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xcwork.extras
    from xcwork.data.readers import subject_vocabulary

    monkeypatch.setattr(xcwork.extras, "is_installed", lambda package: package != "rdflib")
    monkeypatch.setattr(subject_vocabulary, "is_installed", lambda package: package != "rdflib")
    folder = write_folder(tmp_path / "data", {"a.tsv": CORPORA["documents.tsv"], "colours.ttl": TURTLE})
    with pytest.raises(MissingExtraError, match=r"pip install 'xcwork\[vocabularies\]'"):
        load_dataset(folder, home=tmp_path, label_file="colours.ttl")
    dataset = load_dataset(folder, home=tmp_path)
    assert any("colours.ttl is not used, because rdflib is missing" in note for note in dataset.notes)


def test_lines_of_annif_without_subjects_are_kept_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(f"an apple\t<{RED}>\nplum\t<{RED}>\nno tab\nonly a tab\t\npear\t<{BLUE}>\n")
    dataset = load_dataset(tmp_path / "a.tsv", home=tmp_path)
    assert list_documents(dataset)["no tab"] == list_documents(dataset)["only a tab"] == set()
    assert "2 lines of a.tsv have no URI after a tab" in dataset.notes


def test_a_record_that_is_not_a_subject(tmp_path: Path) -> None:
    good = f'{{"text": "apple", "subjects": [{{"uri": "{RED}"}}]}}\n'
    (tmp_path / "a.jsonl").write_text(good * 3 + '{"text": "plum", "subjects": [{"id": 4}]}\n')
    with pytest.raises(DataError, match=r"line 4: .*is not a subject"):
        load_dataset(tmp_path / "a.jsonl", home=tmp_path)


DOCUMENT_FOLDERS = {
    "key": {"1.txt": "an apple", "1.key": "red\n", "2.txt": "the sky and a plum", "2.key": "red\nblue\n"},
    "lab": {"1.txt": "an apple", "1.lab": "red", "2.txt": "the sky and a plum", "2.lab": "blue\r\nred\r\n\r\n"},
    "tsv": {
        "1.txt": "an apple",
        "1.tsv": f"<{RED}>\tred\n",
        "1.key": "green\n",
        "2.txt": "the sky and a plum",
        "2.tsv": f"<{RED}>\tred\n{BLUE}\tblue\t0.5\n",
    },
    "json": {
        "1.json": json.dumps({"text": "an apple", "subjects": [{"uri": RED, "label": "red"}]}, indent=1),
        "2.json": json.dumps({"text": "the sky and a plum", "subjects": [{"label": "red"}, {"label": "blue"}]}),
    },
}


@pytest.mark.parametrize("form", ["key", "lab", "tsv"])
def test_one_file_per_document(tmp_path: Path, form: str) -> None:
    folder = write_folder(tmp_path / "data", DOCUMENT_FOLDERS[form] | {"3.txt": "", f"3.{form}": "", "README.md": "x"})
    source = resolve_source(folder, home=tmp_path)
    assert get_format_name(source.reader) == "documents"
    dataset = source.load()
    assert list_documents(dataset) == {"an apple": {"red"}, "the sky and a plum": {"red", "blue"}, "": set()}
    assert sorted(dataset.train.uids + dataset.test.uids) == ["1", "2", "3"]


def test_one_json_file_per_document(tmp_path: Path) -> None:
    files = DOCUMENT_FOLDERS["json"] | {"subjects.tsv": VOCABULARIES["subjects.tsv"]}
    dataset = load_dataset(write_folder(tmp_path / "data", files), home=tmp_path)
    assert list_documents(dataset) == {"an apple": {"red"}, "the sky and a plum": {"red", "blue"}}


def test_folders_called_train_and_test(tmp_path: Path) -> None:
    files = {f"{split}/{name}": text for split in ("train", "test") for name, text in DOCUMENT_FOLDERS["key"].items()}
    dataset = load_dataset(write_folder(tmp_path / "data", files), home=tmp_path)
    assert (len(dataset.train), len(dataset.test)) == (2, 2)


def test_missing_texts_and_labels_are_counted(tmp_path: Path) -> None:
    files = DOCUMENT_FOLDERS["key"] | {"3.key": "red\n", "4.txt": "a pear"}
    dataset = load_dataset(write_folder(tmp_path / "data", files), home=tmp_path)
    assert len(dataset.train) + len(dataset.test) == 3
    assert "1 texts of data have no file of labels" in dataset.notes
    assert "1 files of labels in data have no text and are left out, such as 3" in dataset.notes


def test_a_document_in_another_encoding_is_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "data", DOCUMENT_FOLDERS["key"] | {"2.txt": "süß".encode("latin-1")})
    with pytest.raises(DataError, match=r"2\.txt, line 1: byte 2 of the line is not utf-8"):
        load_dataset(folder, home=tmp_path)
    assert "süß" in list_documents(load_dataset(folder, home=tmp_path, encoding="latin-1"))
