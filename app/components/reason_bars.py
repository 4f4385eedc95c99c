"""Why a label has its score: families as a waterfall, below it the words of the open one, and the pairs of a word.

    show_reason_bars(
        ReasonView("Why dfs_tree?", families=[ReasonBar("words in common", "Words in common", "+2.71", 0.1, 0.4)]),
        key="predict_reasons", on_family=lambda family: ..., on_word=lambda word: ...,
    )

A family or a word is chosen with a click, or with ↑ ↓ and Enter once one of them has the focus; all of them together
are one tab stop. The callbacks get the id of what was chosen, before the page is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from xcwork_app.components import events, layout

_component = layout.define_component("reason_bars")


@dataclass(frozen=True)
class ReasonBar:
    """One bar: where it begins and how long it is are shares of the width; without an id it cannot be chosen."""

    id: str
    name: str
    value: str  # as it is shown
    start: float
    length: float
    is_against: bool = False
    is_open: bool = False
    is_rest: bool = False
    lines: Sequence[tuple[str, str]] = ()  # name and value of what an open bar consists of
    hint: str = ""  # shown while the mouse is over it


@dataclass(frozen=True)
class ReasonView:
    """Everything that is shown about one score. All texts may come from outside: they are shown as they are."""

    title: str
    facts: str = ""  # a muted line below the title
    sentence: Sequence[tuple[str, bool]] = ()  # pieces of text, and whether each is a word of the document
    families: Sequence[ReasonBar] = ()
    score: ReasonBar | None = None
    zero: float = 0.0  # where the waterfall begins, as a share of the width
    family: str = ""  # the heading above the words
    family_note: str = ""
    words: Sequence[ReasonBar] = ()
    steps_title: str = ""
    steps: Sequence[tuple[str, str]] = field(default=())  # folded: how the score becomes what is shown elsewhere
    footer: str = ""


def show_reason_bars(
    shown: ReasonView,
    *,
    key: str,
    on_family: Callable[[str], None] | None = None,
    on_word: Callable[[str], None] | None = None,
    height: layout.FrameHeight = "content",
    has_border: bool = False,
) -> None:
    """Show the bars; what is chosen goes to the callbacks."""
    _component(
        key=key,
        data=asdict(shown) | layout.describe_frame(height, has_border=has_border),
        height=layout.get_wrapper_height(height),
        on_family_change=events.make_callback(key, "family", on_family),
        on_word_change=events.make_callback(key, "word", on_word),
    )
