"""Progress and cancellation: long work reports its steps, and whoever listens may ask it to stop.

Engine code wraps its loops in `track` (or `track_batches` for row blocks); it never prints. The listeners are
callbacks that `listen` installs for the duration of a call: the worker's reporter, a terminal bar, a notebook bar. A
callback whose `on_step` returns True stops the work: the loop raises `Cancelled` at the next step, so nothing is left
half done.

    with listen([bar]):
        for block in track_batches(X, 512, "scoring"):
            ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeVar

from xcwork.errors import Cancelled

T = TypeVar("T")


class Callback:
    """Four hooks, all optional. Subclass it and override what you need."""

    def on_phase(self, phase: str, total: int | None) -> None:
        """Follow the start of a phase of `total` steps (None: unknown)."""

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        """Follow a phase of which `step` steps are done; return True to stop the work."""
        return False

    def on_values(self, phase: str, values: dict[str, float]) -> None:
        """Follow numbers worth plotting, such as a loss."""

    def on_phase_end(self, phase: str) -> None:
        """Follow the end of a phase."""


_listeners: ContextVar[tuple[Callback, ...]] = ContextVar("xcwork_listeners", default=())


def listen(callbacks: Iterable[Callback]) -> AbstractContextManager[None]:
    """Add `callbacks` to those that already listen, until the block ends."""
    callbacks = tuple(callbacks)
    return _add_listeners(callbacks) if callbacks else nullcontext()  # one document should not wait for nobody


@contextmanager
def _add_listeners(callbacks: tuple[Callback, ...]) -> Iterator[None]:
    token = _listeners.set((*_listeners.get(), *callbacks))
    try:
        yield
    finally:
        _listeners.reset(token)


def track(items: Iterable[T], phase: str, *, total: int | None = None) -> Iterator[T]:
    """Yield `items`, reporting a step after each; raises `Cancelled` when a callback asks to stop."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    listeners = _listeners.get()
    for listener in listeners:
        listener.on_phase(phase, total)
    # A zeroth step lets a cancellation that came earlier take effect before the phase does any work.
    _report_step(listeners, phase, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        _report_step(listeners, phase, done, total)
    for listener in listeners:
        listener.on_phase_end(phase)


def _report_step(listeners: Sequence[Callback], phase: str, done: int, total: int | None) -> None:
    wishes = [listener.on_step(phase, done, total) for listener in listeners]
    if any(wishes):
        raise Cancelled(f"stopped during {phase}")


def report(phase: str, **values: float) -> None:
    """Hand numbers of the current phase (a loss, a validation P@1) to the listeners."""
    for listener in _listeners.get():
        listener.on_values(phase, values)


def track_batches(X: Any, size: int, phase: str) -> Iterator[Any]:
    """Yield the rows of `X` in blocks of `size`, tracked."""
    if X.shape[0] == 1:  # one document should not wait
        yield from track((X,), phase)
        return
    from xcwork.storage.mapped_arrays import (
        release_pages,  # numpy and scipy, which the command line's help can do without
    )

    for start in track(range(0, X.shape[0], size), phase):
        yield X if X.shape[0] <= size else X[start : start + size]
        if hasattr(X, "indptr"):
            release_pages(X)  # pages of a matrix on disk that are done with
