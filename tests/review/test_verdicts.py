"""Answers are never lost: two writers, a kill, a torn line, a hand-edited file, another dataset."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.topics import make_topics
from xcwork.core.dataset import Dataset
from xcwork.data.data_folder import locate_reviews, rename_dataset
from xcwork.data.load import list_datasets, may_be_dataset
from xcwork.errors import ConfigError, DataError
from xcwork.review.documents import DatasetKeys
from xcwork.review.verdicts import VerdictLog, load_verdicts, store_answer, undo_answer

WRITER = """
import sys
from pathlib import Path
from tests.support.topics import make_topics
from xcwork.review.documents import DatasetKeys
from xcwork.review.verdicts import store_answer

home, by, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
keys = DatasetKeys(make_topics())
print("ready", flush=True)
sys.stdin.readline()
for i in range(number):
    answer = store_answer(home, keys, ("test", i % 30, i // 30 % 6), "right", by=by, note=f"answer {i} " + "x" * 500)
    print(answer.id, flush=True)
"""


@pytest.fixture(scope="module")
def topics() -> Dataset:
    return make_topics()


@pytest.fixture
def keys(topics: Dataset) -> DatasetKeys:
    return DatasetKeys(topics)


def read(home: Path, dataset: Dataset) -> VerdictLog:
    return load_verdicts(home, DatasetKeys(dataset))


def start_writer(home: Path, by: str, number: int) -> subprocess.Popen[str]:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), by, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    return writer


def begin(writer: subprocess.Popen[str]) -> None:
    assert writer.stdin is not None
    writer.stdin.write("\n")
    writer.stdin.flush()


@pytest.mark.slow
def test_two_processes_append_two_hundred_answers_each_and_all_are_there(home: Path, topics: Dataset) -> None:
    writers = [start_writer(home, by, 200) for by in ("ann", "bob")]
    for writer in writers:
        begin(writer)
    written = {line for writer in writers for line in writer.communicate()[0].split()}
    assert [writer.returncode for writer in writers] == [0, 0]
    lines = locate_reviews("topics", home).read_text().splitlines()
    assert {json.loads(line)["id"] for line in lines} == written
    assert len(lines) == 400
    log = read(home, topics)
    assert log.problems == ()
    # 180 items exist; of every person the last answer to each counts.
    assert len(log.answers) == 360


def test_what_was_confirmed_survives_a_kill_while_appending(home: Path, topics: Dataset) -> None:
    writer = start_writer(home, "ann", 100_000)
    assert writer.stdout is not None
    begin(writer)
    confirmed = [writer.stdout.readline().strip() for _ in range(50)]
    os.kill(writer.pid, signal.SIGKILL)
    confirmed += [line for line in writer.stdout.read().split() if len(line) == 32]
    writer.wait()
    whole_lines = locate_reviews("topics", home).read_bytes().rpartition(b"\n")[0].splitlines()
    stored = [json.loads(line)["id"] for line in whole_lines]
    assert stored[: len(confirmed)] == confirmed
    assert store_answer(home, DatasetKeys(topics), ("test", 0, 0), "wrong", by="bob")  # no lock is left behind


@pytest.mark.parametrize("n_bytes", [1, 20, 150])
def test_a_half_written_last_line_is_named_and_the_next_answer_is_whole(
    n_bytes: int, home: Path, keys: DatasetKeys
) -> None:
    for document in range(2):
        store_answer(home, keys, ("test", document, 0), "right", by="ann")
    path = locate_reviews("topics", home)
    path.write_bytes(path.read_bytes()[:-n_bytes])
    before = load_verdicts(home, keys)
    assert len(before.answers) == (2 if n_bytes == 1 else 1)  # only the line break was lost
    assert len(before.problems) == (0 if n_bytes == 1 else 1)
    store_answer(home, keys, ("test", 2, 0), "wrong", by="ann")
    after = load_verdicts(home, keys)
    assert [answer.document for answer in after.answers] == ([0, 1, 2] if n_bytes == 1 else [0, 2])
    assert after.problems == before.problems
    assert all("line 2" in problem for problem in after.problems)


def test_of_a_hand_edited_file_what_is_readable_counts_and_the_rest_is_named(home: Path, keys: DatasetKeys) -> None:
    store_answer(home, keys, ("test", 3, 1), "right", by="ann", note="sure", probability=0.75)
    path = locate_reviews("topics", home)
    line = json.loads(path.read_text())
    odd: list[bytes] = [
        b"\xff\xfe not text",
        b"[1, 2]",
        b"[" * 100_000,
        b"",
        json.dumps({**line, "verdict": "maybe"}).encode(),
        json.dumps({**line, "verdict": ["right"]}).encode(),
        json.dumps({**line, "key": 3}).encode(),
        json.dumps({**line, "event": "undo"}).encode(),
        json.dumps({**line, "id": "other", "by": "bob", "probability": "high"}).encode(),
        json.dumps({"event": "undo", "undoes": "nobody", "by": "ann"}).encode(),
        json.dumps({"event": "undo", "undoes": line["id"], "by": "bob"}).encode(),
    ]
    path.write_bytes(b"\n".join([path.read_bytes().strip(), *odd]))
    log = load_verdicts(home, keys)
    assert [(answer.by, answer.note, answer.probability) for answer in log.answers] == [
        ("ann", "sure", 0.75),
        ("bob", "sure", None),
    ]
    numbers = [int(problem.partition("line ")[2].partition(":")[0]) for problem in log.problems]
    assert numbers == [2, 3, 4, 6, 7, 8, 9, 11, 12]


def test_answers_about_another_dataset_of_the_same_name_are_named_and_left_out(
    home: Path, topics: Dataset, keys: DatasetKeys
) -> None:
    store_answer(home, keys, ("test", 0, 0), "right", by="ann")
    other = make_topics(tag=" else")  # the same uids and labels
    log = read(home, other)
    assert log.answers == ()
    assert "line 1: it is about another dataset" in log.problems[0]
    smaller = replace(topics, test=topics.test.take(range(5, 30)))
    assert "the document is not in this dataset" in read(home, smaller).problems[0]


def test_a_label_that_is_gone_is_named(home: Path, topics: Dataset, keys: DatasetKeys) -> None:
    store_answer(home, keys, ("test", 0, 0), "right", by="ann")
    labels = replace(topics.labels, names=["renamed", *topics.labels.names[1:]])
    renamed = replace(topics, train=replace(topics.train, labels=labels), test=replace(topics.test, labels=labels))
    assert "the label is not in this dataset" in read(home, renamed).problems[0]


@pytest.mark.parametrize("uids", [True, False])
def test_answers_follow_their_documents_when_these_are_reordered_or_split_anew(uids: bool, home: Path) -> None:
    dataset = make_topics(uids=uids)
    keys = DatasetKeys(dataset)
    store_answer(home, keys, ("test", 4, 2), "wrong", by="ann")
    reordered = replace(dataset, test=dataset.test.take(range(29, -1, -1)))
    assert [answer.item for answer in read(home, reordered).answers] == [("test", 25, 2)]
    swapped = replace(dataset, train=dataset.test, test=dataset.train)
    assert [answer.item for answer in read(home, swapped).answers] == [("train", 4, 2)]


def test_equal_documents_are_told_apart_by_their_order(home: Path) -> None:
    dataset = make_topics(uids=False)
    twice = replace(dataset, test=dataset.test.take([0, 1, 0, 0]))
    store_answer(home, DatasetKeys(twice), ("test", 2, 1), "right", by="ann")
    assert [answer.document for answer in read(home, twice).answers] == [2]


def test_an_undo_takes_back_one_answer_and_the_one_before_counts_again(home: Path, keys: DatasetKeys) -> None:
    store_answer(home, keys, ("test", 0, 0), "right", by="ann")
    store_answer(home, keys, ("test", 0, 0), "wrong", by="bob")
    last = store_answer(home, keys, ("test", 0, 0), "unsure", by="ann")
    verdicts = load_verdicts(home, keys).group_by_item()["test", 0, 0]
    assert sorted((answer.by, answer.verdict) for answer in verdicts) == [("ann", "unsure"), ("bob", "wrong")]
    with pytest.raises(ConfigError, match="bob cannot"):
        undo_answer(home, keys, last, by="bob")
    undo_answer(home, keys, last, by="ann")
    log = load_verdicts(home, keys)
    assert sorted((answer.by, answer.verdict) for answer in log.answers) == [("ann", "right"), ("bob", "wrong")]
    assert log.find_last("ann") is not None
    assert log.find_last("carl") is None
    assert len(locate_reviews("topics", home).read_text().splitlines()) == 4  # nothing is ever deleted


@pytest.mark.parametrize(
    ("item", "verdict", "by", "note", "what"),
    [
        (("test", 30, 0), "right", "ann", "", "no document 30"),
        (("test", 0, 6), "right", "ann", "", "no label 6"),
        (("valid", 0, 0), "right", "ann", "", "no split 'valid'"),
        (("test", 0, 0), "yes", "ann", "", "is not an answer"),
        (("test", 0, 0), "right", "  ", "", "say who"),
        (("test", 0, 0), "right", "ann", "x" * 10_001, "characters"),
    ],
)
def test_what_cannot_be_an_answer_is_rejected_and_leaves_no_file(
    item: tuple[str, int, int], verdict: str, by: str, note: str, what: str, home: Path, keys: DatasetKeys
) -> None:
    with pytest.raises((ConfigError, DataError), match=what):
        store_answer(home, keys, item, verdict, by=by, note=note)
    assert not locate_reviews("topics", home).exists()


def test_a_file_that_cannot_be_written_is_a_sentence(home: Path, keys: DatasetKeys) -> None:
    path = locate_reviews("topics", home)
    store_answer(home, keys, ("test", 0, 0), "right", by="ann")
    path.unlink()
    path.mkdir()
    with pytest.raises(DataError, match="could not be stored"):
        store_answer(home, keys, ("test", 0, 0), "right", by="ann")


def test_the_folder_of_reviews_is_no_dataset_but_a_dataset_of_that_name_stays_one(
    home: Path, keys: DatasetKeys
) -> None:
    store_answer(home, keys, ("test", 0, 0), "right", by="ann")
    folder = home / "data" / "reviews"
    assert "reviews" not in [entry.name for entry in list_datasets(home)]
    assert not may_be_dataset(folder)
    (folder / ".xcwork-reviews").unlink()
    assert "reviews" in [entry.name for entry in list_datasets(home)]
    with pytest.raises(DataError, match="rename the dataset"):
        store_answer(home, keys, ("test", 0, 0), "right", by="ann")


def test_reviews_are_renamed_with_their_dataset(home: Path, keys: DatasetKeys, topics: Dataset) -> None:
    store_answer(home, keys, ("test", 0, 0), "right", by="ann")
    topics.save(home / "data" / "topics")
    rename_dataset(home / "data" / "topics", home / "data" / "subjects", home)
    assert not locate_reviews("topics", home).exists()
    assert len(read(home, replace(topics, name="subjects")).answers) == 1
