"""`xcwork decide`, `calibrate` and `predict --decide`: keys that scripts rely on, and sentences where it cannot be."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.orchard import write_orchard
from xcwork.cli import app
from xcwork.runs import RunStore


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def xcwork_json(*arguments: object) -> dict[str, Any]:
    done = invoke(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def refuse(*arguments: object) -> str:
    done = invoke(*arguments)
    assert done.exit_code == 2
    return done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A calibrated run and one that is not."""
    home = tmp_path_factory.mktemp("home")
    data = write_orchard(home / "data" / "orchard", 600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(home))
        made = {
            way: xcwork_json("train", "one_vs_all", "--data", data, "--calibration", way) for way in ("auto", "none")
        }
        assert set(made["auto"]["calibration"]) == {"ece", "brier"}
        assert made["none"]["calibration"] is None
        yield {way: record["run"] for way, record in made.items()}


def test_scripts_find_their_keys(runs):
    found = xcwork_json("decide", runs["auto"], "--precision", "0.6", "--by", "band")
    assert found["run"] == runs["auto"]
    assert found["asked_precision"] == 60.0
    keys = ("threshold", "achieved_precision", "recall", "automation_share", "labels_per_document")
    assert all(isinstance(found[key], float) for key in keys)
    assert all(round(found[key], 2) == found[key] for key in keys)
    assert set(found["bands"]) == {"head", "torso", "tail", "zero-shot"}
    assert set(found["goals"]) == {"precision", "macro-f1", "coverage"}
    percent = xcwork_json("decide", runs["auto"], "--precision", "60", "--by", "band")
    assert percent == found


def test_predictions_follow_the_stored_thresholds(runs):
    usual = xcwork_json("predict", runs["auto"], "--text", "apple", "--decide", "-k", 3)
    assert [set(each) for each in usual["predictions"]] == [{"label", "score", "probability", "decision"}] * 3
    chosen = xcwork_json("decide", runs["auto"], "--precision", 0.5)
    found = xcwork_json("predict", runs["auto"], "--text", "apple", "--decide", "-k", 3)
    assert found["decisions"]["assign"] == pytest.approx(chosen["threshold"] / 100, abs=1e-4)
    for each in found["predictions"]:
        assert (each["decision"] == "assign") == (100 * each["probability"] >= chosen["threshold"])
    plain = xcwork_json("predict", runs["auto"], "--text", "apple", "--probabilities")
    assert set(plain["predictions"][0]) == {"label", "score", "probability"}
    assert "decisions" not in plain


def test_a_dry_run_stores_nothing(runs):
    before = xcwork_json("predict", runs["auto"], "--text", "apple", "--decide")["decisions"]
    xcwork_json("decide", runs["auto"], "--goal", "micro-f1", "--dry-run")
    assert xcwork_json("predict", runs["auto"], "--text", "apple", "--decide")["decisions"] == before


def test_a_threshold_given_as_it_is_is_measured_stored_and_used(runs):
    found = xcwork_json("decide", runs["auto"], "--assign", 0.7, "--suggest", 0.3)
    assert (found["threshold"], found["asked_precision"], found["promised"]) == (70.0, None, None)
    assert found["automation_share"] > 0
    stricter = xcwork_json("decide", runs["auto"], "--assign", 0.9, "--suggest", 0.3, "--dry-run")
    assert stricter["automation_share"] <= found["automation_share"]
    predicted = xcwork_json("predict", runs["auto"], "--text", "apple", "--decide", "-k", 3)
    assert (predicted["decisions"]["assign"], predicted["decisions"]["suggest"]) == (0.7, 0.3)
    words = ["assign" if p >= 0.7 else "suggest" if p >= 0.3 else "leave" for p in _list_probabilities(predicted)]
    assert [each["decision"] for each in predicted["predictions"]] == words


def _list_probabilities(predicted: dict[str, Any]) -> list[float]:
    return [each["probability"] for each in predicted["predictions"]]


@pytest.mark.parametrize("goal", ["micro-f1", "macro-f1", "coverage"])
def test_goals_other_than_precision(runs, goal):
    found = xcwork_json("decide", runs["auto"], "--goal", goal, "-k", 2, "--dry-run")
    assert found["goal"] == goal
    assert found["asked_precision"] is None
    assert found["limit"] >= 1


def test_what_cannot_be_promised_is_said(runs):
    found = xcwork_json("decide", runs["auto"], "--precision", 99.9, "--dry-run")
    assert found["promised"] is False
    assert (found["threshold"], found["achieved_precision"]) == (None, None)
    assert (found["automation_share"], found["labels_per_document"]) == (0.0, 0.0)
    assert "99.9 % cannot be promised" in found["note"]
    assert "cannot be promised" in invoke("decide", runs["auto"], "--precision", 99.9, "--dry-run").stdout


