"""Presets: complete, allowed by the method's own declaration, never larger than the label space, named in runs."""

from __future__ import annotations

import pytest

from xcwork.errors import ConfigError
from xcwork.methods.presets import (
    OWN_SETTINGS,
    PAPER_PRESET,
    PRESET_TITLES,
    describe_preset,
    list_preset_names,
    list_presets,
    read_run_settings,
    recognise_preset,
)
from xcwork.methods.registry import METHODS, create, find_method_class

OF_PAPERS = ("siamesexml", "zestxml", "eagle", "deep_miml", "landmarks", "mhp", "mhc", "mhs", "label_tree")
EACH_PRESET = [(method, preset) for method in METHODS for preset in list_preset_names(method)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_labels", [None, 3, 5000])
def test_every_preset_is_complete_and_allowed(method: str, n_labels: int | None) -> None:
    for settings in list_presets(method, n_labels=n_labels).values():
        assert settings.keys() == find_method_class(method).parameters().keys()
        create(method, **settings)


def test_the_default_is_what_is_declared() -> None:
    assert list_presets("one_vs_all")["Default"] == create("one_vs_all").get_params()


def test_counts_of_labels_are_cut_to_the_labels_there_are() -> None:
    assert list_presets("zestxml", n_labels=12)["Default"]["shortlist"] == 12
    assert list_presets("zestxml", n_labels=12)["Quick look"]["variant"] == "xhtp"


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
    declared = find_method_class(method).parameters()
    settings, left_out = read_run_settings(method, dict.fromkeys(declared, value))
    assert settings == {name: parameter.check(settings[name]) for name, parameter in declared.items()}
    assert all(settings[line.split()[0]] == declared[line.split()[0]].default for line in left_out)


@pytest.mark.parametrize("method", OF_PAPERS)
def test_what_a_paper_describes_can_be_had_as_the_paper_does_it(method: str) -> None:
    assert list(list_presets(method))[-1] == PRESET_TITLES[PAPER_PRESET] == "As in the paper"
    assert describe_preset(method, "paper").startswith("Ours adds: ")
    assert describe_preset(method, "As in the paper") == describe_preset(method, "paper")


def test_what_no_parameter_can_express_is_said() -> None:
    assert "Not yet: " in describe_preset("siamesexml", "paper")
    assert describe_preset("siamesexml", "default") == ""


def test_given_parameters_come_before_those_of_the_preset() -> None:
    paper = create("siamesexml", preset="paper", rate=0.5, dimension=7)
    assert (paper.get_params()["learning_rate"], paper.get_params()["dimension"]) == (0.5, 7)
    assert paper.get_params()["alpha"] == 0.9


def test_an_unknown_preset_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="ZestXML has no preset 'fast'; it has default, quick, paper"):
        create("zestxml", preset="fast")
    with pytest.raises(ConfigError, match="BM25 has no preset 'paper'; it has default"):
        create("bm25", preset="paper")


@pytest.mark.parametrize(("method", "preset"), EACH_PRESET)
def test_a_preset_is_recognised_whatever_the_seed(method: str, preset: str) -> None:
    params = create(method, preset=preset, seed=5).get_params()
    assert recognise_preset(method, params) == preset
    assert recognise_preset(method, find_method_class(method).find_preset(preset).params) == preset


def test_other_settings_have_no_name() -> None:
    assert recognise_preset("zestxml", {"shortlist": 77}) == OWN_SETTINGS
