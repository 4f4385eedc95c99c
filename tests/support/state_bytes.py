"""Every array and number of a model's state as bytes, to compare two states to the last bit."""

from __future__ import annotations

from collections.abc import Iterator


def list_bytes(state: object) -> dict[str, bytes]:
    """Return the bytes of every array and number, by their place in the state."""
    return dict(_iterate_bytes(state, ""))


def _iterate_bytes(state: object, name: str) -> Iterator[tuple[str, bytes]]:
    if isinstance(state, dict):
        for key, value in state.items():
            yield from _iterate_bytes(value, f"{name}.{key}")
    elif isinstance(state, list | tuple):
        for place, value in enumerate(state):
            yield from _iterate_bytes(value, f"{name}[{place}]")
    elif hasattr(state, "indptr"):
        yield name, state.data.tobytes() + state.indices.tobytes() + state.indptr.tobytes()
    elif hasattr(state, "tobytes"):
        yield name, state.tobytes()
    elif hasattr(state, "to_state"):
        yield from _iterate_bytes(state.to_state(), name)
    else:
        yield name, repr(state).encode()
