"""The drawer beside the label map: what the chosen labels come to; without a choice all regions, weakest first."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st
from xcwork_app import caches, navigation, tokens, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list, split_path
from xcwork_app.panels.label_map import map_choice
from xcwork_app.views import doubtful_labels, selection
from xcwork_app.views.chosen_labels import MapChoice
from xcwork_app.views.label_vectors import get_label_vectors
from xcwork_app.views.map_content import MapContent

from xcwork.analysis.map_selection import SelectionFacts
from xcwork.analysis.outcomes import MISSED
from xcwork.errors import XcworkError
from xcwork.export.text import count_noun

MAX_ROWS = 6  # of each list, so that all of them can be seen
MAX_ALL_ROWS = 1000
N_NEAREST = 8


def show_selection(content: MapContent, choice: MapChoice, facts: SelectionFacts) -> None:
    """Show the chosen labels: how many are found, why not all, where to look, and where to go on."""
    _show_title(choice, facts)
    if choice.label is not None and choice.label not in content.run_map.layout.ids:
        st.caption("This label has no vector in this run, so it has no place on the map.")
    if facts.n_true:
        _show_share(facts, caches.glance(content.run).number)
    else:
        st.caption("No test document has one of these labels, so it is not known whether they are found.")
    if facts.why:
        st.html(
            '<div style="background: var(--warning_ground); color: var(--warning); border-radius: 7px; '
            f'padding: .5rem .65rem; font-size: .9333rem; line-height: 1.2667rem">{facts.why}</div>'
        )
    if choice.label is None:
        _show_missed(content, choice, facts)
    _show_documents(facts)
    if choice.label is not None:
        _show_nearest(content, choice.label)
    _show_confusions(content, facts)


def _show_title(choice: MapChoice, facts: SelectionFacts) -> None:
    path, name = split_path(choice.title) if choice.label is not None else ("", choice.title)
    with st.container(horizontal=True, vertical_alignment="top", key="map_drawer_title"):
        with st.container(gap=None):
            if path:
                st.caption(widgets.escape_text(path))
            st.subheader(widgets.escape_text(name), anchor=False)
            counted = f"{count_noun(facts.n_labels, 'label')} in your selection"
            st.caption(counted if choice.label is None else "one label")
        st.button(
            "",
            key="label_map.clear",
            icon=":material/close:",
            type="tertiary",
            help="Clear the selection (Esc)",
            on_click=map_choice.choose,
        )


def _show_share(facts: SelectionFacts, number: int) -> None:
    """Show the share that is found as a bar with a line at the average."""
    share, average = 100 * facts.share, 100 * facts.average
    colour = tokens.get_look(number).colour
    mark = "" if math.isnan(average) else f'<i style="left: {average:.1f}%"></i>'
    st.html(
        f'<div class="xc-share"><b>{share:.0f} %</b> found, {facts.n_found:,} of {facts.n_true:,} true labels'
        f'<div><span style="width: {share:.1f}%; background: {colour}"></span>{mark}</div>'
        f"<p>{average:.0f} % on average</p></div>"
    )


def _show_missed(content: MapContent, choice: MapChoice, facts: SelectionFacts) -> None:
    key = "label_map.all"
    widgets.show_section("Most often missed" if not st.session_state.get(key) else "All labels")
    counts = [(each.label, each.name, each.found, each.total) for each in facts.most_missed[:MAX_ROWS]]
    if st.session_state.get(key):
        names = content.found.dataset.labels.names
        hits, in_test = content.facts.hits, content.facts.in_test
        order = choice.ids[np.argsort(hits[choice.ids] - in_test[choice.ids], kind="stable")][:MAX_ALL_ROWS].tolist()
        counts = [(label, names[label], int(hits[label]), int(in_test[label])) for label in order]
    rows = [
        LabelRow(
            str(label),
            shown,
            hint=name,
            share=found / total if total else None,
            value=f"{found:,} of {total:,}" if total else "",
        )
        for (label, name, found, total), shown in zip(counts, shorten_names([each[1] for each in counts]), strict=True)
    ]
    show_label_list(
        [LabelGroup(rows)],
        key="map_missed",
        label="Most often missed",
        on_choose=lambda label: _choose_label(content, label),
        colour=tokens.get_look(caches.glance(content.run).number).colour,
        is_compact=True,
        empty="None of them is missed.",
    )
    if len(choice.ids) > len(rows) or st.session_state.get(key):
        text = "Most often missed" if st.session_state.get(key) else f"All {len(choice.ids):,} labels"
        st.button(text, key="label_map.show_all", type="tertiary", on_click=_turn, args=(key,))


def shorten_names(names: Sequence[str]) -> list[str]:
    """Return the last parts of names that are paths, where these tell them apart."""
    short = [split_path(name)[1] for name in names]
    return short if len(set(short)) == len(names) else list(names)


def _turn(key: str) -> None:
    st.session_state[key] = not st.session_state.get(key, False)


def _choose_label(content: MapContent, label: str) -> None:
    map_choice.choose(label=content.found.dataset.labels.names[int(label)])


def _show_documents(facts: SelectionFacts) -> None:
    if not facts.documents:
        return
    widgets.show_section("Documents that miss them")
    rows = [
        LabelRow(str(each.document), each.name, value=f"{each.n_missed:,} missed")
        for each in facts.documents[:MAX_ROWS]
    ]
    note = f"The first {len(rows)} of {facts.n_missing_documents:,}" if facts.n_missing_documents > len(rows) else ""
    chosen = show_label_list([LabelGroup(rows, note=note)], key="map_documents", label="Documents that miss them")
    if chosen is not None and chosen.isdecimal():
        navigation.open_test_document(int(chosen))


def _show_confusions(content: MapContent, facts: SelectionFacts) -> None:
    if not facts.confusions:
        return
    names = content.found.dataset.labels.names
    widgets.show_section("Confused with", help="Listed in documents that miss the label; joined by lines on the map")
    rows = [
        LabelRow(
            f"{each.label}-{each.other}",
            split_path(names[each.other])[1],
            below=f"instead of {split_path(names[each.label])[1]}",
            value=count_noun(each.n_documents, "document"),
        )
        for each in facts.confusions[:MAX_ROWS]
    ]
    show_label_list(
        [LabelGroup(rows)],
        key="map_confusions",
        label="Confused with",
        on_choose=lambda pair: _choose_label(content, pair.rpartition("-")[2]),
    )


def find_nearest(content: MapContent, label: int) -> list[int]:
    """Return the labels nearest to one; none where the model is gone or has no vectors."""
    try:
        ids = get_label_vectors(content.found).find_nearest(label, N_NEAREST)[0]
    except (XcworkError, OSError):
        return []
    return [each for each in ids.tolist() if each < len(content.found.dataset.labels)]


def _show_nearest(content: MapContent, label: int) -> None:
    from xcwork.analysis.neighbours import find_nearest_labels

    with widgets.catch_errors():
        table = find_nearest_labels(get_label_vectors(content.found), content.found.dataset, label, k=N_NEAREST)
        widgets.show_section("Nearest labels", help="By the angle between their vectors; joined by lines on the map")
        rows = [
            LabelRow.from_label(
                str(row.label_id),
                str(row.label),
                share=float(row.similarity),
                value=f"{row.similarity:.2f}",
                below=_describe_pair(int(row.shared_documents), str(row.shared_terms)),
            )
            for row in table.itertuples()
        ]
        show_label_list(
            [LabelGroup(rows)],
            key="map_nearest",
            label="Nearest labels",
            on_choose=lambda chosen: _choose_label(content, chosen),
            colour=tokens.COLOURS["against"],
            empty="This label has no vector, so nothing says what lies near it.",
        )


def _describe_pair(shared: int, terms: str) -> str:
    together = f"{count_noun(shared, 'training document')} with both" if shared else "never together"
    return f"{together} · {terms}" if terms else together


def show_ways_on(content: MapContent, choice: MapChoice, facts: SelectionFacts) -> None:
    """Show the pages that go on from the chosen labels, and the export."""
    names = content.found.dataset.labels.names
    label = choice.label if choice.label is not None else next((each.label for each in facts.most_missed), None)
    document = next((each.document for each in facts.documents), None)
    table = content.found.labels
    with st.container(horizontal=True, key="map_drawer_foot"):
        if label is not None and st.button(
            "Open in Errors",
            key="label_map.errors",
            type="primary",
            help="Where it is missed" if choice.label is not None else "The misses of all chosen labels",
        ):
            _open_errors(names, choice)
        if document is not None and st.button("Predict", key="label_map.predict", help="A document that misses them"):
            navigation.open_test_document(document, label="" if label is None else names[label])
        if navigation.has_page("review") and st.button(
            "Review", key="label_map.review", help="The first doubtful document of these labels"
        ):
            _open_review(content, choice)
        widgets.show_export_button(
            lambda: table[table["label_id"].isin(choice.ids)], key="label_map.csv", name="chosen-labels"
        )


def _open_errors(names: Sequence[str], choice: MapChoice) -> None:
    """Open Errors on the chosen label, or on the misses of all labels in the region or the lasso."""
    if choice.label is not None:
        navigation.open_from_list("errors", label=names[choice.label], section="", chosen=False)
    navigation.open_from_list("errors", label="", other="", section="", outcome=MISSED, band="", chosen=True)


def _open_review(content: MapContent, choice: MapChoice) -> None:
    """Open Review on the first item about one of the chosen labels; without any, say so and stay."""
    with widgets.catch_errors():
        found = doubtful_labels.find_first_item(content.run, selection.get_source(), choice.ids)
        if found is not None:
            navigation.open_from_list("review", queue=found[0], item=found[1])
        st.toast("Nothing about these labels waits in Review.")


def show_regions(content: MapContent) -> None:
    """Show all regions, weakest first, and the labels without a place."""
    st.subheader("Regions", anchor=False)
    st.caption("Click a name, or draw around labels.")
    scores = sorted(content.scores, key=lambda each: (not each.is_weak, each.high, each.region))
    regions = content.run_map.regions.regions
    shown = [each for each in scores if regions[each.region].level == 0 or each.is_weak]
    rows = {
        each.region: LabelRow(
            str(each.region),
            regions[each.region].name,
            share=each.share if each.n_true else None,
            value=f"{100 * each.share:.0f} %" if each.n_true else "",
            note=f"{regions[each.region].n_labels:,} labels",
        )
        for each in shown
    }
    weak = [rows[each.region] for each in shown if each.is_weak]
    others = [rows[each.region] for each in shown if not each.is_weak]
    show_label_list(
        [LabelGroup(weak, title="Weaker than the average"), LabelGroup(others, title="Others" if weak else "")],
        key="map_regions",
        label="Regions",
        on_choose=lambda row: map_choice.choose(region=content.names[int(row)]),
        colour=tokens.get_look(caches.glance(content.run).number).colour,
        empty="These labels form no regions.",
    )
    _show_labels_without_place(content)


def _show_labels_without_place(content: MapContent) -> None:
    missing = content.run_map.layout.find_missing()
    if not len(missing):
        return
    with st.expander(f"{count_noun(len(missing), 'label')} without a place"):
        names = content.found.dataset.labels.names
        rows = [LabelRow.from_label(str(label), names[label]) for label in missing[:MAX_ALL_ROWS].tolist()]
        show_label_list(
            [LabelGroup(rows)],
            key="map_without_place",
            label="Labels without a place",
            on_choose=lambda chosen: _choose_label(content, chosen),
        )
