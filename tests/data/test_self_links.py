"""Documents that are labels themselves are never predicted for themselves, unless the user wants it or it is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xcwork.core.dataset import Dataset
from xcwork.data.card import describe
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError
from xcwork.methods.registry import create

PAGES = {"a": "Apple", "b": "Banana", "c": "Cherry", "d": "Date"}


def write_records(path: Path, records: list[dict]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def see_also(folder: Path, uid: dict[str, str] | None = None, links: dict[str, str] | None = None) -> Path:
    """Pages that refer to each other: a, b and c in training, d and an unnamed page in test."""
    uid, links = uid or {key: key for key in PAGES}, links or {"a": "bc", "b": "c", "c": "da", "d": "a"}
    pages = [
        {
            "uid": uid[key],
            "title": title,
            "content": f"All about the {title}.",
            "labels": [uid[to] for to in links[key]],
        }
        for key, title in PAGES.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_records(folder / "train.jsonl", pages[:3])
    write_records(folder / "test.jsonl", [pages[3], {"uid": "x", "title": "Else", "content": "Fruit", "labels": ["a"]}])
    write_records(folder / "labels.jsonl", [{"uid": uid[key], "title": title} for key, title in PAGES.items()])
    return folder


def pairs_of(dataset: Dataset) -> list[set[tuple[str, str]]]:
    """The filter pairs of both splits as (uid of the document, name of the label)."""
    return [
        {(split.uids[row], split.labels.names[label]) for row, label in split.filter_pairs.tolist()}
        if split.filter_pairs is not None
        else set()
        for split in (dataset.train, dataset.test)
    ]


def test_a_document_with_the_uid_of_a_label_is_not_predicted_for_itself(tmp_path, home):
    dataset = load_dataset(see_also(tmp_path / "fruit"))
    assert pairs_of(dataset) == [{("a", "Apple"), ("b", "Banana"), ("c", "Cherry")}, {("d", "Date")}]
    found = create("tfidf").fit(dataset.train).predict(dataset.test, 4)
    assert dataset.labels.names.index("Date") not in found.ids[0]


def test_the_card_says_so(tmp_path, home):
    card = describe(load_dataset(see_also(tmp_path / "fruit")))
    assert card.to_dict()["self_links"] == card.to_dict()["filter_pairs"] == {"train": 3, "test": 1}
    assert "self links" in card.to_text()
    assert "4 documents are labels themselves and are never predicted for themselves" in card.notes
    assert not any("themselves" in problem for problem in card.problems)


def test_the_user_may_keep_them(tmp_path, home):
    folder = see_also(tmp_path / "fruit")
    filtered, kept = load_dataset(folder), load_dataset(folder, self_links="keep")
    assert (kept.train.filter_pairs, kept.test.filter_pairs) == (None, None)
    assert kept.fingerprint != filtered.fingerprint
    card = describe(kept)
    assert card.self_links == {"train": 0, "test": 0}
    assert any("4 documents are labels themselves, so they may be predicted" in problem for problem in card.problems)
    found = create("tfidf").fit(kept.train).predict(kept.test, 1)
    assert kept.labels.names[found.ids[0, 0]] == "Date"
    assert load_dataset(folder).fingerprint == filtered.fingerprint  # the choice is part of the cache key


def test_an_unknown_choice_is_refused_before_anything_is_read(tmp_path, home, monkeypatch):
    from xcwork.data.readers import tabular

    monkeypatch.setattr(tabular, "read_table", lambda *_: pytest.fail("the file was read"))
    with pytest.raises(ConfigError, match="self_links must be one of auto, filter, keep, got 'maybe'"):
        load_dataset(see_also(tmp_path / "fruit"), self_links="maybe")


def test_a_true_label_is_never_filtered(tmp_path, home):
    links = {"a": "ab", "b": "c", "c": "da", "d": "d"}
    dataset = load_dataset(see_also(tmp_path / "fruit", links=links))
    assert pairs_of(dataset) == [{("b", "Banana"), ("c", "Cherry")}, set()]
    assert not any("true label" in problem for problem in describe(dataset).problems)


@pytest.mark.parametrize(("choice", "expected"), [("auto", [set(), set()]), ("filter", [{("1", "1")}, {("3", "3")}])])
def test_numbers_that_documents_and_labels_have_by_chance_are_no_links(tmp_path, home, choice, expected):
    """Documents that are counted and classes that are numbers have nothing to do with each other."""
    write_records(tmp_path / "train.jsonl", [{"id": str(i), "text": f"word{i}", "label": "122"[i]} for i in range(3)])
    write_records(
        tmp_path / "test.jsonl", [{"id": "3", "text": "word3", "label": "1"}, {"id": "4", "text": "word", "label": "3"}]
    )
    assert pairs_of(load_dataset(tmp_path, self_links=choice)) == expected


def test_numbers_with_the_same_titles_are_links(tmp_path, home):
    folder = see_also(tmp_path / "fruit", uid={"a": "10", "b": "11", "c": "12", "d": "13"})
    assert pairs_of(load_dataset(folder)) == [{("10", "Apple"), ("11", "Banana"), ("12", "Cherry")}, {("13", "Date")}]


def test_labels_without_a_file_are_known_by_their_keys(tmp_path, home):
    (see_also(tmp_path / "fruit") / "labels.jsonl").unlink()
    assert pairs_of(load_dataset(tmp_path / "fruit")) == [{("a", "a"), ("b", "b"), ("c", "c")}, {("d", "d")}]


def test_equal_titles_are_a_warning_only(tmp_path, home):
    folder = see_also(tmp_path / "fruit")
    pages = [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]
    write_records(folder / "train.jsonl", [page | {"uid": f"page/{page['uid']}"} for page in pages])
    dataset = load_dataset(folder)
    assert pairs_of(dataset) == [set(), {("d", "Date")}]
    assert any("3 documents are called like labels they do not have" in p for p in describe(dataset).problems)


def test_pairs_of_a_filter_file_stay(tmp_path, home):
    pages = [
        {"uid": key, "title": title, "content": "", "target_ind": [(row + 1) % 4]}
        for row, (key, title) in enumerate(PAGES.items())
    ]
    write_records(tmp_path / "trn.json", pages[:3])
    write_records(tmp_path / "tst.json", pages[3:])
    write_records(tmp_path / "lbl.json", [{"uid": key, "title": title} for key, title in PAGES.items()])
    (tmp_path / "filter_labels_train.txt").write_text("0 0\n0 3\n")
    dataset = load_dataset(tmp_path)
    assert pairs_of(dataset) == [
        {("a", "Apple"), ("a", "Date"), ("b", "Banana"), ("c", "Cherry")},
        {("d", "Date")},
    ]
    assert len(dataset.train.filter_pairs) == 4
    assert describe(dataset).self_links == {"train": 3, "test": 1}


def test_a_stored_dataset_keeps_what_was_decided(tmp_path, home):
    load_dataset(see_also(tmp_path / "fruit"), self_links="keep").save(tmp_path / "stored")
    assert load_dataset(tmp_path / "stored").train.filter_pairs is None
    with pytest.raises(ConfigError, match="the format stored has no option 'self_links'"):
        load_dataset(tmp_path / "stored", self_links="keep")
