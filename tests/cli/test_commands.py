"""The verbs that label and explain documents with finished runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import write_table, xcwork, xcwork_json
from tests.support.workbench import LABELS, Workbench
from xcwork.runs.document_files import DOCUMENTS_PER_BATCH


@pytest.mark.slow
def test_training_gives_the_answer_known_by_construction(workbench: Workbench) -> None:
    assert workbench.tfidf["metrics"]["P@1"] == 100.0
    assert workbench.popularity["metrics"]["P@1"] == 20.0  # one document in five is about the most frequent label
    assert workbench.popularity["metrics"]["P@5"] == 20.0


def test_the_runs_are_listed_with_their_metrics(workbench: Workbench) -> None:
    listed = xcwork_json("runs")["runs"]
    assert [run["run"] for run in listed] == [workbench.tfidf["run"], workbench.popularity["run"]]
    assert listed[0]["metrics"] == workbench.tfidf["metrics"]
    code, out, _ = xcwork("runs")
    assert code == 0
    lines = out.splitlines()
    assert lines[1].startswith(workbench.tfidf["run"])
    assert "finished" in lines[1]
    assert "100.00" in lines[1]


def test_runs_of_an_empty_home_say_how_to_begin(workbench: Workbench, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", "")
        assert "xcwork train" in xcwork("--home", tmp_path, "runs")[1]
        assert xcwork_json("runs", "--home", tmp_path) == {"runs": []}


def test_evaluate_repeats_what_train_said(workbench: Workbench) -> None:
    found = xcwork_json("evaluate", workbench.tfidf["run"])
    assert found == workbench.tfidf
    shown = xcwork("evaluate", workbench.tfidf["run"])[1]
    assert "P@1     100.00" in shown
    assert "every label occurs in training" in shown


def test_evaluate_on_other_data_counts_new_labels_as_unseen(workbench: Workbench, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    rows = [("solar power once more", "solar power"), ("note on wind power", "wind power")]
    write_table(other / "train.csv", rows)
    write_table(other / "test.csv", rows)
    found = xcwork_json("evaluate", workbench.tfidf["run"], "--data", other)
    assert (found["data"], found["metrics"]["P@1"], found["unseen"]["P@1"]) == ("other", 100.0, 100.0)
    assert "1 labels" in found["notes"]["labels"]


def test_predict_ranks_labels_by_name(workbench: Workbench) -> None:
    found = xcwork_json("predict", "last", "--text", "anything", "--k", 2)
    assert [p["label"] for p in found["predictions"]] == ["solar power", "wind turbine"]
    assert found["run"] == workbench.popularity["run"]
    code, out, _ = xcwork("predict", workbench.tfidf["run"], "--text", "red wine")
    assert code == 0
    assert "\x1b" not in out
    assert "red \\x1b[31mwine" in out.splitlines()[1]


def test_a_zero_shot_run_ranks_a_label_it_never_saw(workbench: Workbench) -> None:
    found = xcwork_json(
        "predict", workbench.tfidf["run"], "--text", "solar note", "--new-label", "solar note", "--k", 1
    )
    assert found["predictions"][0]["label"] == "solar note"
    code, _, err = xcwork("predict", workbench.popularity["run"], "--text", "a", "--new-label", "b")
    assert code == 2
    assert "cannot predict labels it was not trained on" in err


def test_a_file_of_documents_gives_one_answer_each(workbench: Workbench, documents: Path) -> None:
    found = xcwork_json("predict", workbench.tfidf["run"], "--file", documents, "-k", 1)
    assert [entry["uid"] for entry in found["documents"]] == [f"d{i}" for i in range(600)]
    assert [entry["predictions"][0]["label"] for entry in found["documents"]] == [LABELS[i % 5] for i in range(600)]
    lines = xcwork("predict", workbench.tfidf["run"], "--file", documents, "-k", 1)[1].splitlines()
    assert len(lines) == 600
    assert lines[0].startswith("d0: solar power (")


def test_the_same_answers_go_to_an_output_file(workbench: Workbench, documents: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    found = xcwork_json("predict", workbench.tfidf["run"], "--file", documents, "--output", output)
    assert (found["documents"], found["continued_from"]) == (600, 0)
    rows = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    assert [row["document"] for row in rows] == list(range(600))
    assert rows == xcwork_json("predict", workbench.tfidf["run"], "--file", documents)["documents"]
    refused = xcwork("predict", workbench.tfidf["run"], "--file", documents, "--output", documents)
    assert refused[0] == 2
    assert "is the input" in refused[2]


# The command line in a process that is killed in the middle of writing its third batch.
KILLED_WHILE_WRITING = """
import io, os, signal
from xcwork.cli import main
from xcwork.runs import resumable_output

