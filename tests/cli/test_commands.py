"""The verbs that look at data, methods and finished runs."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.commands import write_table, xcwork, xcwork_json
from xcwork.core.dataset import compute_first_fingerprint
from xcwork.data.load import load_dataset
from xcwork.runs import RunStore
from xcwork.runs.document_files import DOCUMENTS_PER_BATCH

RED = "red \x1b[31mwine"  # a label that would colour the terminal
LABELS = ("solar power", "wind turbine", "rice cooking", "bread baking", RED)


class Workbench(NamedTuple):
    home: Path
    data: Path
    tfidf: dict[str, Any]
    popularity: dict[str, Any]


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """A home with two finished runs on documents that name their one label; `solar power` is the most frequent."""
    home = tmp_path_factory.mktemp("home")
    data = home / "data" / "topics"
    data.mkdir(parents=True)
    counts = {label: 12 - 2 * position for position, label in enumerate(LABELS)}
    write_table(
        data / "train.csv", [(f"a note on {label} {i}", label) for label, n in counts.items() for i in range(n)]
    )
    write_table(data / "test.csv", [(f"about {label} again {i}", label) for label in LABELS for i in range(4)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(home))
        tfidf, popularity = (xcwork_json("train", method, "--data", "topics") for method in ("tfidf", "popularity"))
        yield Workbench(home, data, tfidf, popularity)


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


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    rows = [{"uid": f"d{i}", "title": LABELS[i % 5], "content": "again"} for i in range(600)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


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
    assert "solar" in xcwork("explain", run, "--text", "solar power at home")[1]


def test_a_test_document_is_explained_by_number_and_label_id(workbench: Workbench) -> None:
    run = workbench.tfidf["run"]
    best = xcwork_json("explain", run, "--document", 4)
    assert best["label"] == "wind turbine"
    by_id = xcwork_json("explain", run, "--document", 4, "--label", str(sorted(LABELS).index("wind turbine")))
    assert by_id == best
    assert "test split has 20" in xcwork("explain", run, "--document", 20)[2]
    assert "similar names: rice cooking" in xcwork("explain", run, "--document", 0, "--label", "COOKING")[2]
    assert "--document" in xcwork("explain", run)[2]


def test_compare_shows_differences_to_the_first_run_and_their_significance(workbench: Workbench) -> None:
    runs = workbench.popularity["run"], workbench.tfidf["run"]
    found = xcwork_json("compare", *runs)
    assert found["reference"] == runs[0]
    assert [run["run"] for run in found["runs"]] == list(runs)
    by_metric = {row["metric"]: row for row in found["differences"][runs[1]]}
    assert by_metric["P@1"]["difference"] == 80.0
    assert by_metric["P@1"]["significant"] is True
    assert by_metric["P@1"]["low"] > 0
    shown = xcwork("compare", *runs)[1]
    assert f"{runs[1]} minus {runs[0]}" in shown
    assert "+80.00" in shown


def test_compare_knows_the_data_of_a_run_that_recorded_the_first_kind_of_fingerprint(workbench: Workbench) -> None:
    runs = workbench.popularity["run"], workbench.tfidf["run"]
    old = RunStore(workbench.home).open(runs[1])
    dataset, recorded = load_dataset(workbench.data, home=workbench.home), old.config["dataset"]
    try:
        old.complete_config(dataset=recorded | {"fingerprint": compute_first_fingerprint(dataset)})
        assert runs[1] in xcwork_json("compare", *runs)["differences"]
        assert runs[0] in xcwork_json("compare", *runs[::-1])["differences"]
        old.complete_config(dataset=recorded | {"fingerprint": "0123456789abcdef"})
        assert xcwork_json("compare", *runs)["differences"] == {}
    finally:
        old.complete_config(dataset=recorded)


def test_describe_counts_self_links(tmp_path: Path, home: Path) -> None:
    rows = [{"uid": f"page{i}", "title": f"Page {i}", "labels": [f"page{(i + 1) % 9}"]} for i in range(9)]
    (tmp_path / "links.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = xcwork_json("describe", tmp_path / "links.jsonl")["self_links"]
    assert sum(found.values()) == 9
    lines = xcwork("describe", tmp_path / "links.jsonl")[1].splitlines()
    shown = f"self links {found['train']} train, {found['test']} test"
    assert shown in [" ".join(line.split()) for line in lines]
    kept = xcwork_json("describe", tmp_path / "links.jsonl", "--option", "self_links=keep")
    assert kept["self_links"] == {"train": 0, "test": 0}


def test_compare_wants_two_different_runs(workbench: Workbench) -> None:
    for runs in ([workbench.tfidf["run"]], ["last", workbench.popularity["run"]]):
        code, _, err = xcwork("compare", *runs)
        assert code == 2
        assert "two or more different runs" in err


def test_a_report_is_one_file(workbench: Workbench, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    found = xcwork_json("report", workbench.tfidf["run"], "--output", output)
    assert found == {"runs": [workbench.tfidf["run"]], "output": str(output)}
    assert workbench.tfidf["run"] in output.read_text("utf-8")
    assert Path(xcwork_json("report", "last")["output"]).parent.name == workbench.popularity["run"]
    assert "no folder" in xcwork("report", "last", "--output", tmp_path / "absent" / "x.html")[2]


def test_describe_has_the_keys_that_scripts_rely_on(workbench: Workbench) -> None:
    found = xcwork_json("describe", "topics")
    wanted = {"n_train": 40, "n_test": 20, "n_labels": 5, "n_unseen_labels": 0, "labels_per_document": 1.0}
    assert wanted.items() <= found.items()
    assert {"n_features", "problems"} <= set(found)
    shown = xcwork("describe", workbench.data)[1]
    assert "40 train, 20 test" in shown
    assert "█" in shown


def test_options_reach_the_reader(workbench: Workbench, tmp_path: Path) -> None:
    file = tmp_path / "odd.csv"
    file.write_text("".join(f"{line}\n" for line in ["question,topics", *(f"red {i},a|b" for i in range(40))]))
    named = ["--option", "text_column=question", "--option", "labels_column=topics", "--option", "separator=|"]
    found = xcwork_json("describe", file, *named, "--option", "test_share=0.5")
    assert found["n_labels"] == 2
    assert 10 <= found["n_test"] <= 30
    code, _, err = xcwork("describe", file, *named, "--option", "colour=red")
    assert code == 2
    assert "has no option 'colour'" in err


def test_describe_shows_how_labels_were_read_and_takes_another_separator(workbench: Workbench, tmp_path: Path) -> None:
    file = tmp_path / "places.csv"
    rows = [f"word{i},{'Boston' if i % 3 else chr(34) + 'Washington, DC' + chr(34)}" for i in range(30)]
    file.write_text("\n".join(["text,labels", *rows]) + "\n")
    found = xcwork_json("describe", file)
    assert found["n_labels"] == 2
    assert "one label per cell" in found["source"]
    assert "10 of 30 cells of 'labels' contain `,`" in found["notes"][0]
    assert found["notes"][0] in xcwork("describe", file)[1]
    told = xcwork_json("describe", file, "--option", "separator=,")
    assert (told["n_labels"], told["notes"]) == (3, [])
    assert "names separated by `,`" in told["source"]


def test_datasets_lists_built_in_ones_and_those_of_the_home(workbench: Workbench) -> None:
    names = [entry["name"] for entry in xcwork_json("datasets")["datasets"]]
    assert names == ["pyseealso", "synthetic", "topics"]
    assert "topics" in xcwork("datasets")[1]


def test_describe_explains_what_each_format_sees(workbench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "cooking.txt").write_text("__label__red plum\n__label__blue sky\n")
    found = xcwork_json("describe", tmp_path / "cooking.txt", "--explain")
    assert found["chosen"] == "fasttext"
    assert "whose first line is '__label__red plum'" in found["content"]
    assert next(each["format"] for each in found["formats"] if each["is_match"]) == "fasttext"
    (tmp_path / "notes.md").write_text("nothing")
    code, shown = xcwork("describe", tmp_path / "notes.md", "--explain")[:2]
    assert code == 0
    assert "no format reads it" in shown


def test_a_corpus_exported_for_annif_reads_back(workbench: Workbench, tmp_path: Path) -> None:
    found = xcwork_json("export", "topics", tmp_path / "annif", "--format", "annif", "--language", "fi")
    assert found["files"] == ["subjects.tsv", "subjects.ttl", "test.tsv", "train.tsv"]
    before, after = xcwork_json("describe", "topics"), xcwork_json("describe", tmp_path / "annif")
    for count in ("n_train", "n_test", "n_labels"):
        assert after[count] == before[count]


@pytest.mark.parametrize("form", ["xc", "splits"])
def test_an_exported_dataset_reads_back(workbench: Workbench, tmp_path: Path, form: str) -> None:
    folder = tmp_path / form
    found = xcwork_json("export", "topics", folder, "--format", form)
    assert set(found["files"]) == {path.name for path in folder.iterdir()}
    before, after = xcwork_json("describe", "topics"), xcwork_json("describe", folder)
    for count in ("n_train", "n_test", "n_features", "n_labels"):
        assert after[count] == before[count]
    assert xcwork("export", "topics", folder)[0] == 2


def test_methods_are_listed_and_one_shows_its_parameters(workbench: Workbench) -> None:
    listed = {entry["name"]: entry for entry in xcwork_json("methods")["methods"]}
    assert {"popularity", "tfidf", "bm25"} <= set(listed)
    assert listed["tfidf"]["capabilities"]["zero_shot"] is True
    assert "zero-shot" in xcwork("methods")[1]
    found = xcwork_json("methods", "popularity")
    seed = next(parameter for parameter in found["parameters"] if parameter["name"] == "seed")
    assert (seed["default"], seed["low"], seed["type"]) == (0, 0, "int")
    assert "at least 0" in xcwork("methods", "popularity")[1]
    assert "choose one of" in xcwork("methods", "nonsense")[2]


def test_a_method_shows_its_presets_and_what_ours_adds() -> None:
    presets = {entry["name"]: entry for entry in xcwork_json("methods", "siamesexml")["presets"]}
    assert list(presets) == ["default", "quick", "paper"]
    assert presets["paper"]["ours_adds"] == "words, votes, learned weights"
    assert "ours adds: words, votes, learned weights" in " ".join(xcwork("methods", "siamesexml")[1].split())


def test_bad_data_is_one_line_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("2 3 4\n0 0:1\n9 1:1\n")
    code, out, err = xcwork("describe", tmp_path / "bad.txt")
    assert (code, out) == (2, "")
    assert "bad.txt, line 3" in err.splitlines()[-1]


def test_without_a_verb_the_help_is_shown() -> None:
    code, out, _ = xcwork()
    assert code == 0
    assert "describe" in out
    assert xcwork("--version")[1].startswith("xcwork ")


def test_a_bar_on_the_terminal_leaves_the_output_alone(workbench: Workbench, documents: Path) -> None:
    screen, terminal = pty.openpty()
    drawn: list[bytes] = []

    def watch() -> None:
        with suppress(OSError):  # the way a terminal without a writer ends
            while chunk := os.read(screen, 2**16):
                drawn.append(chunk)

    watcher = threading.Thread(target=watch)
    watcher.start()
    command = [sys.executable, "-m", "xcwork", "predict", workbench.tfidf["run"], "--file", documents, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, env=os.environ | {"TERM": "xterm"})
    os.close(terminal)
    watcher.join()
    os.close(screen)
    assert len(json.loads(done.stdout)["documents"]) == 600
    assert b"predicting" in b"".join(drawn)


def test_papers_lists_claims_and_a_study_runs() -> None:
    found = xcwork_json("papers", "--paper", "eagle", "--verdict", "contradicted", "--find", "theorem 4")
    assert found["counts"]["contradicted"] == len(found["claims"]) == 2
    shown = xcwork("papers", "--verdict", "not-checkable", "--find", "Ads-31M")[1]
    assert "3 claims: 3 not checkable" in shown
    assert "no claim is like this" in xcwork("papers", "--find", "perpetual motion")[1]
    assert "choose one of" in xcwork("papers", "--paper", "parabel")[2]


def test_a_study_says_whether_a_theorem_holds() -> None:
    found = xcwork_json("study", "multihead-theorem-4")
    assert (found["holds"], found["study"]) == (False, "multihead-theorem-4")
    assert "does not hold: " in xcwork("study", "multihead-theorem-4")[1]
    assert "multihead-theorem-4" in xcwork_json("study")["studies"]
    assert "choose one of" in xcwork("study", "nonsense")[2]
