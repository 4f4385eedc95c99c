"""Valid JSON for any value, with nothing in it that a terminal would obey."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from xcwork.export.text import UNSAFE_CHARACTERS


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return valid JSON for any value: numpy numbers, paths, NaN (null), lone surrogates and control characters."""
    text = json.dumps(_to_plain(value), ensure_ascii=False, indent=indent, allow_nan=False)
    # json escapes the C0 characters itself; the line breaks of its own layout must stay.
    return UNSAFE_CHARACTERS.sub(
        lambda match: match.group() if match.group() == "\n" else f"\\u{ord(match.group()):04x}", text
    )


def _to_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    if hasattr(value, "tolist"):  # a numpy array or number
        return _to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
