"""`xcwork review` and `xcwork export --with-reviews`: a round from the queue to a corrected dataset."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.commands import write_table, xcwork, xcwork_json
from xcwork.data.load import load_dataset

pytestmark = pytest.mark.slow
TOPICS = ("solar power", "wind turbine", "rice cooking", "bread baking")


class Bench(NamedTuple):
    home: Path
    run: str
    other: str


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Two runs on documents that name their topics; test document 0 lacks its label and document 1 has a wrong one."""
    home = tmp_path_factory.mktemp("home")
    data = home / "data" / "notes"
    data.mkdir(parents=True)
    write_table(data / "train.csv", [(f"a note on {topic} {i}", topic) for topic in TOPICS for i in range(10)])
    test = [(f"about {topic} again {i}", topic) for i in range(20) for topic in TOPICS]
    test[0] = (test[0][0], "")
    test[1] = (test[1][0], f"{test[1][1]};{TOPICS[3]}")
    write_table(data / "test.csv", test)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(home))
        runs = [
            xcwork_json("train", method, "--data", "notes", "--option", "separator=;")
            for method in ("one_vs_all", "popularity")
        ]
        yield Bench(home, *(run["run"] for run in runs))


@pytest.fixture(autouse=True)
def forget_answers(bench: Bench) -> Iterator[None]:
    yield
    (bench.home / "data" / "reviews" / "notes.jsonl").unlink(missing_ok=True)


def test_the_missing_label_is_listed_with_what_a_person_needs(bench: Bench) -> None:
    listed = xcwork_json("review", bench.run)
    assert (listed["queue"], listed["split"], listed["waiting"], listed["answered"]) == ("missing", "test", 1, 0)
    [item] = listed["items"]
    assert (item["document"], item["label"], item["rank"], item["is_annotated"]) == (0, "solar power", 1, False)
    assert 0.9 < item["probability"] <= 1
    assert item["annotated_labels"] == []
    assert 1 <= len(item["reasons"]) <= 3
    assert not any("any document" in part["document_term"] for part in item["reasons"])
    assert "solar" in " ".join(part["document_term"] for part in item["reasons"])
    assert len(item["neighbours"]) == 3
    assert all("solar power" in neighbour["text"] for neighbour in item["neighbours"])
    assert list(item["other_runs"]) == [bench.other]
    assert item["other_runs"][bench.other] in (1, 2, 3, 4)
    brief = xcwork_json("review", bench.run, "--brief", "--limit", 1)["items"][0]
    assert "reasons" not in brief


def test_a_round_of_answers_undo_summary_and_export(bench: Bench, tmp_path: Path) -> None:
    missing = xcwork_json("review", bench.run, "--brief")["items"][0]["item"]
    wrong = xcwork_json("review", bench.run, "--queue", "wrong", "--brief")["items"][0]
    assert (wrong["document"], wrong["label"]) == (1, TOPICS[3])
    done = xcwork_json("review", bench.run, "--answer", missing, "right", "--note", "see title", "--by", "ann")
    assert (done["answer"], done["queue"], done["waiting"]) == ("right", "missing", 0)
    xcwork_json("review", bench.run, "--answer", wrong["item"], "right", "--by", "ann")
    assert xcwork_json("review", bench.run, "--undo", "--by", "ann")["item"] == wrong["item"]
    xcwork_json("review", bench.run, "--answer", wrong["item"], "wrong", "--by", "ann")
    xcwork_json("review", bench.run, "--answer", missing, "right", "--by", "bob")
    facts = xcwork_json("review", bench.run, "--summary")
    assert facts["corrections"] == {"added": 1, "removed": 1, "confirmed": 0, "disputed": 0}
    assert (facts["queues"]["missing"]["answered"], facts["queues"]["missing"]["right"]) == (1, 1)
    assert facts["agreement"] == [{"reviewers": ["ann", "bob"], "items": 1, "share": 100.0, "kappa": None}]
    first = next(metric for metric in facts["metrics"] if metric["metric"] == "P@1")
    assert (first["original"], first["corrected"], first["change"]) == (98.75, 100.0, 1.25)
    text = xcwork("review", bench.run, "--summary")[1]
    assert "98.75" in text
    assert "ann and bob" in text

    table = tmp_path / "answers.csv"
    assert xcwork_json("review", bench.run, "--answers", table)["answers"] == 3
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [(row["label"], row["verdict"], row["by"], row["note"]) for row in rows] == [
        ("solar power", "right", "ann", "see title"),
        (TOPICS[3], "wrong", "ann", ""),
        ("solar power", "right", "bob", ""),
    ]

    exported = xcwork_json("export", "notes", tmp_path / "better", "--with-reviews", "--option", "separator=;")
    assert exported["corrections"]["added"] == 1
    corrected = load_dataset(tmp_path / "better")
    assert corrected.test.Y.toarray().sum(axis=1).tolist() == [1.0] * 80
    trained = xcwork_json("train", "popularity", "--data", tmp_path / "better")
    assert trained["state"] == "finished"


def test_the_training_split_is_reviewed_with_out_of_fold_predictions(bench: Bench) -> None:
    code, _, err = xcwork("review", bench.run, "--split", "train")
    assert code == 2
    assert "--folds 3" in err
    made = xcwork_json(
        "review", bench.run, "--split", "train", "--folds", 2, "--queue", "threshold", "--threshold", "1"
    )
    assert made["split"] == "train"
    again = xcwork_json("review", bench.run, "--split", "train", "--queue", "threshold", "--threshold", "1", "--brief")
    assert [item["item"] for item in again["items"]] == [item["item"] for item in made["items"]]
    assert all(item["item"].startswith("train:") for item in again["items"])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--answer", "test:0:0", "maybe"), "is not an answer"),
        (("--answer", "test:999:0", "right"), "no document 999"),
        (("--answer", "nonsense", "right"), "is not an item"),
        (("--answer", "train:0:0", "right"), "--split train"),
        (("--note", "x"), "--note goes with --answer"),
        (("--undo", "--summary"), "give one of"),
        (("--undo", "--by", "nobody"), "no answer to undo"),
        (("--folds", "2"), "goes with --split train"),
        (("--answers", "nowhere/at/all.csv"), "no folder"),
        (("--queue", "all"), "--queue"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(bench: Bench, arguments: tuple[str, ...], what: str) -> None:
    code, out, err = xcwork("review", bench.run, *arguments, "--json")
    assert code == 2
    assert what in json.loads(out)["error"]
    assert "Traceback" not in err


def test_exports_without_answers_or_in_another_format_are_rejected(bench: Bench, tmp_path: Path) -> None:
    code, _, err = xcwork("export", "notes", tmp_path / "copy", "--with-reviews")
    assert (code, "no answers about notes" in err) == (2, True)
    code, _, err = xcwork("export", "notes", tmp_path / "copy", "--with-reviews", "--format", "xc")
    assert (code, "format stored" in err) == (2, True)
    assert not (tmp_path / "copy").exists()


def test_unreadable_answers_are_named(bench: Bench) -> None:
    missing = xcwork_json("review", bench.run, "--brief")["items"][0]["item"]
    xcwork_json("review", bench.run, "--answer", missing, "unsure")
    with (bench.home / "data" / "reviews" / "notes.jsonl").open("a") as file:
        file.write("{half")
    listed = xcwork_json("review", bench.run, "--brief")
    assert (listed["answered"], listed["unsure"]) == (1, 1)
    assert "line 2" in listed["problems"][0]
    assert "line 2" in xcwork("review", bench.run, "--summary")[1]
