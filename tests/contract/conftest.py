"""Every registered method in turn, and models that tests may read but not change."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from tests.support.device_contract import ON_DEVICE
from tests.support.device_traffic import Traffic
from tests.support.emulated_accelerator import emulate
from tests.support.stub_encoder import HashedWords, use_encoder
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.methods.base import Method
from xcwork.methods.names import TORCH_METHODS
from xcwork.methods.registry import METHODS, create
from xcwork.methods.siamesexml import word_classifiers

SLOW_METHODS = TORCH_METHODS | {"eagle"}  # the fast set holds the linear methods to the contract


@pytest.fixture(autouse=True)
def _stub_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods that read text do so without the weights of a real encoder."""
    use_encoder(monkeypatch, HashedWords())


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_METHODS else []) for name in sorted(METHODS)]
)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@functools.cache
def _fitted(name: str, dataset: Dataset) -> Method:
    return create(name).fit(dataset.train)


@pytest.fixture
def on_checkerboard(name: str, checkerboard: Dataset) -> Method:
    return _fitted(name, checkerboard)


@pytest.fixture
def on_jumble(name: str, jumble: Dataset) -> Method:
    return _fitted(name, jumble)


@pytest.fixture
def same() -> Callable[[TopK, TopK], None]:
    """Asserts that two rankings are equal: the same ids, and scores that agree to the last few bits."""

    def check(a: TopK, b: TopK) -> None:
        np.testing.assert_array_equal(a.ids, b.ids)
        np.testing.assert_allclose(a.scores, b.scores, rtol=1e-6, atol=1e-7)

    return check


@pytest.fixture(params=ON_DEVICE)
def method_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def traffic() -> Iterator[Traffic]:
    with emulate() as counted:
        yield counted


@pytest.fixture
def solved_word_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both paths stop at a tolerance; what they learn is compared where it is small."""
    monkeypatch.setattr(word_classifiers, "PAIR_TOLERANCE", 1e-6)
    monkeypatch.setattr(word_classifiers, "MAX_PASSES", 1000)
