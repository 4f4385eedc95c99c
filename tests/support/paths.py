"""Folders that tests read: those of the checkout, and datasets beside it that are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "tests" / "support" / "plugin"  # a folder that brings the method `gated` into every process
SHARED_DATA = Path(os.environ.get("XCWORK_SHARED_DATA") or ROOT.parent / "shared" / "data")


def needs_shared_data(*names: str) -> pytest.MarkDecorator:
    """Skip a test where one of these datasets is missing, and name it."""
    missing = [name for name in names if not (SHARED_DATA / name).exists()]
    reason = f"{', '.join(missing)} not found in {SHARED_DATA}; XCWORK_SHARED_DATA names the folder of the datasets"
    return pytest.mark.skipif(bool(missing), reason=reason)
