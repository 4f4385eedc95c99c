"""Presets: complete, allowed by the method's own declaration, and never larger than the label space."""

from __future__ import annotations

import pytest

from xcwork.methods.presets import DEFAULT, QUICK, presets
from xcwork.methods.registry import METHODS, create, method_class


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_labels", [None, 3, 5000])
def test_every_preset_is_complete_and_allowed(method: str, n_labels: int | None) -> None:
    for settings in presets(method, n_labels=n_labels).values():
        assert settings.keys() == method_class(method).parameters().keys()
        create(method, **settings)


def test_the_default_is_what_is_declared() -> None:
    assert presets("one_vs_all")[DEFAULT] == create("one_vs_all").get_params()


def test_counts_of_labels_are_cut_to_the_labels_there_are() -> None:
    assert presets("zestxml", n_labels=12)[DEFAULT]["shortlist"] == 12
    assert presets("zestxml", n_labels=12)[QUICK]["variant"] == "xhtp"
