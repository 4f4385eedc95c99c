"""Small datasets whose right answer is known by construction, and a home folder of the test's own."""

from __future__ import annotations

import functools
import gc
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.support import waiting
from tests.support.paths import ROOT

# Set before anything loads a thread pool, here and in child processes: the tensors of tests are tiny, so that more
# threads would only wait for each other, and sums in another order give other last bits.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Torch and the compiled kernels share a pool of threads. Those that wait must not turn in circles: two suites run side
# by side on two cores, and each would take the core that the other needs.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# A dashboard of a test compiles nothing in advance.
os.environ.setdefault("XCWORK_COMPILE", "0")
# Child processes use this checkout as the tests do, wherever the package may be installed from.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))

import numpy as np
import pytest
from hypothesis import settings
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.data.build import build_dataset
from xcwork.data.pyseealso import load_pyseealso
from xcwork.data.raw import RawDataset, RawLabels, RawSplit

# A first call may compile a kernel, so examples have no deadline; the same examples on every machine.
settings.register_profile("xcwork", deadline=None, derandomize=True)
settings.load_profile("xcwork")

_left_out: Counter[str] = Counter()  # slow tests by folder


def pytest_configure() -> None:
    """Look for no garbage while modules and tests are collected: over a million objects, which live until the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Look for garbage again, but not among what is there by now; that took a sixth of the time of the tests."""
    gc.freeze()
    gc.enable()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        if "slow" in item.config.option.markexpr and item.get_closest_marker("slow") is not None:
            _left_out[item.path.parent.name if item.path.parent != Path(__file__).parent else item.path.stem] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the fast set leaves out."""
    if _left_out:
        places = ", ".join(f"{place} {count:,}" for place, count in sorted(_left_out.items()))
        terminalreporter.write_line(f"{_left_out.total():,} slow tests were left out ({places}); `make test` runs them")


N_COLOURED = 8  # labels of the checkerboard: even ones are red, odd ones are black


@functools.cache
def make_checkerboard() -> Dataset:
    """A document about red squares carries every even label, one about black circles every odd one.

    Label texts say the same in words, so learning from Y and matching texts lead to the same answer. Two training
    documents about green triangles have nothing, one is empty. The label about violet stars occurs in the test split
    alone: only its text gives it away.
    """
    kinds = {0: "red square", 1: "black circle"}
    train_texts = [f"{kinds[i % 2]} {kinds[i % 2]} note{i}" for i in range(24)]
    test_texts = [f"{kinds[i % 2]} leaf{i}" for i in range(6)]
    carried = [[f"L{label}" for label in range(i % 2, N_COLOURED, 2)] for i in range(24)]
    raw = RawDataset(
        train=RawSplit(
            texts=[*train_texts, "green triangle", "green triangle", ""],
            labels=[*carried, [], [], []],
        ),
        test=RawSplit(
            texts=[*test_texts, "violet star", "violet star pink"],
            labels=[*carried[:6], ["L8"], ["L8"]],
        ),
        labels=RawLabels(
            names=[f"L{label}" for label in range(N_COLOURED + 1)],
            texts=[*(kinds[label % 2] for label in range(N_COLOURED)), "violet star"],
        ),
    )
    return build_dataset(raw, name="checkerboard")


@functools.cache
def make_jumble() -> Dataset:
    """Random documents with every awkward trait: empty rows, no labels, unseen labels, filter pairs, equal rows.

    Values are multiples of 1/8, so that rankings have real ties.
    """
    rng = np.random.default_rng(7)
    n_train, n_test, n_features, n_labels = 40, 17, 25, 11

    def values(rows: int) -> np.ndarray:
        return (rng.integers(1, 9, (rows, n_features)) / 8 * (rng.random((rows, n_features)) < 0.25)).astype(np.float32)

    X, Z = values(n_train + n_test), values(n_labels)
    X[[3, n_train + 2]] = 0
    X[n_train + 5] = X[n_train + 4]
    Z[6] = 0
    Y = (rng.random((n_train + n_test, n_labels)) < 0.2).astype(np.float32)
    Y[[5, n_train + 1]] = 0
    Y[:n_train, [4, 9]] = 0
    Y[n_train, 9] = 1
    features = Features(n_features, [f"t{i}" for i in range(n_features)])
    labels = LabelSpace([f"label {i}" for i in range(n_labels)], Z=sparse.csr_array(Z), features=features)
    parts = [
        Split(sparse.csr_array(X[rows]), sparse.csr_array(Y[rows]), labels, features)
        for rows in (slice(0, n_train), slice(n_train, None))
    ]
    pairs = np.array([[0, 0], [0, 1], [0, 2], [4, 3], [4, 3], [16, 10]])
    return Dataset("jumble", parts[0], replace(parts[1], filter_pairs=pairs))


@pytest.fixture
def checkerboard() -> Dataset:
    return make_checkerboard()


@pytest.fixture
def jumble() -> Dataset:
    return make_jumble()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder that every command and reader uses by default."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("XCWORK_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def pyseealso_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with the embedded dataset, built once."""
    folder = tmp_path_factory.mktemp("pyseealso")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONOPTIMIZE", "2")  # would strip the docstrings of a process started from here
        load_pyseealso(folder)
    return folder


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for a condition, see `tests.support.waiting`."""
    return waiting.until
