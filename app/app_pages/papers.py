"""Papers: do the five papers hold what they claim? Cards, filters, and the ledger of claims."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd
from xcwork_app import state, widgets
from xcwork_app.page_header import show_page_header
from xcwork_app.panels.papers import ledger, paper_cards

from xcwork.published.claims import COLUMNS, PAPERS, read_claims

header = show_page_header("papers")
claims = read_claims()
state.pick_option("paper", ["", *PAPERS], "", "the whole ledger")
paper_cards.show_cards(claims)
shown = ledger.choose_claims(claims)
with header.actions:
    widgets.show_export_button(
        lambda: pd.DataFrame([asdict(claim) for claim in shown], columns=list(COLUMNS)), key="papers.csv", name="claims"
    )
view = state.view()
filters = {"--paper": view.paper.lower(), "--verdict": view.verdict.replace(" ", "-"), "--find": view.q}
header.show_command(["papers", *(word for flag, value in filters.items() if value for word in (flag, value))])
ledger.show_ledger(shown)