class Dying(io.FileIO):
    writes = 0
    def write(self, content):
        Dying.writes += 1
        if Dying.writes == 3:
            super().write(content[: len(content) // 2 + 5])
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(content)

def enter(self):
    self._file = Dying(self.path, "ab")
    return self

resumable_output.ContinuedFile.__enter__ = enter
main()
"""


def test_a_killed_prediction_is_continued_with_every_line_once(workbench: Workbench, tmp_path: Path) -> None:
    file, output, whole = tmp_path / "docs.txt", tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    file.write_text("".join(f"{LABELS[i % 4]} {i}\n" for i in range(1000)))
    arguments = ["predict", workbench.tfidf["run"], "--file", str(file), "--output"]
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, *arguments, output], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not output.read_bytes().endswith(b"\n")
    found = xcwork_json(*arguments, output)
    assert found["documents"] == 1000
    assert 2 * DOCUMENTS_PER_BATCH < found["continued_from"] < 3 * DOCUMENTS_PER_BATCH
    assert xcwork_json(*arguments, whole)["continued_from"] == 0
    assert output.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--text"),
        (("--text", "a", "--file", "b.txt"), "--text"),
        (("--document", "1", "--file", "b.txt"), "--document"),
        (("--text", "a", "--output", "b.jsonl"), "--output goes with --file"),
        (("--file", "absent.txt"), "absent.txt"),
        (("--text", "a", "--k", "0"), "k"),
    ],
)
def test_predict_refuses_what_it_cannot_do(workbench: Workbench, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = xcwork("predict", "last", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert says in err


def test_an_explanation_adds_up_to_the_score(workbench: Workbench) -> None:
    run = workbench.tfidf["run"]
    found = xcwork_json("explain", run, "--text", "solar power at home", "--label", "solar power")
    assert found["label"] == "solar power"
    assert found["exact"] is True
    assert sum(part["value"] for part in found["parts"]) == pytest.approx(found["score"], abs=1e-5)
    assert "solar" in {part["document_term"] for part in found["parts"]}
    predicted = xcwork_json("predict", run, "--text", "solar power at home", "--k", 1)["predictions"][0]
    assert predicted["score"] == pytest.approx(found["predicted"], abs=1e-5)
    shown = xcwork("explain", run, "--text", "solar power at home")[1]
    assert any(line.startswith("solar ") and "words in common" in line for line in shown.splitlines()), shown


def test_a_test_document_is_explained_by_number_and_label_id(workbench: Workbench) -> None:
    run = workbench.tfidf["run"]
    best = xcwork_json("explain", run, "--document", 4)
    assert best["label"] == "wind turbine"
    by_id = xcwork_json("explain", run, "--document", 4, "--label", str(sorted(LABELS).index("wind turbine")))
    assert by_id == best
    assert "test split has 20" in xcwork("explain", run, "--document", 20)[2]
    assert "similar names: rice cooking" in xcwork("explain", run, "--document", 0, "--label", "COOKING")[2]
    assert "--document" in xcwork("explain", run)[2]
