"""The ledger: filters with counts, a row per claim, and the open row with its reasons and next steps."""

from __future__ import annotations

import streamlit as st
from xcwork_app import dialogs, navigation, state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, ListColumn, show_label_list
from xcwork_app.views.claim_links import list_next_steps

from xcwork.published.claims import OPEN, VERDICTS, Claim, count_verdicts, select_claims

STEP = "papers.step"  # key of the session: the button of a row that was pressed just now
COLUMNS = (
    ListColumn("Paper", "8.5rem"),
    ListColumn("Claim", "minmax(0, 2.1fr)"),
    ListColumn("They report", "minmax(0, 1.2fr)"),
    ListColumn("We measure", "minmax(0, 1.5fr)"),
    ListColumn("Verdict", "8.2rem"),
)


def choose_claims(claims: tuple[Claim, ...]) -> list[Claim]:
    """Show the filters and return the rows that pass them; the counts are those of the other filters."""
    view = state.view()
    others = select_claims(claims, paper=view.paper, text=view.q)
    counts = count_verdicts(others)
    options = {"": f"All {len(others)}"} | {verdict: f"{verdict} {counts[verdict]}" for verdict in VERDICTS}
    with st.container(key="papers_bar", horizontal=True, vertical_alignment="center"):
        verdict = widgets.choose_field("Verdict", "verdict", options, key="papers.verdict", hidden=True)
        # A key of its own for each search, so that Back brings the former text into the field.
        key = f"papers.find.{view.q}"
        st.text_input(
            "Find a claim",
            view.q,
            key=key,
            max_chars=200,
            placeholder="Find a claim",
            label_visibility="collapsed",
            on_change=lambda: state.update(q=" ".join(st.session_state[key].split()), claim=""),
        )
        st.space("stretch")
        st.caption("Click a claim to open it", width="content")
    return select_claims(others, verdict=verdict)


def show_ledger(claims: list[Claim]) -> None:
    """Show the rows; the open one has its reasons below it."""
    if not claims:
        with st.container(border=True, key="papers_table"):
            st.markdown("No claim matches these filters.")
            st.button("Clear", key="papers.clear", on_click=lambda: state.update(paper="", verdict="", q="", claim=""))
        return
    chosen = _resolve_claim(claims)
    show_label_list(
        [LabelGroup([make_row(claim, claim.id == chosen) for claim in claims])],
        key="papers_table",
        label="Claims",
        selected=chosen,
        on_choose=lambda row: state.update(claim="" if row == state.view().claim else row),
        on_action=_remember_step,
        columns=COLUMNS,
        height="window",
        has_border=True,
    )
    follow_step()


def _resolve_claim(claims: list[Claim]) -> str:
    """Return the open row; one that is not listed is said to be missing."""
    wanted = state.view().claim
    if wanted and wanted not in {claim.id for claim in claims}:
        note = f"There is no claim {state.quote(wanted)} among these; none is open."
        state.fall_back("claim", "", note if state.asks_for("claim", wanted) else "")
        return ""
    return wanted


def make_row(claim: Claim, is_open: bool) -> LabelRow:
    """Return a claim as a row; what stands below it is made for the open one alone."""
    return LabelRow(
        claim.id,
        claim.paper,
        below=claim.where,
        cells=(claim.claim, claim.published, claim.measured or "not measured here"),
        verdict=claim.verdict,
        details=describe_claim(claim) if is_open else (),
        actions=tuple((step.id, step.title) for step in list_next_steps(claim)) if is_open else (),
    )


def describe_claim(claim: Claim) -> tuple[tuple[str, str], ...]:
    """Return what stands below an open row: data and seeds, command, why this verdict."""
    seeds = f"{claim.data}, {claim.seeds} seed{'' if claim.seeds == '1' else 's'}" if claim.seeds else claim.data
    how = "Would be measured by" if claim.verdict == OPEN else "Command"
    parts = (("Data", seeds), (how, claim.command), ("Why", claim.note))
    return tuple((term, text) for term, text in parts if text)


def _remember_step(step: str) -> None:
    """Keep the pressed button until the page is drawn: a callback cannot open another page."""
    st.session_state[STEP] = step


def follow_step() -> None:
    """Do what the pressed button of a row says."""
    kind, _, target = st.session_state.pop(STEP, "").partition(":")
    if kind == "study":
        show_check(target)
    elif kind == "lab":
        navigation.open_from_list("labs", section=target)
    elif kind == "run":
        navigation.open_from_list("predict", run=target)
    elif kind == "train":
        navigation.open_from_list("train", method=target)


@dialogs.make_dialog("What the check finds", width="large")
def show_check(name: str) -> None:
    """Run a check of a theorem and show its sentence and its numbers."""
    import pandas as pd

    from xcwork.studies.catalogue import STUDIES, run_study

    if name not in STUDIES:
        st.markdown("There is no such check.")
        return
    with st.spinner("Checking …"), widgets.catch_errors():
        found = run_study(name)
        st.markdown(f"**{'Holds' if found.holds else 'Does not hold'}.** {widgets.escape_text(found.sentence)}")
        st.dataframe(pd.DataFrame(found.rows), hide_index=True)
        st.code(f"xcwork study {name}", language="bash")
