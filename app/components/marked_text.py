"""A text whose evidence is marked as strong, medium, weak or against; a mark can be chosen: `show_marked_text`.

    word = show_marked_text(
        "Depth first search", [TextMark(0, 5, "strong", word="depth", title="+0.53")],
        key="predict_text", label="Text", chosen="depth", on_choose=lambda word: state.update(word=word),
    )

Places are characters of the text, as Python counts them. A mark is chosen with a click, or with ← → and Enter once one
of them has the focus; all marks together are one tab stop. `on_choose` is called with the word before the page is drawn
again; the function returns the same word in that one run, and None otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xcwork_app.components import events, layout

STRENGTHS = ("strong", "medium", "weak", "against")
MEDIUM_SHARE = 1 / 3  # of the largest contribution, from which on a word is medium evidence
STRONG_SHARE = 2 / 3

_component = layout.define_component("marked_text")


@dataclass(frozen=True)
class TextMark:
    """A part of the text that counts for or against something."""

    start: int  # characters from the beginning
    end: int  # the character after the last
    strength: str = "weak"  # one of STRENGTHS
    word: str = ""  # what choosing the mark returns; the marked text without it
    title: str = ""  # shown while the mouse is over it, such as "+0.53"


def grade_contribution(value: float, largest: float) -> str:
    """Return the strength of a contribution, compared with the largest one of the text."""
    if value < 0:
        return "against"
    share = value / largest if largest > 0 else 0.0
    return "strong" if share >= STRONG_SHARE else "medium" if share >= MEDIUM_SHARE else "weak"


def show_marked_text(
    text: str,
    marks: Iterable[TextMark] = (),
    *,
    key: str,
    label: str = "Text",
    chosen: str = "",
    on_choose: Callable[[str], None] | None = None,
    has_legend: bool = True,
    height: layout.FrameHeight = "content",
    has_border: bool = False,
) -> str | None:
    """Show the text and return the word that was chosen just now.

    `label` names the text for screen readers; marks whose word is `chosen` have a frame. Of marks that overlap, the
    part that is not yet marked counts. `height` is "content", "stretch", "window" (down to its lower edge) or pixels;
    the text scrolls inside. `has_border` makes it a card.
    """
    parts = split_text(text, marks)
    used = {part["strength"] for part in parts}
    data = {
        "label": label,
        "parts": parts,
        "chosen": chosen,
        "legend": [each for each in STRENGTHS if each in used] if has_legend else [],
        **layout.describe_frame(height, has_border=has_border),
    }
    result = _component(
        key=key,
        data=data,
        height=layout.get_wrapper_height(height),
        on_chosen_change=events.make_callback(key, "chosen", on_choose),
    )
    return events.read_text(result.chosen)


def split_text(text: str, marks: Iterable[TextMark]) -> list[dict[str, Any]]:
    """Return the text as marked and unmarked parts in order, which together are the text."""
    parts: list[dict[str, Any]] = []
    at = 0
    for mark in sorted(marks, key=lambda mark: (mark.start, mark.end)):
        start, end = max(mark.start, at), min(mark.end, len(text))
        if start >= end or mark.strength not in STRENGTHS:
            continue
        if start > at:
            parts.append({"text": text[at:start], "strength": ""})
        word = mark.word or text[mark.start : mark.end]
        parts.append({"text": text[start:end], "strength": mark.strength, "word": word, "title": mark.title})
        at = end
    if at < len(text):
        parts.append({"text": text[at:], "strength": ""})
    return parts
