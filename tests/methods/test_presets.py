"""Presets: complete, allowed by the method's own declaration, and never larger than the label space."""

from __future__ import annotations

import pytest

from xcwork.methods.presets import DEFAULT_PRESET, QUICK_PRESET, list_presets, read_run_settings
from xcwork.methods.registry import METHODS, create, method_class


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_labels", [None, 3, 5000])
def test_every_preset_is_complete_and_allowed(method: str, n_labels: int | None) -> None:
    for settings in list_presets(method, n_labels=n_labels).values():
        assert settings.keys() == method_class(method).parameters().keys()
        create(method, **settings)


def test_the_default_is_what_is_declared() -> None:
    assert list_presets("one_vs_all")[DEFAULT_PRESET] == create("one_vs_all").get_params()


def test_counts_of_labels_are_cut_to_the_labels_there_are() -> None:
    assert list_presets("zestxml", n_labels=12)[DEFAULT_PRESET]["shortlist"] == 12
    assert list_presets("zestxml", n_labels=12)[QUICK_PRESET]["variant"] == "xhtp"


def test_the_settings_of_a_run_are_taken_over() -> None:
    params = create("zestxml", shortlist=77, variant="xhtp").get_params()
    assert read_run_settings("zestxml", params) == (params, [])


def test_what_a_stored_run_has_and_the_method_does_not_allow_is_left_out_and_said() -> None:
    params = {"shortlist": 77, "variant": "quantum", "forgotten": 3, "seed": -1}
    settings, left_out = read_run_settings("zestxml", params)
    assert settings == create("zestxml", shortlist=77).get_params()
    assert len(left_out) == 3
    assert left_out[0].startswith("variant must be one of")
    assert left_out[1:] == ["forgotten is not a parameter of zestxml", "seed must be at least 0, got -1"]


@pytest.mark.parametrize("value", [None, "many", [3], {}, True, 1.5, float("nan"), 2**60, -(2**60)])
@pytest.mark.parametrize("method", METHODS)
def test_whatever_a_run_stores_its_settings_are_allowed(method: str, value: object) -> None:
    declared = method_class(method).parameters()
    settings, left_out = read_run_settings(method, dict.fromkeys(declared, value))
    assert settings == {name: parameter.check(settings[name]) for name, parameter in declared.items()}
    assert all(settings[line.split()[0]] == declared[line.split()[0]].default for line in left_out)
