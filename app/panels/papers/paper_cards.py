"""The five papers as cards: who wrote it, one square per claim, and how many have which verdict."""

from __future__ import annotations

import streamlit as st
from xcwork_app import state

from xcwork.published.claims import PAPERS, SIGNS, VERDICTS, Claim, Paper, count_verdicts


def show_cards(claims: tuple[Claim, ...]) -> None:
    """Show the cards; a click limits the ledger to that paper, another click takes it back."""
    with st.container(key="papers_cards", horizontal=True):
        for paper in PAPERS.values():
            show_card(paper, [claim for claim in claims if claim.paper == paper.name])


def show_card(paper: Paper, claims: list[Claim]) -> None:
    """Show one card; its title is a button that the style sheet stretches over all of it."""
    is_chosen = state.view().paper == paper.name
    state_of_card = "chosen" if is_chosen else "other"
    with st.container(border=True, key=f"papers_card_{state_of_card}_{paper.name.lower().replace('-', '_')}"):
        st.button(
            paper.name,
            key=f"papers.card.{paper.name}",
            type="tertiary",
            on_click=lambda: state.update(paper="" if is_chosen else paper.name, claim=""),
            help=f"{paper.title}: {paper.source}",
        )
        st.html(render_squares(paper, claims))


def render_squares(paper: Paper, claims: list[Claim]) -> str:
    """Return authors, one square per claim in the order of the verdicts, and the counts with their signs."""
    ordered = sorted(claims, key=lambda claim: VERDICTS.index(claim.verdict))
    squares = "".join(f'<i class="papers-{claim.verdict.replace(" ", "-")}"></i>' for claim in ordered)
    counts = " ".join(
        f'<span title="{verdict}">{SIGNS[verdict]}&#8239;{count}</span>'
        for verdict, count in count_verdicts(claims).items()
        if count
    )
    return (
        f'<div class="papers-authors">{paper.authors}</div>'
        f'<div class="papers-squares" aria-hidden="true">{squares}</div><div class="papers-counts">{counts}</div>'
    )
