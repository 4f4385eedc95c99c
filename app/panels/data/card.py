"""The head of a dataset: its name, six figures, a verdict in one sentence, and the checks behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, navigation, widgets
from xcwork_app.panels.shared import row_menu
from xcwork_app.sources import Source

from xcwork.paths import find_home

if TYPE_CHECKING:
    from xcwork.data.card import Card
    from xcwork.data.profile import DatasetProfile

FIGURE_WIDTHS = (1.2, 1.0, 0.7, 1.05, 1.25, 0.9)  # of the six figures
MIN_LANGUAGE_SHARE = 0.005  # of the texts, to be named


def get_profile(source: Source) -> DatasetProfile:
    """Return what a dataset looks like, computed once."""
    return _make_profile(source.id, str(find_home()), source.make_stamp())


@st.cache_resource(max_entries=20, show_spinner=False)
def _make_profile(identity: str, folder: str, stamp: str) -> DatasetProfile:
    from xcwork.data.profile import make_profile

    source = Source.from_id(identity)
    return make_profile(caches.get_dataset(source), caches.get_card(source))


def show_head(source: Source, card: Card, profile: DatasetProfile) -> None:
    """Show name, figures and verdict."""
    with st.container(key="data_title", horizontal=True, vertical_alignment="center"):
        st.subheader(widgets.escape_text(source.title), anchor=False, help=_describe_reading(card))
        row_menu.show_dataset_menu(source, key="data.menu")
        if st.button("Train on it", type="primary", icon=":material/arrow_forward:", key="data.train"):
            navigation.go_to("train")
    with st.container(key="data_figures"):
        figures = _list_figures(card)
        for column, (name, value, help) in zip(st.columns(FIGURE_WIDTHS), figures, strict=True):
            column.metric(name, value, help=help)
    with st.container(key="data_verdict", horizontal=True, vertical_alignment="center"):
        st.markdown(widgets.escape_text(profile.verdict))
        is_sound = profile.n_passed == len(profile.checks) and not card.problems
        with st.popover(
            f"{profile.n_passed} of {len(profile.checks)} checks passed",
            key="data.checks",
            icon=":material/check_circle:" if is_sound else ":material/warning:",
        ):
            show_checks(card, profile)


def _list_figures(card: Card) -> list[tuple[str, str, str | None]]:
    unseen = f"{card.unseen_share_of_test:.1f} % of all labels in test documents"
    return [
        ("Training documents", f"{card.n_train:,}", None),
        ("Test documents", f"{card.n_test:,}", None),
        ("Labels", f"{card.n_labels:,}", None),
        ("Unseen labels", f"{card.n_unseen_labels:,}", f"Labels that no training document has: {unseen}."),
        ("Labels per document", f"{card.labels_per_document:.1f}", None),
        ("Features", f"{card.n_features:,}", "Distinct terms or measurements that describe the documents."),
    ]


def _describe_reading(card: Card) -> str | None:
    """Return where the data come from and how the files were read."""
    sentences = [card.source, *(note[:1].upper() + note[1:] + "." for note in card.notes)]
    return "  \n".join(widgets.escape_text(each) for each in sentences if each) or None


def show_checks(card: Card, profile: DatasetProfile) -> None:
    """Show what was checked, and what was found."""
    for problem in card.problems:
        st.warning(widgets.escape_text(problem[:1].upper() + problem[1:] + "."), icon=":material/warning:")
    passed = [f":green[:material/check:] {check.name}" for check in profile.checks if check.is_passed]
    if passed:
        st.markdown("  \n".join(passed))
    st.markdown("  \n".join(_describe_texts(card, profile)))
    constants = card.propensity
    source = widgets.escape_text(constants["source"])
    st.caption(
        f"Propensity for PSP@k: A = {constants['A']}, B = {constants['B']} ({source}). "
        f"In memory: {widgets.format_megabytes(card.memory_bytes / 1e6)}."
    )


def _describe_texts(card: Card, profile: DatasetProfile) -> list[str]:
    """Return what is known about languages and about documents that are labels themselves."""
    shares = {name: share for name, share in profile.languages.items() if share >= MIN_LANGUAGE_SHARE}
    languages = ", ".join(f"{name} {100 * share:.0f} %" for name, share in shares.items())
    told = languages or ("not recognised" if card.has_texts else "no texts")
    read = f"; read as {card.name_languages()}" if card.languages else ""
    n_links = sum(card.self_links.values())
    linked = f"{n_links:,} documents are labels themselves" if n_links != 1 else "1 document is a label itself"
    return [
        f"**Languages:** {told}{read}",
        f"**Self links:** {linked + ' and never predicted for themselves' if n_links else 'none'}",
    ]
