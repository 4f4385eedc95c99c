"""Settings to start from: the declared defaults, a quick look, and the best run so far, fitted to a dataset.

    list_presets("zestxml", n_labels=3416)   →   {"Default": {…}, "Quick look": {…}}

A preset holds every parameter of the method. Numbers that count labels never exceed the labels there are. A stored run
may be of another version or edited by hand: `read_run_settings` uses what the method still allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xcwork.errors import ConfigError
from xcwork.methods.params import Parameter
from xcwork.methods.registry import method_class

DEFAULT_PRESET = "Default"
QUICK_PRESET = "Quick look"
# Less work for a first impression; everything else stays at its default.
_QUICK_PARAMS: dict[str, dict[str, Any]] = {
    "landmarks": {"landmarks": 30, "one_vs_rest": False, "selection": "most_frequent"},
    "one_vs_all": {"C": 0.1},
    "zestxml": {"variant": "xhtp"},
}
_LABEL_COUNT_PARAMS = ("landmarks", "shortlist", "unseen_shortlist")
_QUICK_EPOCHS = 2


def list_presets(method: str, *, n_labels: int | None = None) -> dict[str, dict[str, Any]]:
    """Return the named settings of a method."""
    declared = method_class(method).parameters()
    default = {name: parameter.default for name, parameter in declared.items()}
    quick = {name: value for name, value in _QUICK_PARAMS.get(method, {}).items() if _is_allowed(declared, name, value)}
    if not quick and default.get("epochs", 0) > _QUICK_EPOCHS:
        quick = {"epochs": _QUICK_EPOCHS}
    named = {DEFAULT_PRESET: default} | ({QUICK_PRESET: default | quick} if quick else {})
    return {name: _limit_to_labels(settings, n_labels) for name, settings in named.items()}


def read_run_settings(method: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return every parameter as `params` of a stored run say, and what of them the method does not allow, in words.

    What is not allowed, or not stored, is left at its default.
    """
    cls = method_class(method)
    declared = cls.parameters()
    former = cls.former_names()
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


def _is_allowed(declared: Mapping[str, Parameter], name: str, value: Any) -> bool:
    if name not in declared:
        return False
    choices = declared[name].choices
    return choices is None or value in choices


def _limit_to_labels(settings: dict[str, Any], n_labels: int | None) -> dict[str, Any]:
    if n_labels is None:
        return settings
    small = {name: max(1, min(settings[name], n_labels)) for name in _LABEL_COUNT_PARAMS if settings.get(name)}
    return settings | small
