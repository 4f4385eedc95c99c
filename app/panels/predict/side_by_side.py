"""Several runs on one document: one column per run, the same label on one line."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches, state, tokens, widgets
from xcwork_app.components.label_list import split_path
from xcwork_app.views import document_prediction, selection
from xcwork_app.views.document_prediction import ChosenDocument

from xcwork.viz.run_dots import drop_common_words

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.core.topk import TopK
    from xcwork.runs import Run

MAX_RUNS = 4
N_USUAL_RUNS = 2
RUNS = "predict.runs"


def show(chosen: ChosenDocument, run: Run, dataset: Dataset) -> None:
    """Show the ranks of the labels in several runs."""
    others = {each.id: each for each in _rank_finished_runs() if each.id != run.id}
    with st.container(key="predict_card", border=True):
        if not others:
            st.markdown("There is no second finished run on this dataset to compare with.")
            return
        names = {each.id: caches.get_record(each)["name"] for each in others.values()}
        picked = st.multiselect(
            "Beside this run",
            list(others),
            default=list(others)[:N_USUAL_RUNS],
            format_func=lambda each: names.get(each, each),
            max_selections=MAX_RUNS - 1,
            key=RUNS,
            persist_state="session",
            placeholder="Choose runs",
            label_visibility="collapsed",
        )
        runs = [run, *(others[each] for each in picked)]
        found: dict[str, TopK] = {}
        for each in runs:
            with widgets.catch_errors(each.name):
                found[each.id] = document_prediction.predict_document(each, caches.get_model(each), chosen)
        shown = [each for each in runs if each.id in found]
        table = align_ranks({each.id: found[each.id] for each in shown}, chosen, dataset, k=state.view().k)
        st.html(_make_table(table, shown, has_truth=chosen.truth is not None))


def _rank_finished_runs() -> list[Run]:
    """Return the finished runs on the dataset, best first."""
    runs = selection.list_runs(selection.get_source())
    seen = zip(runs, caches.glance_at(runs), strict=True)
    finished = [(each.record["metrics"].get("P@1", 0.0), run) for run, each in seen if each.status.state == "finished"]
    return [run for _, run in sorted(finished, key=lambda pair: -pair[0])]


def align_ranks(
    predictions: dict[str, TopK], chosen: ChosenDocument, dataset: Dataset, *, k: int
) -> list[dict[str, object]]:
    """Return one row per label among the first k of any run or annotated: its rank in each, by the first run's order.

    A rank is None where a run does not list the label.
    """
    ranks = {run: {label: at + 1 for at, (label, _) in enumerate(topk.get_row(0))} for run, topk in predictions.items()}
    labels = {label for each in ranks.values() for label, rank in each.items() if rank <= k} | (chosen.truth or set())
    unlisted = 1 + max((len(each) for each in ranks.values()), default=0)

    def order(label: int) -> tuple[int, ...]:
        return (*(each.get(label, unlisted) for each in ranks.values()), label)

    return [
        {
            "label": dataset.labels.names[label],
            "is_annotated": None if chosen.truth is None else label in chosen.truth,
            "ranks": {run: each.get(label) for run, each in ranks.items()},
        }
        for label in sorted(labels, key=order)
    ]


def format_name(name: str) -> str:
    """Return a name as HTML that may wrap after dots and underscores."""
    return escape(name).replace("_", "_<wbr>").replace(".", ".<wbr>")


def _make_table(rows: list[dict[str, object]], runs: list[Run], *, has_truth: bool) -> str:
    names = [str(caches.get_record(each)["name"]) for each in runs]
    heads = "".join(
        f'<th title="{escape(name)}">{tokens.make_mark(caches.glance(each).number)}'
        f"<span>{format_name(short)}</span></th>"
        for each, name, short in zip(runs, names, drop_common_words(names), strict=True)
    )
    lines = []
    for row in rows:
        path, name = split_path(str(row["label"]))
        sign = ""
        if has_truth:
            kind = "right" if row["is_annotated"] else "wrong"
            word = "annotated" if row["is_annotated"] else "not annotated"
            sign = f'<span class="predict-sign {kind}" title="{word}">{tokens.SIGNS[kind]}</span>'
        ranks = row["ranks"]
        assert isinstance(ranks, dict)
        cells = "".join(f"<td>{'–' if rank is None else rank}</td>" for rank in ranks.values())
        lines.append(
            f'<tr><td class="predict-name"><div>{sign}<span><small>{escape(path)}</small> {format_name(name)}</span>'
            f"</div></td>{cells}</tr>"
        )
    note = "Ranks; – means not among the first 100." + (" ✓ annotated, ✗ not annotated." if has_truth else "")
    return (
        f'<table class="predict-ranks"><thead><tr><th>Label</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody>'
        f'</table><p class="predict-note">{note}</p>'
    )
