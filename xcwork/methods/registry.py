"""Methods by their registered names."""

from __future__ import annotations

from typing import Any

from xcwork.methods.base import DEFAULT_PRESET, Method
from xcwork.methods.names import METHODS, find_class, find_name, list_usable_methods

__all__ = ["METHODS", "create", "find_method_class", "find_name", "list_usable_methods"]


def find_method_class(name: str) -> type[Method]:
    """Return the class registered under `name`."""
    return find_class(name)


def create(name: str, *, preset: str = DEFAULT_PRESET, **params: Any) -> Method:
    """Return an untrained method by its registered name, with its parameters; those not given are as in `preset`.

    Presets are called `default`, `quick` and, where a paper describes the method, `paper`.
    """
    cls = find_method_class(name)
    return cls.from_params({**cls.find_preset(preset).params, **cls.rename_params(params)})
