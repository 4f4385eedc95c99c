"""Numba's `njit`, whose stored machine code is loaded without first importing what would compile it.

Before numba looks for the stored code of a function, it imports how to compile everything it knows, LAPACK through
scipy among it. A process that only predicts would pay a second and 20 MB for that and compile nothing: stored code
needs no more than numba's runtime. Where none is stored, the compiler imports the rest by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys


class StoredCode(FunctionCache):
    """The machine code of one function that is kept beside its module."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored code for these types of arguments, None where there is none."""
        try:
            load, guard = self._load_overload, self._guard_against_spurious_io_errors
            rtsys.initialize(target_context)
        except AttributeError:  # another numba, in which this has another name
            return super().load_overload(sig, target_context)
        with guard():
            return load(sig, target_context)
        return None


def make_decorator(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return numba's decorator for a compiled function; with `cache=True` its code is kept, and loaded from there."""

    def make_compiled(function: Callable[..., Any]) -> Any:
        compiled = numba.njit(**options)(function)
        if options.get("cache") and isinstance(getattr(compiled, "_cache", None), FunctionCache):
            compiled._cache = StoredCode(function)
        return compiled

    return make_compiled


njit = make_decorator  # as it is known
