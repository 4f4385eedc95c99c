"""Options as people write them, `name=value`: on the command line, in the dashboard, in `synthetic:seed=1`.

>>> parse_pairs(["seed=1", "name=a=b"], "--set")
{'seed': '1', 'name': 'a=b'}
>>> parse_data_options(["header=true", "text_column=3"])
{'header': True, 'text_column': '3'}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from xcwork.errors import ConfigError
from xcwork.paths import find_named_file

# Options that end like this stay text, whatever their value looks like.
TEXT_ENDINGS = ("column", "field", "separator", "delimiter")


def parse_pairs(pairs: Iterable[str] | None, where: str, *, example: str = "") -> dict[str, str]:
    """Return `["a=1", "b=x"]` as a dict; `where` they were written and an `example` appear in the errors."""
    parsed: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals or not re.fullmatch(r"\w+", name):
            hint = f"; write {example}" if example else ""
            raise ConfigError(f"{where} takes name=value, got {pair!r}{hint}")
        if name in parsed:
            raise ConfigError(f"{where} gives {name} twice")
        parsed[name] = value
    return parsed


def parse_data_options(pairs: Iterable[str] | None, where: str = "--option") -> dict[str, Any]:
    """Return options as a reader takes them: numbers, lists and true/false where the text looks like it.

    Names of columns and separators stay text. Files are looked up from here, because a worker looks from elsewhere.
    """
    options: dict[str, Any] = {}
    for name, value in parse_pairs(pairs, where).items():
        if name.endswith("_file"):
            try:
                options[name] = str(find_named_file(value, Path.cwd()) or value)
            except OSError as refusal:
                raise ConfigError(f"{name} {value[:80]!r} cannot be looked up ({refusal.strerror})") from None
        elif name.endswith(TEXT_ENDINGS):
            options[name] = value
        else:
            try:
                options[name] = json.loads(value)
            except (ValueError, RecursionError):
                options[name] = value
    return options


def format_value(value: Any) -> str:
    """Return a value as one would write it after `name=`."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
