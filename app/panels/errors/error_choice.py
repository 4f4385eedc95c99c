"""Which true labels the page lists: one outcome, of one band or of all, or of labels that were chosen on the map.

What is chosen stands above the list as chips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from xcwork_app import state, widgets
from xcwork_app.views import chosen_labels
from xcwork_app.views.chosen_labels import MapChoice
from xcwork_app.views.run_findings import Findings, name_band

from xcwork.analysis.errors import NOT_LISTED, OUTRANKED
from xcwork.analysis.outcomes import FITTING, FOUND, MISSED, select_labels
from xcwork.export.text import count_noun

OUTCOMES = {"found": FOUND, "outranked": OUTRANKED, "not_listed": NOT_LISTED}  # ids of segments


@dataclass(frozen=True)
class ErrorChoice:
    """What is listed: an outcome (see `xcwork.analysis.outcomes`) and a band, "" for all."""

    outcome: str
    band: str
    positions: np.ndarray  # of the true labels, in `Placement.truth.indices`
    area: MapChoice | None = None  # the labels chosen on the map; None for all

    @property
    def segment(self) -> str:
        """The id of the part of a bar that is chosen; "" for none."""
        return next((name for name, outcome in OUTCOMES.items() if outcome == self.outcome), "")

    @property
    def summary(self) -> str:
        """How many true labels are listed, in words."""
        n = len(self.positions)
        if self.outcome == FOUND:
            return f"{n:,} found"
        return f"{n:,} miss{'' if n == 1 else 'es'}"


def resolve_choice(found: Findings) -> ErrorChoice:
    """Return what the view asks for, or what is usual where that does not exist; a note says so."""
    ranges = [each.id for each in found.outcomes.ranks]
    outcome = state.pick_option("outcome", [*OUTCOMES.values(), MISSED, *ranges], FITTING, "“missed”")
    band = state.pick_option("band", found.bands.names, "", "“all bands”")
    if band and outcome == FITTING:
        outcome = MISSED  # a link from elsewhere names a band alone
    positions = select_labels(found.placement, found.bands, found.k, outcome=outcome, band=band)
    area = _find_area(found)
    if area is not None:
        positions = positions[np.isin(found.placement.truth.indices[positions], area.ids)]
    return ErrorChoice(outcome, band, positions, area)


def _find_area(found: Findings) -> MapChoice | None:
    """Return the labels that were chosen on the map, if these alone are wanted; say so where there are none."""
    if not state.view().chosen:
        return None
    area = chosen_labels.find_chosen(found)
    if area.is_empty:
        state.fall_back("chosen", False, "The labels chosen on the map are not there any more; all labels are listed.")
        return None
    return area


def choose(outcome: str, band: str = "") -> None:
    """List the true labels with this outcome; what was looked at in detail is not among them, perhaps."""
    state.update(outcome=outcome, band=band, label="", other="")


def show_chips(found: Findings, choice: ErrorChoice) -> None:
    """Show how many are listed, and each filter with a way to remove it."""
    st.caption(choice.summary, width="content")
    show_area_chip(choice)
    if choice.outcome == FITTING:
        plural = "" if found.k == 1 else "s"
        _show_chip(f"documents with at most {found.k} label{plural}", "fitting", outcome=MISSED)
        return
    if choice.band:
        _show_chip(name_band(choice.band), "band", outcome=choice.outcome)
    if choice.outcome != MISSED:
        ranks = next((each.name for each in found.outcomes.ranks if each.id == choice.outcome), choice.outcome)
        _show_chip(ranks, "outcome", outcome=MISSED if choice.band else "", band=choice.band)
    elif not choice.band:
        _show_chip("all documents", "all", outcome="")


def show_area_chip(choice: ErrorChoice) -> None:
    """Show which labels of the map are listed, with a way to list all."""
    if choice.area is not None:
        n = len(choice.area.ids)
        st.button(
            f"{widgets.escape_text(choice.area.title)} ×",
            key="errors_chip_area",
            help=f"{count_noun(n, 'label')} chosen on the map. Remove this filter",
            on_click=state.update,
            kwargs={"chosen": False, "label": "", "other": ""},
        )


def _show_chip(words: str, name: str, *, outcome: str, band: str = "") -> None:
    st.button(f"{words} ×", key=f"errors_chip_{name}", help="Remove this filter", on_click=choose, args=(outcome, band))
