"""`xcwork predict` and `xcwork explain` about one document: a text, a test document, or one of these after an edit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xcwork.cli import app

LABELS = ["apple", "pear", "plum"]


def xcwork(*arguments: object, stdin: str | None = None) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)), input=stdin, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def xcwork_json(*arguments: object, stdin: str | None = None) -> dict[str, Any]:
    return json.loads(xcwork(*arguments, "--json", stdin=stdin))


def listed(*arguments: object, stdin: str | None = None) -> list[str]:
    return [each["label"] for each in xcwork_json("predict", *arguments, stdin=stdin)["predictions"]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Finished runs by method; a filter pair excludes `apple` for test document 1."""
    home = tmp_path_factory.mktemp("home")
    data = home / "data" / "links"
    data.mkdir(parents=True)
    documents = [(f"{name} number {i}", [label]) for i in range(4) for label, name in enumerate(LABELS)]
    for file, rows in (("trn", documents), ("tst", [("plum pear", [2]), ("apple apple pear", [1])])):
        lines = [{"uid": f"{file}{i}", "title": text, "target_ind": ids} for i, (text, ids) in enumerate(rows)]
        write_json_lines(data / f"{file}.json", lines)
    write_json_lines(data / "lbl.json", [{"uid": f"label{i}", "title": name} for i, name in enumerate(LABELS)])
    (data / "filter_labels_test.txt").write_text("1 0\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XCWORK_HOME", str(home))
        yield {name: xcwork_json("train", name, "--data", "links")["run"] for name in ("tfidf", "popularity")}


def write_json_lines(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.slow
def test_a_text_of_unknown_words_gets_one_true_sentence(runs: dict[str, str]) -> None:
    sentence = "No word of this text is known to this run, so nothing is suggested."
    assert xcwork("predict", runs["tfidf"], "--text", "Zaubertrank").splitlines() == [sentence]
    found = xcwork_json("predict", runs["tfidf"], "--text", "Zaubertrank")
    assert (found["predictions"], found["note"]) == ([], sentence)
    first, *table = xcwork("predict", runs["popularity"], "--text", "Zaubertrank").splitlines()
    assert first.endswith("any text of unknown words gets the same ones.")
    assert all(any(label in line for line in table) for label in LABELS)
    assert xcwork_json("predict", runs["tfidf"], "--text", "plum")["note"] == ""


def test_a_text_is_read_from_standard_input(runs: dict[str, str]) -> None:
    assert listed(runs["tfidf"], "--text", "-", stdin="plum\n\nplum\n") == ["plum"]


@pytest.mark.parametrize(
    ("edit", "labels"), [((), ["pear"]), (("--text", "apple plum"), ["plum"]), (("--text", "apple"), [])]
)
def test_a_test_document_is_ranked_by_its_filter_pairs(
    runs: dict[str, str], edit: tuple[str, ...], labels: list[str]
) -> None:
    document = (runs["tfidf"], "--document", 1, *edit)
    assert listed(*document) == labels
    if labels:
        assert xcwork_json("explain", *document)["label"] == labels[0]
    assert xcwork_json("explain", *document, "--label", "apple")["is_filtered"] is True
    assert "a filter pair of the dataset keeps it out" in xcwork("explain", *document, "--label", "apple")


def test_a_text_of_its_own_has_no_filter_pairs(runs: dict[str, str]) -> None:
    assert listed(runs["tfidf"], "--text", "apple apple pear") == ["apple", "pear"]
    assert xcwork_json("explain", runs["tfidf"], "--text", "apple apple pear")["is_filtered"] is False
