"""Which runs are compared, with which reference, and which labels count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import streamlit as st
from xcwork_app import caches, state, tokens, widgets
from xcwork_app.sources import Source
from xcwork_app.views import run_comparison, selection
from xcwork_app.views.run_comparison import ComparedRuns

from xcwork.export.text import count_noun
from xcwork.runs import Run

MAX_RUNS = 20
MAX_RUNS_AT_HAND = 200  # a list of more is sent to the browser when it is opened, not with every page
BOX_PIXELS = 200
NONE = "none"  # as `View.runs`: nothing is chosen, which is not the same as the usual choice
SCOPES = {"metrics": "All", "seen": "Seen in training", "unseen": "Unseen"}


def warn_about_incomplete_runs(incomplete: list[Run]) -> None:
    """Name the runs whose folders were copied by half, so that nobody looks for them in vain."""
    if incomplete:
        names = ", ".join(widgets.escape_text(run.name) for run in incomplete)
        st.warning(
            f"Left out because their predictions are missing from the run folder: {names}. Copy the folder "
            "again, or train again.",
            icon=":material/warning:",
        )


def choose_runs(source: Source, measured: list[Run]) -> ComparedRuns:
    """Return the chosen ones of the measured runs (best first); perhaps none."""
    offered = {run.id: run for run in measured}
    picked = _resolve_runs(offered, list(offered)[: run_comparison.MAX_USUAL_RUNS])
    is_long, title = len(offered) > MAX_RUNS_AT_HAND, f"{len(picked)} of {count_noun(len(offered), 'run')}"
    menu = st.popover(title, key="compare.choice", on_change="rerun" if is_long else "ignore")
    if is_long and not menu.open:
        return ComparedRuns.from_runs([run for name, run in offered.items() if name in picked], source)
    titles = list_titles(offered)
    with menu:
        st.session_state["compare.runs"] = picked
        chosen = st.multiselect(
            "Runs",
            list(offered),
            format_func=titles.__getitem__,
            max_selections=MAX_RUNS,
            key="compare.runs",
            on_change=lambda: state.update(runs=",".join(st.session_state["compare.runs"]) or NONE),
        )
    return ComparedRuns.from_runs([run for name, run in offered.items() if name in chosen], source)


def list_titles(offered: Mapping[str, Run]) -> dict[str, str]:
    """Return what runs are called in the list, by their ids; of equal titles the list would offer only one."""
    titles = {name: selection.describe_run(run) for name, run in offered.items()}
    counts = Counter(titles.values())
    return {name: title if counts[title] == 1 else f"{title} · {name}" for name, title in titles.items()}


def _resolve_runs(offered: Collection[str], usual: list[str]) -> list[str]:
    """Return the runs that the view names; those that are gone are left out, and a note says so."""
    named = state.view().runs
    if named in ("", NONE):
        return [] if named else usual
    found = [name for name in dict.fromkeys(named.split(",")) if name in offered][:MAX_RUNS]
    if len(found) < len(named.split(",")) and state.asks_for("runs", named):
        gone = ", ".join(state.quote(name) for name in named.split(",")[:MAX_RUNS] if name not in found)
        instead = "the others are compared" if found else "the best ones are compared instead"
        state.fall_back("runs", ",".join(found), f"Not among the runs with results here: {gone}; {instead}.")
    return found or usual


def choose_reference(chosen: ComparedRuns) -> str:
    """Return the run that the others are compared with; "" when fewer than two can be."""
    usable = run_comparison.list_comparable_runs(chosen)
    if len(usable) < 2:
        return ""
    current = selection.get_run()
    usual = current.id if current is not None and current.id in usable else usable[0]
    reference = state.pick_option("reference", usable, usual, chosen.names[usual])
    _show_label("Reference")
    return _choose_run(chosen, "Reference", "reference", usable, reference)


def choose_other(chosen: ComparedRuns, reference: str) -> str:
    """Return the run whose documents are compared with those of the reference."""
    others, other = resolve_others(chosen, reference), resolve_other(chosen, reference)
    return _choose_run(chosen, "Against", "against", others, other)


def _choose_run(chosen: ComparedRuns, label: str, field: str, offered: list[str], run: str) -> str:
    """Show a select box of runs with the mark of the chosen one, for a field of the view."""
    key = f"compare.{field}"
    st.session_state[key] = run
    with st.container(key=f"compare_{field}", width=BOX_PIXELS):
        st.html(tokens.make_mark(caches.glance(chosen.find_run(run)).number))
        return st.selectbox(
            label,
            offered,
            format_func=chosen.names.__getitem__,
            key=key,
            label_visibility="collapsed",
            on_change=lambda: state.update(**{field: st.session_state[key], "change": ""}),
        )


def resolve_others(chosen: ComparedRuns, reference: str) -> list[str]:
    """Return the runs that can be compared with the reference."""
    return [run for run in run_comparison.list_comparable_runs(chosen) if run != reference]


def resolve_other(chosen: ComparedRuns, reference: str) -> str:
    """Return the run that the view compares with the reference, or the best other one."""
    others = resolve_others(chosen, reference)
    if state.view().against == reference:  # it was just made the reference
        return others[0]
    return state.pick_option("against", others, others[0], chosen.names[others[0]])


def choose_scope() -> str:
    """Return which labels compete and count."""
    _show_label("Labels")
    return widgets.choose_field(
        "Labels",
        "scope",
        SCOPES,
        key="compare.scope",
        help="Seen and unseen: only labels with, or without, a training document compete, and only they count.",
        hidden=True,
    )


def _show_label(words: str) -> None:
    st.caption(words, width="content")
