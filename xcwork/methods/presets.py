"""Settings to start from: declared defaults, a quick look, the paper's, and the best run so far, fitted to a dataset.

    list_presets("zestxml", n_labels=3416)   →   {"Default": {…}, "Quick look": {…}, "As in the paper": {…}}

Every method declares its own presets beside its class (`Method.presets`). On the command line and in stored runs they
are called `default`, `quick` and `paper`; people see the titles above. What is listed here holds every parameter of the
method, and numbers that count labels never exceed the labels there are. A stored run may be of another version or
edited by hand: `read_run_settings` uses what the method still allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xcwork.errors import ConfigError
from xcwork.methods.params import DEFAULT_PRESET
from xcwork.methods.registry import find_method_class

QUICK_PRESET = "quick"
PAPER_PRESET = "paper"
PRESET_TITLES = {DEFAULT_PRESET: "Default", QUICK_PRESET: "Quick look", PAPER_PRESET: "As in the paper"}
OWN_SETTINGS = ""  # the name of settings that are none of the presets
_LABEL_COUNT_PARAMS = ("landmarks", "shortlist", "unseen_shortlist")
# Two runs that differ in these alone have the same settings.
_CIRCUMSTANCES = {"seed", "device", "precision"}


def list_preset_names(method: str) -> list[str]:
    """Return the names of the presets that a method has."""
    return [DEFAULT_PRESET, *(preset.name for preset in find_method_class(method).presets)]


def list_presets(method: str, *, n_labels: int | None = None) -> dict[str, dict[str, Any]]:
    """Return every parameter for each preset of a method, by its title."""
    cls = find_method_class(method)
    default = {name: parameter.default for name, parameter in cls.parameters().items()}
    return {
        PRESET_TITLES[name]: _limit_to_labels({**default, **cls.find_preset(name).params}, n_labels)
        for name in list_preset_names(method)
    }


def describe_preset(method: str, preset: str) -> str:
    """Return what to know about a preset, given by name or title: what ours adds to it, and what it cannot do yet."""
    names = {title: name for name, title in PRESET_TITLES.items()}
    return find_method_class(method).find_preset(names.get(preset, preset)).note


def recognise_preset(method: str, params: Mapping[str, Any]) -> str:
    """Return the name of the preset that has these parameters, whatever seed and device; `OWN_SETTINGS` if none has."""
    cls = find_method_class(method)
    default = {name: parameter.default for name, parameter in cls.parameters().items()}
    given = default | cls.rename_params(params)
    for preset in list_preset_names(method):
        expected = {**default, **cls.find_preset(preset).params}
        if all(given[name] == expected[name] for name in expected.keys() - _CIRCUMSTANCES):
            return preset
    return OWN_SETTINGS


def read_run_settings(method: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return every parameter as `params` of a stored run say, and what of them the method does not allow, in words.

    What is not allowed, or not stored, is left at its default.
    """
    cls = find_method_class(method)
    declared = cls.parameters()
    former = cls.list_former_names()
    settings = {name: parameter.default for name, parameter in declared.items()}
    left_out = []
    for stored_name, value in params.items():
        name = former.get(stored_name, stored_name)
        if name not in declared:
            left_out.append(f"{name} is not a parameter of {method}")
            continue
        try:
            settings[name] = declared[name].check(value)
        except ConfigError as refusal:
            left_out.append(str(refusal))
    return settings, left_out


def _limit_to_labels(settings: dict[str, Any], n_labels: int | None) -> dict[str, Any]:
    """Return the settings with no number of labels above `n_labels`."""
    if n_labels is None:
        return settings
    small = {name: max(1, min(settings[name], n_labels)) for name in _LABEL_COUNT_PARAMS if settings.get(name)}
    return settings | small
