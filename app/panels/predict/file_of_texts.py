"""A file of texts: labels for all of them by a process of its own, a table of what it says, and exports."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import dialogs, state, widgets
from xcwork_app.panels.shared import calibration_note

from xcwork.decisions.choice import ASSIGN, SUGGEST
from xcwork.errors import XcworkError
from xcwork.runs import Run, prediction_jobs
from xcwork.runs.prediction_jobs import PredictionJob
from xcwork.runs.status import name_state

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.base import Method

JOB = "predict.job"
PASTED = "predict.pasted"
UPLOADED = "predict.upload"
PASTED_NAME = "pasted lines.txt"
LENGTH = "predict.k"
REFRESH_SECONDS = 1
MAX_SHOWN_TEXTS = 200
MAX_SHOWN_CHARACTERS = 160
ALL = "All"
FILTERS = {ALL: "all", "With an assigned label": "assigned", "Only suggestions": "suggested", "Nothing": "none"}
MIME_TYPES = {"csv": "text/csv", "jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}


def show(run: Run, model: Method) -> None:
    """Show where texts come from, how far the prediction is, and what it says."""
    if model.features_.vectorizer is None:
        widgets.show_empty("This dataset has no texts, so it cannot read yours.")
        return
    left, right = st.columns([2, 5], gap="large")
    with left:
        _ask_for_texts(run)
        if model.calibration_ is None:
            st.caption(calibration_note.describe_missing(run))
    with right, st.container(key="predict_file"):
        job = _choose_job(run)
        if job is None:
            widgets.show_empty("No file yet. Its labels will appear here and stay with the run.")
            return
        with widgets.catch_errors():
            _show_job(job)


def _ask_for_texts(run: Run) -> None:
    uploaded = st.file_uploader(
        "CSV, JSONL or TXT",
        type=[suffix.removeprefix(".") for suffix in prediction_jobs.SUFFIXES],
        key=UPLOADED,
        help="A CSV with a column `text` (or `title` and `content`), JSON lines with these, or one text per line.",
    )
    pasted = st.text_area("Or paste one text per line", key=PASTED, height=120, persist_state="session")
    st.session_state[LENGTH] = state.view().k
    st.number_input(
        "Labels per text",
        1,
        state.MAX_LENGTH,
        key=LENGTH,
        on_change=lambda: state.update(k=int(st.session_state[LENGTH])),
    )
    has_input = uploaded is not None or bool(pasted.strip())
    if st.button("Predict all", key="predict.start_file", type="primary", disabled=not has_input):
        with widgets.catch_errors("Not started"):
            if uploaded is not None:
                name, content = uploaded.name, uploaded.getvalue()
            else:
                lines = [line for line in pasted.splitlines() if line.strip()]
                name, content = PASTED_NAME, "\n".join(lines).encode("utf-8", "replace")
            job = prediction_jobs.create_job(run, name, content, k=state.view().k)
            prediction_jobs.start(job)
            state.update(job=job.id)


def _choose_job(run: Run) -> PredictionJob | None:
    """Return the chosen job, usually the newest one."""
    jobs = {job.id: job for job in prediction_jobs.list_jobs(run)}
    if not jobs:
        return None
    usual = next(iter(jobs))
    st.session_state[JOB] = state.pick_option("job", jobs, usual, "the newest one")
    titles = {name: _name_job(job) for name, job in jobs.items()}
    chosen = st.selectbox(
        "File",
        list(jobs),
        key=JOB,
        format_func=lambda name: titles.get(name, name),
        on_change=lambda: state.update(job=st.session_state[JOB]),
    )
    return jobs.get(chosen or "") or jobs[usual]


def _name_job(job: PredictionJob) -> str:
    try:
        request = job.request
    except XcworkError:
        return f"{job.id} · unreadable"
    return f"{request.name} · {request.n_documents:,} texts · {job.id[:8]}-{job.id[9:15]}"


def _show_job(job: PredictionJob) -> None:
    status = job.status
    if status.is_active:
        st.fragment(_show_progress, run_every=REFRESH_SECONDS)(job)
    elif status.state != "finished":
        st.warning(
            f"{widgets.escape_text(name_state(status.state).capitalize())}: {widgets.escape_text(status.message)}"
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        if status.state == "finished":
            _offer_exports(job)
        elif not status.is_active:
            st.button("Resume", key="predict.resume_file", on_click=_do, args=(prediction_jobs.start, job))
        if not status.is_active:
            st.button(
                "Delete",
                key="predict.delete_file",
                type="tertiary",
                icon=":material/delete:",
                on_click=_do,
                args=(prediction_jobs.delete, job),
                help="Removes the texts and their labels from the run.",
            )
    _show_answers(job)


def _do(action: Any, job: PredictionJob) -> None:
    with widgets.catch_errors():
        action(job)


def _show_progress(job: PredictionJob) -> None:
    """Show how far it is; when it is over the page is drawn again."""
    status = job.status
    if not status.is_active:
        dialogs.refresh_page()
    total = status.total or 0
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(
            min(1.0, status.step / total) if total else 0.0,
            text=f"{widgets.escape_text(status.phase or status.state)}: {status.step:,} of {total:,} texts",
        )
        st.button(
            "Cancel",
            key="predict.cancel_file",
            disabled=status.state == "cancelling",
            on_click=_do,
            args=(prediction_jobs.cancel, job),
        )


def _show_answers(job: PredictionJob) -> None:
    """Show the first texts with what is assigned and suggested."""
    has_decisions = job.request.decisions is not None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.segmented_control(
            "Texts",
            list(FILTERS),
            default=ALL,
            required=True,
            key="predict.file_filter",
            bind="query-params",
            label_visibility="collapsed",
        )
        wanted = FILTERS[chosen or ALL]
        search = st.text_input(
            "Search",
            key="predict.file_search",
            placeholder="Find a word or a label",
            icon=":material/search:",
            bind="query-params",
            label_visibility="collapsed",
        )
    rows = list(islice(_iterate_rows(job, wanted if has_decisions else "all", search or ""), MAX_SHOWN_TEXTS + 1))
    if not rows:
        st.caption("No text to show." if not job.status.is_active else "The first labels will appear soon.")
        return
    table = _make_table(rows[:MAX_SHOWN_TEXTS], has_decisions)
    st.dataframe(
        table,
        hide_index=True,
        key="predict.file_table",
        column_config={"text": st.column_config.TextColumn(width="medium")},
        alt=f"{len(table)} texts with their labels",
    )
    if len(rows) > MAX_SHOWN_TEXTS:
        st.caption(f"The first {MAX_SHOWN_TEXTS} texts; the exports hold all.")


def _iterate_rows(job: PredictionJob, wanted: str, search: str) -> Iterator[dict[str, Any]]:
    needle = search.strip().casefold()
    for answer in job.iterate_answers():
        words = {each.get("decision") for each in answer["predictions"]}
        kind = "assigned" if ASSIGN in words else "suggested" if SUGGEST in words else "none"
        if wanted not in ("all", kind):
            continue
        if needle and not any(
            needle in text.casefold() for text in (answer["text"], *(each["label"] for each in answer["predictions"]))
        ):
            continue
        yield answer


def _make_table(answers: list[dict[str, Any]], has_decisions: bool) -> pd.DataFrame:
    import pandas as pd

    from xcwork.analysis.paging import shorten_text

    rows = []
    for answer in answers:
        row = {"number": answer["document"], "text": shorten_text(answer["text"], MAX_SHOWN_CHARACTERS)}
        if has_decisions:
            row |= {word: _join_labels(answer, word) for word in (ASSIGN, SUGGEST)}
        else:
            row["labels"] = ", ".join(f"{each['label']} ({each['score']:.3f})" for each in answer["predictions"])
        rows.append(row)
    return pd.DataFrame(rows).rename(columns={ASSIGN: "assigned", SUGGEST: "suggested"})


def _join_labels(answer: dict[str, Any], word: str) -> str:
    chosen = [each for each in answer["predictions"] if each["decision"] == word]
    return ", ".join(f"{each['label']} {100 * each['probability']:.0f} %" for each in chosen)


def _offer_exports(job: PredictionJob) -> None:
    """Offer all answers as CSV, JSON lines and Parquet, made when somebody asks for them."""
    for kind, mime in MIME_TYPES.items():
        st.download_button(
            kind.upper(),
            partial(render_export, job, kind),
            file_name=f"labels-{job.id}.{kind}",
            mime=mime,
            key=f"predict.file_{kind}",
            on_click="ignore",
            icon=":material/download:",
        )


def render_export(job: PredictionJob, kind: str) -> bytes:
    """Return all answers of a job as the content of a file."""
    from xcwork.runs.prediction_tables import write_table

    if kind == "jsonl":
        return job.answers_file.read_bytes()
    has_decisions = job.request.decisions is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"labels.{kind}"
        write_table(job.answers_file, path, probabilities=has_decisions, decide=has_decisions, texts=True)
        return path.read_bytes()
