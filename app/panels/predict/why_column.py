"""The right column's first view: why a label has its score, by family, by word and by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import state
from xcwork_app.components.label_list import split_path
from xcwork_app.components.reason_bars import ReasonBar, ReasonView, show_reason_bars
from xcwork_app.panels.predict.text_column import choose_word
from xcwork_app.panels.shared.label_choice import find_label_id
from xcwork_app.views.document_prediction import DocumentReasons

from xcwork.core.explanation import TRAINING_DOCUMENT, Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xcwork.core.explanation import Explanation
    from xcwork.core.explanation_groups import FamilyBar, GroupedParts, WordBar, WordGroup
    from xcwork.core.labels import LabelSpace
    from xcwork.core.topk import TopK
    from xcwork.methods.base import Method

MAX_LINES = 12  # pairs of a word, words of a bar
SHARES = {1: "", 2: ", half", 3: ", a third"}


def resolve_label(labels: LabelSpace, offered: Sequence[str]) -> str | None:
    """Return the label to explain: that of the view if it exists, else the first one listed."""
    wanted = state.view().label
    if not wanted:
        return offered[0] if offered else None
    if wanted in offered:
        return wanted
    found = find_label_id(labels, wanted)
    if found is not None:
        return labels.names[found]
    state.fall_back("label", "", f"There is no label with {state.quote(wanted)} in its name.")
    return offered[0] if offered else None


def resolve_choice(reasons: DocumentReasons) -> None:
    """Forget a family and a word that this explanation does not have; a line says so where the address asked for it."""
    view = state.view()
    if view.family and reasons.grouped.find(view.family) is None:
        asked = state.asks_for("family", view.family)
        note = f"There is no family of reasons {state.quote(view.family)} here; all are shown." if asked else ""
        state.fall_back("family", "", note)
    if view.word and not any(word.word == view.word for bar in reasons.grouped.families for word in bar.words):
        asked = state.asks_for("word", view.word)
        note = f"The word {state.quote(view.word)} does not count for this label; none is open." if asked else ""
        state.fall_back("word", "", note)


def show_why(reasons: DocumentReasons, model: Method, topk: TopK) -> None:
    """Show the reasons; what is chosen in them marks the text."""
    view = state.view()
    show_reason_bars(
        make_view(reasons, model, topk, view.family, view.word),
        key="predict_reasons",
        on_family=choose_family,
        on_word=choose_word,
        height="window",
        has_border=True,
    )


def choose_family(family: str) -> None:
    """Mark only the words of a family, or all again if it was chosen before."""
    state.update(family="" if state.view().family == family else family, word="")


def make_new_view(reasons: DocumentReasons, family: str, word: str) -> ReasonView:
    """Return what is shown of the reasons of a label that does not exist yet."""
    from xcwork.analysis.explanation_words import write_sentence

    return _fill_view(
        reasons,
        family,
        word,
        title="",  # the label stands in the field above
        sentence=[tuple(phrase) for phrase in write_sentence(reasons.grouped, 0)],
    )


def _fill_view(reasons: DocumentReasons, family: str, word: str, **facts: Any) -> ReasonView:
    grouped = reasons.grouped
    opened = pick_family(grouped, family, word)
    zero, bars, score = make_waterfall(grouped, family)
    return ReasonView(
        families=bars,
        score=score,
        zero=zero,
        family="" if opened is None else opened.family.heading,
        family_note="" if opened is None else describe_family(opened),
        words=[] if opened is None else make_words(grouped, opened, word),
        footer=describe_sum(reasons.explanation),
        **facts,
    )


def make_view(reasons: DocumentReasons, model: Method, topk: TopK, family: str, word: str) -> ReasonView:
    """Return what is shown of the reasons while this family and this word are open."""
    from xcwork.analysis.explanation_words import write_sentence
    from xcwork.analysis.probability_view import explain_probability

    explanation, grouped = reasons.explanation, reasons.grouped
    label = model.labels_.find_id(explanation.label)
    way = (
        None
        if model.calibration_ is None
        else explain_probability(model.calibration_, topk, label, model.label_frequencies_)
    )
    facts = f"Score {grouped.format(grouped.units, sign=False)}."
    if way is not None:
        facts += f" Such scores are right {100 * way.probability:.0f} times in 100."
    elif model.calibration_ is not None:
        facts += " It is not listed for this text, so it has no percentage."
    if explanation.is_filtered:
        facts += " A filter pair of the dataset keeps it out of the list of this document."
    return _fill_view(
        reasons,
        family,
        word,
        title=f"Why {split_path(explanation.label)[1]}?",
        facts=facts,
        sentence=[tuple(phrase) for phrase in write_sentence(grouped, int(model.label_frequencies_[label]))],
        steps_title="" if way is None else "How the score becomes the percentage",
        steps=[] if way is None else [(str(a), str(b)) for a, b in way.to_frame().itertuples(index=False)],
    )


def pick_family(grouped: GroupedParts, family: str, word: str) -> FamilyBar | None:
    """Return the open family: the chosen one, else that in which the chosen word counts most, else the largest."""
    if family and (bar := grouped.find(family)) is not None:
        return bar
    own = [bar for bar in grouped.families if bar.family != Family.starting_point] or list(grouped.families)
    if word:
        values = {bar.family: next((abs(w.value) for w in bar.words if w.word == word), -1.0) for bar in own}
        best = max(own, key=lambda bar: values[bar.family], default=None)
        if best is not None and values[best.family] >= 0:
            return best
    return max(own, key=lambda bar: abs(bar.value), default=None)


def make_waterfall(grouped: GroupedParts, family: str) -> tuple[float, list[ReasonBar], ReasonBar]:
    """Return where zero is, a bar per family from where the one before ended, and the bar of the score."""
    ends = [0.0]
    for bar in grouped.families:
        ends.append(ends[-1] + bar.value)
    low, high = min(*ends, grouped.score, 0.0), max(*ends, grouped.score, 0.0)
    width = (high - low) or 1.0
    bars = [
        ReasonBar(
            str(bar.family),
            bar.family.heading,
            grouped.format(bar.units),
            (min(before, after) - low) / width,
            abs(bar.value) / width,
            is_against=bar.value < 0 or bar.family == Family.starting_point,
            is_open=str(bar.family) == family,
            hint=f"Mark only the words of this family ({bar.n_parts:,} {'part' if bar.n_parts == 1 else 'parts'})",
        )
        for bar, before, after in zip(grouped.families, ends, ends[1:], strict=False)
    ]
    start = (min(grouped.score, 0.0) - low) / width
    score = ReasonBar("", "Score", grouped.format(grouped.units, sign=False), start, abs(grouped.score) / width)
    return -low / width, bars, score


def describe_family(bar: FamilyBar) -> str:
    """Return how many parts a family has and how they are put together."""
    if bar.family == Family.starting_point:
        return "whatever the text says"
    if all(word.word.startswith(f"{TRAINING_DOCUMENT} ") for word in bar.words):
        return f"{bar.n_parts:,} {'document' if bar.n_parts == 1 else 'documents'}"
    return f"{bar.n_parts:,} {'pair' if bar.n_parts == 1 else 'pairs'}, by word"


def make_words(grouped: GroupedParts, bar: FamilyBar, word: str) -> list[ReasonBar]:
    """Return the bars of the words of a family."""
    largest = max((abs(group.value) for group in bar.groups), default=0.0) or 1.0
    return [_make_word(grouped, bar, group, largest, word) for group in bar.groups]


def _make_word(grouped: GroupedParts, bar: FamilyBar, group: WordGroup, largest: float, word: str) -> ReasonBar:
    is_open = any(each.word == word for each in group.words)
    can_open = bar.family not in (Family.starting_point, Family.unexplained)
    lines = [] if not (is_open and can_open) else _list_lines(grouped, group, word)
    name = group.name + (f" {_name_rest(bar, group)}" if group.is_rest else "")
    return ReasonBar(
        (word if is_open else group.words[0].word) if can_open else "",
        name,
        grouped.format(group.units),
        0.0,
        abs(group.value) / largest,
        is_against=group.value < 0,
        is_open=is_open,
        is_rest=group.is_rest,
        lines=lines,
        hint=", ".join(each.word for each in group.words[:50]) if len(group.words) > 1 else "",
    )


def _name_rest(bar: FamilyBar, group: WordGroup) -> str:
    is_document = group.words[0].word.startswith(f"{TRAINING_DOCUMENT} ")
    return "documents" if is_document else "words" if bar.family != Family.starting_point else "reasons"


def _list_lines(grouped: GroupedParts, group: WordGroup, word: str) -> list[tuple[str, str]]:
    """Return the pairs of a word; where several share a bar, these words, and the pairs of the chosen one."""
    if len(group.words) == 1:
        return _list_pairs(grouped, group.words[0])
    chosen = next(each for each in group.words if each.word == word)
    others = [each for each in group.words if each is not chosen]
    lines = [(chosen.word, grouped.format(chosen.units)), *((each.word, grouped.format(each.units)) for each in others)]
    return _cut_lines(grouped, lines, [chosen.units, *(each.units for each in others)], "words")


def _list_pairs(grouped: GroupedParts, word: WordBar) -> list[tuple[str, str]]:
    lines = []
    for pair in word.pairs:
        share = SHARES.get(pair.n_words, f", 1 of {pair.n_words}")
        lines.append((f"{pair.document_term} × {pair.label_term}{share}", grouped.format(pair.units)))
    return _cut_lines(grouped, lines, [pair.units for pair in word.pairs], "pairs")


def _cut_lines(
    grouped: GroupedParts, lines: list[tuple[str, str]], units: list[int], what: str
) -> list[tuple[str, str]]:
    """Return the first lines and one for the others, which together still add up."""
    if len(lines) <= MAX_LINES + 1:
        return lines
    rest = sum(units[MAX_LINES:])
    return [*lines[:MAX_LINES], (f"{len(lines) - MAX_LINES:,} more {what}", grouped.format(rest))]


def describe_sum(explanation: Explanation) -> str:
    """Return how many parts there are and whether they add up exactly."""
    n_parts = len(explanation.parts)
    parts = "1 part adds" if n_parts == 1 else f"{n_parts:,} parts add"
    text = f"{parts} up {'exactly' if explanation.exact else 'approximately'} to the score."
    if explanation.link and explanation.predicted is not None:
        text += f" It is shown elsewhere as {explanation.predicted:.4g}: {explanation.link}."
    return text


def show_nothing(sentence: str) -> None:
    """Say why there is nothing to explain."""
    with st.container(key="predict_nothing", border=True):
        st.markdown(sentence)
