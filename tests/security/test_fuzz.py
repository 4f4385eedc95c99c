"""A short walk over the inputs that `scripts/fuzz.py` hunts through for long, and everything it ever found."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import samples
from tests.support.fuzzing.hunting import Finding, Tally, feed, lay_out, limited, walk, warm_up
from tests.support.fuzzing.targets import Config, Models, Readers, Runs, Target
from xcwork.errors import XcworkError
from xcwork.methods.base import Method

pytestmark = pytest.mark.filterwarnings("ignore")  # numpy warns of some of the headers we break
FINDINGS = Path(__file__).parent / "findings"
# The methods that train quickly, and the slower one that findings are about.
METHODS = ("bm25", "label_tree", "nearest_documents", "one_vs_all", "popularity", "siamesexml", "tfidf", "zestxml")
INPUTS = {"readers": 800, "model": 400, "run": 150, "config": 3000}


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    def scratch() -> Path:
        return tmp_path_factory.mktemp("scratch")

    made = {"readers": Readers(scratch()), "run": Runs(scratch()), "config": Config(scratch())}
    made |= {"model": Models(scratch(), METHODS)}
    for name, target in made.items():
        warm_up(target, place_of(name, scratch()))
    return made


def place_of(name: str, folder: Path) -> Path:
    return folder / "runs" / "fuzz" if name == "run" else folder / "input"


@pytest.mark.parametrize("form", sorted(samples.datasets()))
def test_every_sample_of_a_dataset_is_valid(form: str, targets: dict[str, Target], tmp_path: Path) -> None:
    files = samples.datasets()[form]
    lay_out(tmp_path / "input", files)
    targets["readers"].run(tmp_path / "input", files)


@pytest.mark.parametrize("name", METHODS)
def test_every_sample_of_a_model_is_valid(name: str, targets: dict[str, Target], tmp_path: Path) -> None:
    files = targets["model"].samples[name]
    lay_out(tmp_path / "model", files)
    targets["model"].run(tmp_path / "model", files)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(INPUTS))
def test_changed_inputs_give_a_result_or_a_sentence(name: str, targets: dict[str, Target], tmp_path: Path) -> None:
    tally = Tally()
    with limited():
        for tally in walk(targets[name], name, 0, range(INPUTS[name]), place_of(name, tmp_path)):  # noqa: B007
            pass
    assert tally.inputs == INPUTS[name]
    assert not [(found.number, found.what) for found in tally.findings]
    assert tally.results > INPUTS[name] / 50, "hardly any input was read, so the mutations are too coarse"


@pytest.mark.parametrize("name", ["readers", "config"])
def test_no_small_input_breaks_a_reader_or_the_configuration(
    name: str, targets: dict[str, Target], tmp_path: Path
) -> None:
    """The same mutations drawn by hypothesis, which would shrink what it finds."""

    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def run(rng: random.Random) -> None:
        tally = Tally()
        feed(targets[name], name, "hypothesis", targets[name].draw(rng), place_of(name, tmp_path), tally)
        assert not [found.what for found in tally.findings]

    run()


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_what_was_found_once_is_refused_now(path: Path, targets: dict[str, Target], tmp_path: Path) -> None:
    finding, tally = Finding.read(path), Tally()
    with limited():
        feed(
            targets[finding.target],
            finding.target,
            finding.number,
            finding.files,
            place_of(finding.target, tmp_path),
            tally,
        )
    assert not [found.what for found in tally.findings]


@pytest.mark.parametrize("path", sorted(FINDINGS.glob("model-*.json")), ids=lambda path: path.stem)
def test_a_model_that_was_found_has_the_present_fields(path: Path, tmp_path: Path) -> None:
    """Otherwise it would be refused for its field names, before anything looks at its defect."""
    lay_out(tmp_path / "model", Finding.read(path).files)
    message = ""
    try:
        Method.load(tmp_path / "model")
    except XcworkError as refusal:
        message = str(refusal)
    assert not re.search("is missing|is unknown here", message)