def test_a_run_without_a_calibration_says_how_to_get_one(runs):
    for arguments in (
        ("decide", runs["none"], "--precision", 0.9),
        ("predict", runs["none"], "--text", "x", "--decide"),
    ):
        said = refuse(*arguments)
        assert "no calibration" in said
        assert f"train again or run `xcwork calibrate {runs['none']} DATA`" in said


def test_a_run_with_too_few_documents_is_not_sent_to_calibrate(runs):
    run = RunStore().open(runs["none"])
    config = json.loads((run.folder / "config.json").read_text())
    config["dataset"]["n_train"] = 90
    copy = shutil.copytree(run.folder, run.folder.with_name(f"{run.id}-few"))
    (copy / "config.json").write_text(json.dumps(config))
    for arguments in (("decide", copy.name, "--precision", 0.9), ("predict", copy.name, "--text", "x", "--decide")):
        said = refuse(*arguments)
        assert "90 training documents are too few to learn probabilities from, at least 150 are needed" in said
        assert "xcwork calibrate" not in said
    shutil.rmtree(copy)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--precision", "0"), "a precision lies above 0"),
        (("--precision", "0.9", "--by", "mood"), "--by takes one of"),
        (("--goal", "fame"), "the goal must be one of"),
        ((), "give --precision"),
        (("--assign", "0.7", "--precision", "0.9"), "leave out --precision, --goal and --by"),
        (("--assign", "0.7", "--by", "band"), "leave out --precision, --goal and --by"),
        (("--assign", "0.1"), "labels are suggested from a lower probability"),
    ],
)
def test_wrong_questions_are_one_sentence(runs, arguments, says):
    assert says in refuse("decide", runs["auto"], *arguments)


def test_calibrate_makes_probabilities(runs):
    found = xcwork_json("calibrate", runs["none"])
    assert (found["way"], found["held_out_documents"]) == ("refit", 600)
    assert set(found["calibration"]) == {"ece", "brier"}
    assert xcwork_json("evaluate", runs["none"])["calibration"] == found["calibration"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_many_texts_in_and_out(runs, tmp_path, suffix):
    texts = tmp_path / "texts.csv"
    texts.write_text('uid,title,content\n=1+1,apple,"a, pear"\nb,plum,\n')
    output = tmp_path / f"out.{suffix}"
    xcwork_json("predict", runs["auto"], "--file", texts, "-o", output, "--decide", "-k", 2)
    if suffix == "jsonl":
        rows = [
            {"uid": record["uid"], "rank": rank} | each
            for record in map(json.loads, output.read_text().splitlines())
            for rank, each in enumerate(record["predictions"], start=1)
        ]
        uids = ["=1+1", "=1+1", "b", "b"]
    elif suffix == "csv":
        rows = list(csv.DictReader(output.open()))
        uids = ["'=1+1", "'=1+1", "b", "b"]  # no formula for a spreadsheet
    else:
        import pandas as pd

        rows = pd.read_parquet(output).to_dict("records")
        uids = ["=1+1", "=1+1", "b", "b"]
    assert [row["uid"] for row in rows] == uids
    assert [int(row["rank"]) for row in rows] == [1, 2, 1, 2]
    assert {row["decision"] for row in rows} <= {"assign", "suggest", "leave"}
    assert all(0 <= float(row["probability"]) <= 1 for row in rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"out.{suffix}", "texts.csv"])
    xcwork_json("predict", runs["auto"], "--file", texts, "-o", output, "--decide", "-k", 2)  # an earlier output


def test_a_table_of_somebody_else_is_not_overwritten(runs, tmp_path):
    texts, output = tmp_path / "texts.txt", tmp_path / "mine.csv"
    texts.write_text("apple\n")
    output.write_text("name,value\n")
    assert "not an earlier output" in refuse("predict", runs["auto"], "--file", texts, "-o", output)
    assert output.read_text() == "name,value\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [("name,value\na,b\n", "no column with the text"), ("text,uid\na\n", "line 2: the record has 1 fields")],
)
def test_a_csv_without_texts_names_its_columns(runs, tmp_path: Path, content, says):
    texts = tmp_path / "texts.csv"
    texts.write_text(content)
    assert says in refuse("predict", runs["auto"], "--file", texts)


def test_a_single_column_is_the_text(runs, tmp_path):
    texts = tmp_path / "texts.csv"
    texts.write_text("question\napple\n")
    [document] = xcwork_json("predict", runs["auto"], "--file", texts, "-k", 1)["documents"]
    assert document["predictions"][0]["label"]
