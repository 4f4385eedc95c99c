"""The options that all readers of text share: which fields make up a text, and how texts become features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from xcwork.errors import ConfigError
from xcwork.text.reading import parse_languages
from xcwork.text.vectorizer import TextVectorizer

TEXT_CHOICES = ("both", "title", "content")
WORD_OPTIONS = {"language": str | None, "label_language": str | None, "char_ngrams": int}  # of every format with texts


def check_text_choice(choice: str) -> None:
    """Reject what the option `text` cannot be."""
    if choice not in TEXT_CHOICES:
        raise ConfigError(f"text must be one of {', '.join(TEXT_CHOICES)}, got {choice!r}")


def join_fields(title: str, content: str, choice: str) -> str:
    """Return the text of a document or label from its two fields, as the option `text` says."""
    if choice == "both":
        return f"{title}\n{content}" if title and content else title or content
    return title if choice == "title" else content


def sort_rewrite_options(options: Mapping[str, Any], *, has_vocabulary: bool) -> dict[str, Any]:
    """Return options with what is said about words among those of the vectoriser.

    A format that takes names from a vocabulary calls their language `language`, too. So `language` is for texts and
    names, and `label_language` for names in another one.
    """
    given = dict(options)
    language, names = given.pop("language", None), given.pop("label_language", None)
    words = {"char_ngrams": given.pop("char_ngrams")} if "char_ngrams" in given else {}
    if language is not None:
        words["language"] = language
        codes = parse_languages(language)
        names = names or (codes[0] if codes else None)
    if names is not None and has_vocabulary:
        given["language"] = names
    if words:
        given["vectorizer"] = words | dict(given.get("vectorizer") or {})
    return given


def make_vectorizer(options: Mapping[str, Any] | None) -> TextVectorizer:
    """Return the vectoriser with these options; a mistyped one is rejected by its name."""
    known = [field.name for field in fields(TextVectorizer)]
    if unknown := sorted(set(options or ()) - set(known)):
        raise ConfigError(f"the text vectoriser has no option {unknown[0]!r}; it has {', '.join(known)}")
    return TextVectorizer(**(options or {}))
