"""`xcwork predict` and `xcwork explain`: what a trained run says about a text, and why."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import Home, Json, RunId
from xcwork.cli.output import print_result, to_json
from xcwork.errors import ConfigError, DataError

if TYPE_CHECKING:
    from xcwork.core.topk import TopK
    from xcwork.methods.base import Documents, Method
    from xcwork.runs import Run

SUGGESTED = 3  # label names offered when one is not found
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
        Path | None, typer.Option("--file", help="Documents: .txt (one per line) or .jsonl, compressed or not.")
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Labels for each document.")] = 5,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="With --file: write JSON lines here. Interrupted, it is continued."),
    ] = None,
    new_label: NewLabels = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Rank labels for a text or a test document, or for every document of a file."""
    if (text is None and document is None) == (file is None):
        raise ConfigError(
            "give the document with --text, its number in the test split with --document, or a file of documents "
            "with --file"
        )
    if output is not None and file is None:
        raise ConfigError("--output goes with --file")
    if file is None:
        _predict_one(run, text, document, k, new_label, as_json)
    elif output is None:
        _predict_to_screen(run, file, k, new_label, as_json)
    else:
        _predict_to_file(run, file, output, k, new_label, as_json)


def _predict_one(
    run_id: str, text: str | None, number: int | None, k: int, new_labels: list[str] | None, as_json: bool
) -> None:
    from xcwork.analysis.unknown_text import describe_unknown_text
    from xcwork.export.terminal import render_table

    run, model = _open(run_id, new_labels)
    document = _read_document(run, text, number)
    predictions = _name_predictions(model.predict(document, k), 0)
    note = describe_unknown_text(model, document, n_suggested=len(predictions))
    rows = [(rank, p["label"], f"{p['score']:.4f}") for rank, p in enumerate(predictions, start=1)]
    lines = ([note] if note else []) + ([render_table(("", "label", "score"), rows)] if rows else [])
    print_result(as_json, {"run": run.id, "predictions": predictions, "note": note}, *lines)


def _predict_to_screen(run_id: str, file: Path, k: int, new_labels: list[str] | None, as_json: bool) -> None:
    from xcwork.cli.documents import count_documents
    from xcwork.export.text import clean_text

    total = count_documents(file)
    run, model = _open(run_id, new_labels)
    # On a screen the answers themselves show how far it is, and a bar would tear their lines apart.
    answers = _predictions(model, file, k, 0, total, quiet=sys.stdout.isatty() and not as_json)
    records = (record for batch in answers for record in batch)
    if as_json:
        _print_documents(run.id, records)
        return
    for record in records:
        labels = ", ".join(f"{p['label']} ({p['score']:.4f})" for p in record["predictions"])
        typer.echo(clean_text(f"{record.get('uid', record['document'])}: {labels or 'no label'}"))


