"""Methods by their registered names."""

from __future__ import annotations

from typing import Any

from xcwork.methods.base import Method
from xcwork.methods.names import METHODS, find_class, name_of, usable_methods

__all__ = ["METHODS", "create", "method_class", "name_of", "usable_methods"]


def method_class(name: str) -> type[Method]:
    """Return the class registered under `name`."""
    return find_class(name)


def create(name: str, **params: Any) -> Method:
    """Return an untrained method by its registered name, with its parameters."""
    return method_class(name).from_params(params)
