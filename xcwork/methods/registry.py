"""Methods by their registered names."""

from __future__ import annotations

from typing import Any

from xcwork.methods.base import Method
from xcwork.methods.names import METHODS, find_class, find_name, list_usable_methods
from xcwork.methods.params import DEFAULT_PRESET

__all__ = ["METHODS", "create", "find_method_class", "find_name", "list_usable_methods"]


def find_method_class(name: str) -> type[Method]:
    """Return the class registered under `name`."""
    return find_class(name)


def create(name: str, *, preset: str = DEFAULT_PRESET, **params: Any) -> Method:
    """Return an untrained method.

    Parameters
    ----------
    name : str
        A registered name; `xcwork methods` lists them.
    preset : str
        `default`, `quick` or, where a paper describes the method, `paper`.
    **params
        Parameters that differ from the preset. Unknown names and bad values are rejected.

    Examples
    --------
    >>> import xcwork
    >>> xcwork.create("label_tree", trees=3).get_params()["trees"]
    3
    """
    cls = find_method_class(name)
    return cls.from_params({**cls.find_preset(preset).params, **cls.rename_params(params)})
