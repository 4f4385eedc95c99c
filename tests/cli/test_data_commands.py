"""The verbs that look at data and methods, and at several runs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.commands import xcwork, xcwork_json
from tests.support.workbench import Workbench
from xcwork.core.dataset import compute_first_fingerprint
from xcwork.data.load import load_dataset
from xcwork.runs import RunStore


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
    assert (
        "x.html cannot be written: the folder"
        in xcwork("report", "last", "--output", tmp_path / "absent" / "x.html")[2]
    )


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
    assert "no claim matches" in xcwork("papers", "--find", "perpetual motion")[1]
    assert "choose one of" in xcwork("papers", "--paper", "parabel")[2]


def test_a_study_says_whether_a_theorem_holds() -> None:
    found = xcwork_json("study", "multihead-theorem-4")
    assert (found["holds"], found["study"]) == (False, "multihead-theorem-4")
    assert "does not hold: " in xcwork("study", "multihead-theorem-4")[1]
    assert "multihead-theorem-4" in xcwork_json("study")["studies"]
    assert "choose one of" in xcwork("study", "nonsense")[2]
