"""The examples in the docstrings of what `import xcwork` offers run as printed."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import xcwork

PLACES = sorted({place.split(":")[0] for place in xcwork._PUBLIC.values()})


@pytest.mark.parametrize("module", ["xcwork", *PLACES])
def test_examples_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    failed, _ = doctest.testmod(importlib.import_module(module))
    assert failed == 0


def test_every_public_name_says_what_it_does() -> None:
    for name in xcwork.__all__:
        assert (getattr(xcwork, name).__doc__ or "").strip(), name