def _print_documents(run_id: str, records: Iterable[dict[str, Any]]) -> None:
    """Print one JSON document about any number of records, in the memory of one batch.

    It is complete on disk before any of it is printed: an interruption must not leave half a document behind.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as draft:
        draft.write(f'{{"run": {to_json(run_id)}, "documents": [')
        for position, record in enumerate(records):
            draft.write(f"{',' if position else ''}\n{to_json(record)}")
        draft.write("\n]}\n")
        draft.seek(0)
        shutil.copyfileobj(draft, sys.stdout)
    sys.stdout.flush()


def _predict_to_file(
    run_id: str, file: Path, output: Path, k: int, new_labels: list[str] | None, as_json: bool
) -> None:
    from xcwork.cli.documents import count_documents
    from xcwork.cli.errors import INTERRUPTED, Ended
    from xcwork.cli.resumable_output import ContinuedFile

    if output.exists() and file.exists() and output.samefile(file):
        raise ConfigError(f"{output} is the input; choose another --output")
    total = count_documents(file)
    run, model = _open(run_id, new_labels)
    stat = file.stat()
    job = {
        "run": run.id,
        "attempt": run.status.attempt,
        "k": k,
        "new_labels": new_labels or [],
        "file": str(file.resolve()),
        "bytes": stat.st_size,
        "modified": stat.st_mtime_ns,
    }
    lines = ContinuedFile(output, job)
    begun, written = time.perf_counter(), lines.done
    try:
        with lines:
            for batch in _predictions(model, file, k, lines.done, total):
                lines.write(batch)
                written += len(batch)
    except KeyboardInterrupt:
        raise Ended(
            f"interrupted with {written} of {total} documents in {output}; the same command continues from there",
            code=INTERRUPTED,
            run=run.id,
            output=str(output),
            documents=written,
        ) from None
    seconds = round(time.perf_counter() - begun, 2)
    print_result(
        as_json,
        {"run": run.id, "output": str(output), "documents": total, "continued_from": lines.done, "seconds": seconds},
        f"{total:,} documents in {output}" + (f" ({lines.done:,} were there already)" if lines.done else ""),
    )


def _predictions(
    model: Method, file: Path, k: int, first: int, total: int, *, quiet: bool = False
) -> Iterator[list[dict[str, Any]]]:
    """Yield the answers from document number `first` on, batch by batch.

    The bar counts documents. It is moved from here, because it would flicker if it listened to the short phases of
    every batch.
    """
    from xcwork.cli.documents import document_batches
    from xcwork.export.terminal import ProgressBar

    phase = "predicting"
    with ProgressBar(quiet=quiet) as bar:
        bar.on_phase(phase, total)
        for batch in document_batches(file, first):
            best = model.predict([document.text for document in batch], k)
            yield [document.record(_name_predictions(best, row)) for row, document in enumerate(batch)]
            bar.on_step(phase, batch[-1].number + 1, total)
        bar.on_phase_end(phase)


def _name_predictions(best: TopK, row: int) -> list[dict[str, Any]]:
    """Return the predictions of one document; a score has the seven digits that single precision holds."""
    return [{"label": p["label"], "score": float(f"{p['score']:.7g}")} for p in best.named(row)]


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
    opened, model = _open(run, new_label)
    asked = _read_document(opened, text, document)
    found = model.explain(asked, _label_id(model, asked, label))
    payload = {"run": opened.id} | found.to_dict()
    rows = [(part.document_term, part.label_term, f"{part.value:+.4f}") for part in found.parts[:parts]]
    hidden = len(found.parts) - len(rows)
    head = f"{payload['label']}: {found.score:.4f}, "
    head += f"{'the sum' if found.exact else 'approximately the sum'} of {len(found.parts)} parts"
    if found.link:
        head += f"; predicted {payload['predicted']:.4f} ({found.link})"
    if found.is_filtered:
        head += "; a filter pair of the dataset keeps it out of the ranking of this document"
    shown = render_table(("document", "label", "adds"), rows)
    print_result(
        as_json,
        payload,
        head,
        shown,
        *([f"and {hidden:,} smaller ones (--parts {len(found.parts)})"] if hidden else []),
    )


def _open(run_id: str, new_labels: list[str] | None) -> tuple[Run, Method]:
    from xcwork.runs import RunStore

    run = RunStore().open(run_id)
    model = run.model()
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
    return document if text is None else document.with_texts([text])


def _label_id(model: Method, document: Documents, label: str | None) -> int:
    labels = model.labels_
    if label is None:
        best = model.predict(document, 1).row(0)
        if not best:
            raise DataError("the run predicts no label for this document", remedy="name one with --label")
        return best[0][0]
    try:
        return labels.id_of(label)
    except DataError as missing:
        if label.isdecimal():
            return labels.id_of(int(label))
        similar = [name for name in labels.names if label.casefold() in name.casefold()][:SUGGESTED]
        if not similar:
            raise
        raise DataError(f"{missing}; similar names: {', '.join(similar)}") from None
