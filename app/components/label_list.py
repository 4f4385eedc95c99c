"""A list of labels, documents, runs or questions in which the whole row is the target: `show_label_list`.

    rows = [LabelRow("7", "networkx.dfs_tree", sign="wrong", share=0.74, note="unseen label")]
    chosen = show_label_list(
        [LabelGroup(rows, title="Suggest", note="20 to 80 %")],
        key="predict_labels", label="Labels", selected="7", on_choose=lambda row: state.update(label=row),
    )

A row is chosen with a click anywhere on it, or with ↑ ↓ (Home, End) and Enter once the list has the focus, which is one
tab stop. `on_choose` is called with the row's id before the page is drawn again, so what it sets holds for all of the
page; the function returns the same id in that one run, and None otherwise. The page says which row is `selected`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from xcwork_app import tokens
from xcwork_app.components import events, layout

from xcwork.published.claims import SIGNS

MAX_ROWS = 1000  # sent to the browser
ANNOTATED = {"right": "annotated", "wrong": "not annotated", "missed": "missed", "unsure": "unsure"}
_DOTTED = re.compile(r"[^\s.]+(\.[^\s.]+)+")

_component = layout.define_component("label_list", "list_parts")


@dataclass(frozen=True)
class SortColumn:
    """A column of cells to the right of the names; its head is a button that sorts."""

    id: str
    title: str
    note: str = ""  # small, below the title
    width: float = 4.6  # multiples of the base font
    help: str = ""  # what it means, for the mouse and for screen readers
    ends: tuple[str, str] | None = None  # what stands at both ends of an axis, in place of a title that sorts


@dataclass(frozen=True)
class RowCell:
    """What a row has in a column: a text, or a point with its range on the axis of the column."""

    text: str = ""
    is_bold: bool = False
    is_muted: bool = False
    span: tuple[float, float, float] | None = None  # low, point, high: 0 to 1


@dataclass(frozen=True)
class LabelRow:
    """One row. All texts may come from outside: they are shown as they are, and never cut without `more`."""

    id: str  # what choosing the row returns; unique in the list
    name: str  # bold; with `path` given, only the last part of the name
    path: str = ""  # small, above the name
    note: str = ""  # small, after the path: "unseen label", "rank 6"
    below: str = ""  # a muted line below the name
    sign: str = ""  # "right" ✓, "wrong" ✗, "missed" ○, "unsure" ? or none
    share: float | None = None  # 0 to 1: a bar, and a percentage above it unless `value` says something else
    value: str = ""  # on the right: "86 %", "0 of 8"
    cells: tuple[str | RowCell, ...] = ()  # after the name: texts with `columns`, one each with `sort_columns`
    is_off: bool = False  # cannot be used: shown lighter, and chosen all the same
    colour: str = ""  # of the bar; that of the list without it
    run: int | None = None  # the number of a run, whose mark replaces the sign
    is_done: bool = False  # answered: shown lighter
    hint: str = ""  # shown while the mouse is over the row
    details: tuple[tuple[str, str], ...] = ()  # (term, text) pairs below the row while it is selected
    actions: tuple[tuple[str, str], ...] = ()  # (id, title) of buttons below the details
    verdict: str = ""  # of the ledger of claims, such as "in direction": the last column
    menu: tuple[str, ...] = ()  # what the menu ⋯ at the end of the row offers; without any there is no menu

    @classmethod
    def from_label(cls, row_id: str, label: str, **others: Any) -> LabelRow:
        """Return the row of a label, whose path stands above its last part: `networkx.` above `dfs_tree`."""
        path, name = split_path(label)
        return cls(row_id, name, path=path, **others)


@dataclass(frozen=True)
class LabelGroup:
    """Rows below a heading; without a title there is no heading."""

    rows: Sequence[LabelRow]
    title: str = ""
    note: str = ""  # muted, after the title


@dataclass(frozen=True)
class ListColumn:
    """The heading of a column and its width, as a style sheet takes it: "9rem", "2fr"."""

    title: str
    width: str


def split_path(label: str) -> tuple[str, str]:
    """Return the path of a dotted name, with its last dot, and the last part; the path of other names is empty."""
    if not _DOTTED.fullmatch(label):
        return "", label
    path, dot, name = label.rpartition(".")
    return path + dot, name


def show_label_list(
    groups: Sequence[LabelGroup],
    *,
    key: str,
    label: str,
    selected: str = "",
    on_choose: Callable[[str], None] | None = None,
    choose_on_move: bool = False,
    more: str = "",
    on_more: Callable[[], None] | None = None,
    on_action: Callable[[str], None] | None = None,
    on_menu: Callable[[str, str], None] | None = None,
    columns: Sequence[ListColumn] = (),
    is_compact: bool = False,
    colour: str = "",
    sign_words: Mapping[str, str] = ANNOTATED,
    has_legend: bool = False,
    empty: str = "Nothing to show.",
    height: layout.FrameHeight = "content",
    has_border: bool = False,
    sort_columns: Sequence[SortColumn] = (),
    head: str = "",
    sort: str = "",
    on_sort: Callable[[str], None] | None = None,
    foot: str = "",
    foot_action: str = "",
    on_foot: Callable[[], None] | None = None,
    lights: bool = False,
) -> str | None:
    """Show the list and return the id of the row that was chosen just now.

    `label` names the list for screen readers. `choose_on_move` chooses a row as soon as ↑ or ↓ has reached it. `more`
    is the text of a button below the rows, which calls `on_more`. `on_action` gets the id of a button in the details of
    a row, `on_menu` the id of a row and what was chosen in its menu. `columns` make it a table: words, the cells of a
    row, and its verdict or its value with the mark of a run. `is_compact` puts bar and value on the line of the name.
    With `sort_columns` it is a table with heads that sort: `head` stands above the names, `sort` is the id of the
    column it is sorted by (with "-" before it the other way round), and a click on a head calls `on_sort` with the id
    of its column, which is "run" for the names. `foot` is a sentence in a box below the rows, followed by a button with
    the text `foot_action`, which calls `on_foot`. With `lights` the page knows on which row the mouse or the keyboard
    is (`data-lit` of the root element), for charts of the same rows (`chart_style.light_series`). `colour` is that of
    the bars, as a style sheet takes it (`tokens.get_look(run.number).colour`). `height` is "content", "stretch",
    "window" (down to its lower edge) or pixels; the rows scroll inside. `has_border` makes it a card.
    """
    rows = [row for group in groups for row in group.rows]
    used = sorted({row.sign for row in rows[:MAX_ROWS] if row.sign}, key=list(tokens.SIGNS).index)
    data = {
        "label": label,
        "groups": _limit_rows(groups),
        "selected": selected,
        "chooseOnMove": choose_on_move,
        "columns": [{"title": column.title, "width": column.width} for column in columns],
        "more": more,
        "signs": {name: {"sign": tokens.SIGNS[name], "word": sign_words.get(name, name)} for name in used},
        "legend": used if has_legend else [],
        "rest": f"The first {MAX_ROWS:,} of {len(rows):,} rows." if len(rows) > MAX_ROWS else "",
        "empty": "" if rows else empty,
        "sortColumns": [asdict(column) for column in sort_columns],
        "head": head,
        "foot": foot,
        "footAction": foot_action,
        "lights": lights,
        "sort": sort,
        "barColour": colour or tokens.COLOURS["primary_ground"],
        **layout.describe_frame(height, has_border=has_border),
    }
    data["classes"] += ["compact"] if is_compact else []
    result = _component(
        key=key,
        data=data,
        height=layout.get_wrapper_height(height),
        on_chosen_change=events.make_callback(key, "chosen", on_choose),
        on_sort_change=events.make_callback(key, "sort", on_sort),
        on_more_change=events.make_callback(key, "more", None if on_more is None else lambda _: on_more()),
        on_foot_change=events.make_callback(key, "foot", None if on_foot is None else lambda _: on_foot()),
        on_action_change=events.make_callback(key, "action", on_action),
        on_menu_change=events.make_callback(key, "menu", None if on_menu is None else _split_choice(on_menu)),
    )
    return events.read_text(result.chosen)


def _split_choice(on_menu: Callable[[str, str], None]) -> Callable[[str], None]:
    """Return a callback for "action row", as the browser sends it; the id of a row may contain anything."""

    def call(sent: str) -> None:
        action, _, row_id = sent.partition("\n")
        on_menu(row_id, action)

    return call


def _limit_rows(groups: Sequence[LabelGroup]) -> list[dict[str, Any]]:
    """Return the groups as the browser gets them, with MAX_ROWS rows in all."""
    left, sent = MAX_ROWS, []
    for group in groups:
        rows = group.rows[:left]
        left -= len(rows)
        if rows:
            sent.append({"title": group.title, "note": group.note, "rows": [_describe_row(row) for row in rows]})
    return sent


def _describe_row(row: LabelRow) -> dict[str, Any]:
    share = None if row.share is None else min(max(float(row.share), 0.0), 1.0)
    look = None if row.run is None else tokens.get_look(row.run)
    return {
        "id": row.id,
        "name": row.name,
        "path": row.path,
        "note": row.note,
        "below": row.below,
        "sign": row.sign if row.sign in tokens.SIGNS else "",
        "share": share,
        "value": row.value or ("" if share is None else f"{100 * share:.0f} %"),
        "colour": row.colour or ("" if look is None else look.colour),
        "mark": None if look is None else {"colour": look.colour, "shape": look.mark},
        "cells": [asdict(cell) if isinstance(cell, RowCell) else cell for cell in row.cells],
        "isOff": row.is_off,
        "isDone": row.is_done,
        "hint": row.hint,
        "details": [list(pair) for pair in row.details],
        "actions": [list(pair) for pair in row.actions],
        "verdict": _describe_verdict(row.verdict),
        "menu": list(row.menu),
    }


def _describe_verdict(verdict: str) -> dict[str, str] | None:
    return {"look": verdict.replace(" ", "_"), "sign": SIGNS[verdict], "word": verdict} if verdict else None
