"""The best run in three plain facts, three questions it can answer, and a text to try it with."""

from __future__ import annotations

from html import escape

import streamlit as st
from xcwork_app import caches, navigation, tokens, widgets
from xcwork_app.sources import Source
from xcwork_app.views import home_facts

from xcwork.runs import Run

QUESTIONS = (
    ("predict", "What does it predict?"),
    ("errors", "Where does it fail?"),
    ("decisions", "Which labels can I assign?"),
)
MAX_TEXT_CHARACTERS = 200_000
N_SUGGESTIONS = 5


def show(run: Run, source: Source) -> None:
    """Show the card of the run."""
    where = {"data": source.id, "run": run.id}
    with st.container(border=True, key="home_hero"):
        facts = home_facts.get_run_facts(run, source)
        if facts is not None:
            st.html(_describe_run(run, source, facts))
        with st.container(horizontal=True, key="home_questions"):
            for page, question in QUESTIONS:
                is_first = page == QUESTIONS[0][0]
                if navigation.has_page(page) and st.button(
                    question, key=f"home.{page}", type="primary" if is_first else "secondary"
                ):
                    navigation.go_to(page, **where)
        if caches.glance(run).measured.get("takes_text"):
            _show_trial(run, where)


def show_without_run() -> None:
    """Say how to get a first run."""
    with st.container(border=True, key="home_hero"):
        st.markdown("Nothing has been trained yet. A first run shows what this is about.")
        if st.button("Train BM25, it takes a second", key="home.first", type="primary"):
            navigation.go_to("train", method="bm25")


def _describe_run(run: Run, source: Source, facts: home_facts.RunFacts) -> str:
    sizes = f"{facts.n_labels:,} labels, {facts.n_test:,} test documents"
    shown = [
        (f"{facts.first_right:.0f} of 100", "first suggestions are right", f"(P@1 {facts.first_right:.1f})"),
    ]
    if facts.share_of_best is not None:
        of_most = f"({facts.precision:.1f} of at most {facts.highest_precision:.1f})"
        shown.append((f"{facts.share_of_best:.0f} %", "of the best possible P@5", of_most))
    else:
        shown.append((f"{facts.precision:.1f}", "P@5", ""))
    if facts.unseen_found is not None:
        shown.append((f"{facts.unseen_found:.0f} %", "found of labels that no", "training document has"))
    cells = "".join(f"<div><b>{figure}</b><span>{text}<br>{more}</span></div>" for figure, text, more in shown)
    return (
        f'<div class="home-best"><span>Best run on {escape(source.title)}</span>'
        f"<span>{tokens.make_mark(caches.glance(run).number)}<b>{escape(run.name)}</b></span>"
        f'<span>{sizes}</span></div><div class="home-facts">{cells}</div>'
    )


def _show_trial(run: Run, where: dict[str, str]) -> None:
    """Let somebody type a text, and show its first labels below it."""
    with st.container(horizontal=True, key="home_trial", vertical_alignment="center"):
        text = st.text_input(
            "Try it",
            key="home.text",
            placeholder="Try it: type or paste a text and press Enter",
            label_visibility="collapsed",
            persist_state="session",
        ).strip()
        if text and st.button("Why?", key="home.why", help="See the evidence for each label"):
            navigation.open_own_text(text, **where)
    if text and not widgets.warn_if_too_long(text, MAX_TEXT_CHARACTERS, "text"):
        with widgets.catch_errors():
            st.html(_suggest_labels(run, text))


def _suggest_labels(run: Run, text: str) -> str:
    """Return the first labels of a text as chips, with percentages where the run has them."""
    from xcwork.analysis.unknown_text import describe_unknown_text

    model = caches.get_model(run)
    is_calibrated = model.calibration_ is not None
    predicted = model.predict([text], min(N_SUGGESTIONS, len(model.labels_)), proba=is_calibrated)
    found = predicted.get_row(0)
    if note := describe_unknown_text(model, [text], n_suggested=len(found)):
        return f'<div class="home-chips"><i>{escape(note)}</i></div>'
    names = [model.labels_.names[label] for label in predicted.ids[0][: len(found)].tolist()]
    shares = [""] * len(names)
    if is_calibrated and predicted.probabilities is not None:
        shares = [f" <b>{100 * share:.0f} %</b>" for share in predicted.probabilities[0].tolist()]
    chips = "".join(
        f'<span title="{escape(name, quote=True)}">{escape(name)}{share}</span>'
        for name, share in zip(names, shares, strict=False)
    )
    return f'<div class="home-chips">{chips}</div>'
