"""The command line that says what the page says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork_app import state
from xcwork_app.page_header import PageHeader
from xcwork_app.views.document_prediction import ChosenDocument

from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.methods.base import Method

MAX_ARGUMENT_CHARACTERS = 400  # of a text that still fits on a command line


def show_command(header: PageHeader, run: Run, model: Method, chosen: ChosenDocument, k: int) -> None:
    """Offer the command that lists the same labels for the same document."""
    row = chosen.original_row if chosen.row is None else chosen.row
    document = [] if row is None else ["--document", str(row)]
    length = ["-k", str(k), *_list_decision(model)]
    if chosen.row is not None:
        header.show_command(["predict", run.id, *document, *length])
    elif len(chosen.text) <= MAX_ARGUMENT_CHARACTERS:
        header.show_command(["predict", run.id, *document, "--text", chosen.text, *length])
    else:
        note = "The same in a shell, with the text in document.txt"
        header.show_command(["predict", run.id, *document, "--text", "-", *length], stdin="document.txt", note=note)


def show_file_command(header: PageHeader, run: Run, model: Method) -> None:
    """Offer the command that labels a file of texts."""
    files = ["--file", "documents.csv", "--output", "labels.csv", "-k", str(state.view().k)]
    note = "The same in a shell, for texts in documents.csv"
    header.show_command(["predict", run.id, *files, *_list_decision(model)], note=note)


def _list_decision(model: Method) -> list[str]:
    return ["--decide"] if model.calibration_ is not None else []
