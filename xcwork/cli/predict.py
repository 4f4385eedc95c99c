"""`xcwork predict` and `xcwork explain`: what a trained run says about a text, and why."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import Home, Json, RunId
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError, DataError

if TYPE_CHECKING:
    from xcwork.methods.base import Documents, Method
    from xcwork.runs import Run
    from xcwork.runs.answers import Answerer, Question

MAX_SUGGESTED_LABELS = 3  # offered when one is not found
Text = Annotated[
    str | None,
    typer.Option("--text", help="The document; - reads it from standard input. With --document: that one, edited."),
]
Number = Annotated[
    int | None, typer.Option("--document", min=0, help="Its number in the test split of the run's dataset, from 0.")
]
NewLabels = Annotated[
    list[str] | None,
    typer.Option("--new-label", metavar="TEXT", help="A label the run never saw (zero-shot methods). Repeatable."),
]


def predict(
    run: RunId,
    text: Text = None,
    document: Number = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Documents: .txt (one per line), .jsonl or .csv, compressed or not.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Labels per document.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="With --file: write .jsonl, .csv or .parquet here. An interrupted file is continued."
        ),
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability that each label is right.")
    ] = False,
    decide: Annotated[
        bool, typer.Option("--decide", help="Say for each label: assign, suggest or leave, by the run's thresholds.")
    ] = False,
    new_label: NewLabels = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="With --file: where documents are answered: tcp://HOST:PORT of a Dask scheduler, "
            "or local:N processes.",
        ),
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Rank labels for a text or a test document, or for every document of a file."""
    from xcwork.compute.cluster import use_cluster
    from xcwork.runs.answers import Question

    if (text is None and document is None) == (file is None):
        raise ConfigError(
            "give the document with --text, its number in the test split with --document, or a file of documents "
            "with --file"
        )
    if output is not None and file is None:
        raise ConfigError("--output goes with --file")
    if cluster and file is None:
        raise ConfigError("--cluster goes with --file; one document is answered here")
    asked = AskedRun(run, Question(k, probabilities or decide, decide, tuple(new_label or ())))
    if file is None:
        _predict_one(asked, text, document, as_json)
        return
    with use_cluster(cluster):
        if output is None:
            _predict_to_screen(asked, file, as_json)
        else:
            _predict_to_file(asked, file, output, as_json)


@dataclass(frozen=True)
class AskedRun:
    """A run, and what is asked of it about every document."""

    run_id: str
    question: Question


def _open_answerer(asked: AskedRun) -> Answerer:
    from xcwork.runs.answers import Answerer

    question = asked.question
    run, model = _open_run(asked.run_id, list(question.new_labels))
    return Answerer(run, model, question, run.read_decisions() if question.decide else None)


def _predict_one(asked: AskedRun, text: str | None, number: int | None, as_json: bool) -> None:
    from xcwork.analysis.unknown_text import describe_unknown_text
    from xcwork.export.terminal import render_table

    answerer = _open_answerer(asked)
    document = _read_document(answerer.run, text, number)
    [predictions] = answerer.answer(document)
    note = describe_unknown_text(answerer.model, document, n_suggested=len(predictions))
    rows = [(rank, *_show_prediction(each)) for rank, each in enumerate(predictions, start=1)]
    head = ("", "label", "score", *([] if not asked.question.probabilities else ["probability"]))
    head = (*head, "decision") if asked.question.decide else head
    lines = ([note] if note else []) + ([render_table(head, rows)] if rows else [])
    payload = {"run": answerer.run.id, "predictions": predictions, "note": note}
    print_result(as_json, payload | ({"decisions": answerer.decisions} if asked.question.decide else {}), *lines)


def _show_prediction(each: dict[str, Any]) -> tuple[str, ...]:
    """Return label, score and what else is known, for people."""
    shown = [each["label"], f"{each['score']:.4f}"]
    if "probability" in each:
        shown.append(f"{100 * each['probability']:.1f} %")
    return tuple(shown + ([each["decision"]] if "decision" in each else []))


