"""HTML in texts: whether there is some, and the text between its tags."""

from __future__ import annotations

import html
import re

SAMPLED_TEXTS = 200
_TAG = re.compile(r"<[/!]?[a-zA-Z-][^<>]*>")
_MARKUP = re.compile(r"</?(?:p|div|br|a|li|span|pre|code|table|h[1-6])\b[^<>]*>", re.IGNORECASE)


def has_markup(texts: list[str]) -> bool:
    """Return whether most of about SAMPLED_TEXTS texts contain HTML tags."""
    sample = texts[:: max(1, len(texts) // SAMPLED_TEXTS)]
    return 2 * sum(_MARKUP.search(text) is not None for text in sample) > len(sample)


def strip_markup(text: str) -> str:
    """Return the text between HTML tags."""
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())
