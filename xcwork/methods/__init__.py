"""The methods. `create(name, **params)` makes one; `registry.METHODS` lists them."""

from xcwork.methods.registry import METHODS, create, method_class

__all__ = ["METHODS", "create", "method_class"]