def _predict_to_screen(asked: AskedRun, file: Path, as_json: bool) -> None:
    from xcwork.export.text import clean_text
    from xcwork.runs.document_files import count_documents

    total = count_documents(file)
    answerer = _open_answerer(asked)
    # On a screen the answers themselves show how far it is, and a bar would tear their lines apart.
    answers = _predict_batches(answerer, file, 0, total, quiet=sys.stdout.isatty() and not as_json)
    records = (record for batch in answers for record in batch)
    if as_json:
        _print_documents(answerer.run.id, records)
        return
    for record in records:
        shown = [_show_prediction(each) for each in record["predictions"]]
        labels = ", ".join(f"{label} ({', '.join(rest)})" for label, *rest in shown)
        typer.echo(clean_text(f"{record.get('uid', record['document'])}: {labels or 'no label'}"))


def _print_documents(run_id: str, records: Iterable[dict[str, Any]]) -> None:
    """Print one JSON document about any number of records, in the memory of one batch.

    It is complete on disk before any of it is printed: an interruption must not leave half a document behind.
    """
    from xcwork.export.json_text import to_json

    with tempfile.TemporaryFile("w+", encoding="utf-8") as draft:
        draft.write(f'{{"run": {to_json(run_id)}, "documents": [')
        for position, record in enumerate(records):
            draft.write(f"{',' if position else ''}\n{to_json(record)}")
        draft.write("\n]}\n")
        draft.seek(0)
        shutil.copyfileobj(draft, sys.stdout)
    sys.stdout.flush()


def _predict_to_file(asked: AskedRun, file: Path, output: Path, as_json: bool) -> None:
    from xcwork.cli.errors import INTERRUPTED_CODE, Ended
    from xcwork.runs.document_files import count_documents
    from xcwork.runs.prediction_tables import TABLE_SUFFIXES, is_earlier_table, write_table
    from xcwork.runs.resumable_output import ContinuedFile

    if output.exists() and file.exists() and output.samefile(file):
        raise ConfigError(f"{output} is the input; choose another --output")
    is_table = output.suffix.lower() in TABLE_SUFFIXES
    if is_table and output.exists() and not is_earlier_table(output):
        raise ConfigError(f"{output} exists and is not an earlier output of predict; choose another --output")
    total = count_documents(file)
    answerer = _open_answerer(asked)
    run = answerer.run
    stat = file.stat()
    job = {
        "run": run.id,
        "attempt": run.status.attempt,
        "k": asked.question.k,
        "new_labels": list(asked.question.new_labels),
        "probabilities": asked.question.probabilities,
        "decisions": answerer.decisions,
        "file": str(file.resolve()),
        "bytes": stat.st_size,
        "modified": stat.st_mtime_ns,
    }
    # A table is made from complete JSON lines, because half a Parquet file cannot be continued.
    draft = output.with_name(f"{output.name}.jsonl") if is_table else output
    lines = ContinuedFile(draft, job)
    begun, written = time.perf_counter(), lines.done
    try:
        with lines:
            for batch in _predict_batches(answerer, file, lines.done, total):
                lines.write(batch)
                written += len(batch)
    except KeyboardInterrupt:
        raise Ended(
            f"interrupted with {written} of {total} documents in {output}; the same command continues from there",
            code=INTERRUPTED_CODE,
            run=run.id,
            output=str(output),
            documents=written,
        ) from None
    if is_table:
        write_table(draft, output, probabilities=asked.question.probabilities, decide=asked.question.decide)
        draft.unlink()
    seconds = round(time.perf_counter() - begun, 2)
    print_result(
        as_json,
        {"run": run.id, "output": str(output), "documents": total, "continued_from": lines.done, "seconds": seconds},
        f"{total:,} documents in {output}" + (f" ({lines.done:,} were there already)" if lines.done else ""),
    )


