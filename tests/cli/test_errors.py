"""However a verb ends: one sentence and an exit code, one JSON document with --json, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from xcwork.cli.arguments import Home, Json
from xcwork.cli.errors import INTERRUPTED_CODE, USER_ERROR_CODE, Commands, Ended, rewrite_options
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError, DataError
from xcwork.export.json_text import to_json
from xcwork.options import parse_pairs

ENDINGS = {
    "data": DataError("label 7 is \x1b[31mred", file="a.txt", line=3, remedy="look\nthere"),
    "ended": Ended("the run failed", run="r1", state="failed"),
    "stopped": Ended("interrupted: the run is cancelled", code=INTERRUPTED_CODE, run="r1"),
    "ctrl-c": KeyboardInterrupt(),
    "disk": OSError(28, "No space left on device", "out.jsonl"),
    "memory": MemoryError(),
    "defect": ZeroDivisionError("a defect of xcwork"),
}
program = typer.Typer(cls=Commands, pretty_exceptions_enable=False)


@program.callback()
def _root(home: Home = None) -> None:
    """A program with one verb that ends as told."""


@program.command()
def end(how: str, number: Annotated[int, typer.Option(min=1)] = 1, as_json: Json = False) -> None:
    """End."""
    if how in ENDINGS:
        raise ENDINGS[how]
    print_result(as_json, {"how": how, "number": number}, f"{how}: \x1b[1m[bold]{number} :warning:", "")


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(program, list(arguments))
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("how", "code", "sentence"),
    [
        ("data", USER_ERROR_CODE, "xcwork: a.txt, line 3: label 7 is \\x1b[31mred; look there"),
        ("ended", USER_ERROR_CODE, "xcwork: the run failed"),
        ("stopped", INTERRUPTED_CODE, "xcwork: interrupted: the run is cancelled"),
        ("ctrl-c", INTERRUPTED_CODE, "xcwork: interrupted"),
        ("disk", USER_ERROR_CODE, "xcwork: out.jsonl: No space left on device"),
        ("memory", USER_ERROR_CODE, "xcwork: there is not enough memory"),
    ],
)
def test_an_ending_is_one_line_and_one_document(how: str, code: int, sentence: str) -> None:
    plain = run("end", how)
    assert (plain[0], plain[1]) == (code, "")
    assert len(plain[2].splitlines()) == 1
    assert plain[2].startswith(sentence)
    as_json = run("end", how, "--json")
    assert as_json[0] == code
    assert f"xcwork: {json.loads(as_json[1])['error']}".startswith(sentence)
    assert as_json[2] == plain[2]


def test_facts_of_the_end_join_the_document() -> None:
    assert json.loads(run("end", "ended", "--json")[1]) == {"error": "the run failed", "run": "r1", "state": "failed"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("end",),
        ("end", "x", "--number", "0"),
        ("end", "x", "--number", "many"),
        ("end", "x", "--colour"),
        ("begin",),
        (),
    ],
)
def test_wrong_usage_is_one_line_too(arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (USER_ERROR_CODE, "")
    assert len(err.splitlines()) == 1
    if arguments:
        assert set(json.loads(run(*arguments, "--json")[1])) == {"error"}


def test_a_defect_is_not_dressed_up_as_a_user_error() -> None:
    done = CliRunner().invoke(program, ["end", "defect"])
    assert isinstance(done.exception, ZeroDivisionError)


def test_a_result_is_text_or_one_document() -> None:
    assert run("end", "well") == (0, "well: \\x1b[1m[bold]1 :warning:\n\n", "")
    code, out, err = run("end", "well", "--json", "--number", "3")
    assert (code, json.loads(out), err) == (0, {"how": "well", "number": 3}, "")


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = run("--home", str(tmp_path / "file"), "end", "well")
    assert code == USER_ERROR_CODE
    assert "takes a folder" in err


def test_json_holds_what_python_has() -> None:
    value = {
        "n": np.int64(3),
        "x": np.float32(0.5),
        "nan": float("nan"),
        "inf": [np.inf],
        "a": np.arange(2),
        5: Path("p"),
    }
    assert json.loads(to_json(value)) == {"n": 3, "x": 0.5, "nan": None, "inf": [None], "a": [0, 1], "5": "p"}


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "Lu", "Zl"]), max_size=40))
def test_json_text_is_what_it_was_and_no_terminal_obeys_it(text: str) -> None:
    written = to_json({"text": text}, indent=2)
    # Two lone surrogates that make a pair are one character in JSON.
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(written) == {"text": paired}
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in written.replace("\n", ""))
    written.encode("utf-8")


def test_settings_are_name_and_value() -> None:
    assert parse_pairs(["a=1", "b=x=y", "c="], "--set") == {"a": "1", "b": "x=y", "c": ""}
    assert parse_pairs(None, "--set") == {}
    for wrong in (["a"], ["=1"], ["a b=1"], ["a=1", "a=2"]):
        with pytest.raises(ConfigError, match="--set"):
            parse_pairs(wrong, "--set")


def test_output_may_be_closed_early(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "xcwork", "runs", "--json", "--home", str(tmp_path)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_option_of_a_dataset_is_worded_for_a_shell() -> None:
    said = rewrite_options(
        "say which one holds the text, such as text_column='my text', or label_prefix='#'; see name='x'"
    )
    assert said == (
        "say which one holds the text, such as --option text_column='my text', or --option label_prefix='#'; "
        "see name='x'"
    )