def _predict_batches(
    answerer: Answerer, file: Path, first: int, total: int, *, quiet: bool = False
) -> Iterator[list[dict[str, Any]]]:
    """Yield the answers from document number `first` on, batch by batch.

    The bar counts documents. It is moved from here, because it would flicker if it listened to the short phases of
    every batch.
    """
    from xcwork.export.terminal import ProgressBar
    from xcwork.runs.document_files import read_batches

    phase = "predicting"
    with ProgressBar(quiet=quiet) as bar:
        bar.on_phase(phase, total)
        for batch, answers in answerer.answer_batches(read_batches(file, first)):
            yield [document.make_record(answer) for document, answer in zip(batch, answers, strict=True)]
            bar.on_step(phase, batch[-1].number + 1, total)
        bar.on_phase_end(phase)


def explain(
    run: RunId,
    text: Text = None,
    document: Number = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Name or id of the label. (Default: the best one.)")
    ] = None,
    parts: Annotated[int, typer.Option("--parts", min=1, help="How many parts the table shows.")] = 20,
    new_label: NewLabels = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show why a label has its score for a document."""
    from xcwork.export.terminal import render_table

    if text is None and document is None:
        raise ConfigError("give the document with --text, or its number in the test split with --document")
    opened, model = _open_run(run, new_label)
    asked = _read_document(opened, text, document)
    found = model.explain(asked, _find_label(model, asked, label))
    payload = {"run": opened.id} | found.to_dict()
    # The same pair of words may be in several families, which add up: without their names it would seem to be repeated.
    rows = [(p.document_term, p.label_term, str(p.family), f"{p.value:+.4f}") for p in found.parts[:parts]]
    hidden = len(found.parts) - len(rows)
    head = f"{payload['label']}: {found.score:.4f}, "
    head += f"{'the sum' if found.exact else 'approximately the sum'} of {len(found.parts)} parts"
    if found.link:
        head += f"; predicted {payload['predicted']:.4f} ({found.link})"
    if found.is_filtered:
        head += "; a filter pair of the dataset keeps it out of the ranking of this document"
    grouped = found.group()
    families = ", ".join(f"{bar.family} {grouped.format(bar.units)}" for bar in grouped.families)
    shown = render_table(("document", "label", "reason", "adds"), rows)
    print_result(
        as_json,
        payload,
        head,
        *([families] if families else []),
        shown,
        *([f"and {hidden:,} smaller ones (--parts {len(found.parts)})"] if hidden else []),
    )


def _open_run(run_id: str, new_labels: list[str] | None) -> tuple[Run, Method]:
    from xcwork.runs import RunStore

    run = RunStore().open(run_id)
    model = run.load_model()
    if new_labels:
        model.add_labels(new_labels)
    return run, model


def _read_document(run: Run, text: str | None, number: int | None) -> Documents:
    """Return the text, or the test document with its filter pairs; with both, that document after an edit."""
    from xcwork.cli.loading import read_run_data

    if text == "-":
        text = sys.stdin.read()
    if number is None:
        return text or ""
    test = read_run_data(run).test
    if number >= len(test):
        raise DataError(f"there is no document {number}; the test split has {len(test)}, counted from 0")
    document = test.take([number])
    return document if text is None else document.replace_texts([text])


def _find_label(model: Method, document: Documents, label: str | None) -> int:
    labels = model.labels_
    if label is None:
        best = model.predict(document, 1).get_row(0)
        if not best:
            raise DataError("the run predicts no label for this document", remedy="name one with --label")
        return best[0][0]
    try:
        return labels.find_id(label)
    except DataError as missing:
        if label.isdecimal():
            return labels.find_id(int(label))
        similar = [name for name in labels.names if label.casefold() in name.casefold()][:MAX_SUGGESTED_LABELS]
        if not similar:
            raise
        raise DataError(f"{missing}; similar names: {', '.join(similar)}") from None
