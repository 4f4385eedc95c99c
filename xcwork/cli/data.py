"""`xcwork datasets`, `describe` and `export`: what there is to train on, what is in it, and a copy for other tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xcwork.cli.arguments import Data, DataOptions, Home, Json
from xcwork.cli.loading import read_data
from xcwork.cli.output import print_result
from xcwork.options import parse_data_options

if TYPE_CHECKING:
    from rich.table import Table

BAR_WIDTH = 40  # characters of the longest bar


class Format(StrEnum):
    """Formats that peer tools read, and our own."""

    xc = "xc"
    splits = "splits"
    stored = "stored"


def datasets(as_json: Json = False, home: Home = None) -> None:
    """List the built-in datasets and those in the data folder."""
    from xcwork.data.load import list_datasets
    from xcwork.export.terminal import render_table

    entries = list_datasets()
    rows = [(entry.name, entry.format, entry.description) for entry in entries]
    print_result(
        as_json,
        {"datasets": [entry.to_dict() for entry in entries]},
        render_table(("dataset", "format", "what it is"), rows),
    )


def describe(data: Data, option: DataOptions = None, as_json: Json = False, home: Home = None) -> None:
    """Show the card of a dataset: sizes, label frequencies, what is wrong with it."""
    from xcwork.data.card import describe as examine

    card = examine(read_data(data, parse_data_options(option)))
    facts = card.to_dict()
    print_result(as_json, facts, *card.to_text().splitlines(), "", _render_frequencies(facts["frequency_bins"]))


def _render_frequencies(bins: list[dict[str, int]]) -> Table:
    """Return the label-frequency curve as bars: how many labels have how many training documents."""
    from xcwork.export.terminal import render_table

    most = max((each["labels"] for each in bins), default=0) or 1
    rows = [
        (
            f"{each['from']:,}" if each["from"] == each["to"] else f"{each['from']:,} to {each['to']:,}",
            each["labels"],
            "█" * -(-BAR_WIDTH * each["labels"] // most),  # rounded up: a few labels are not none
        )
        for each in bins
    ]
    return render_table(("training documents", "labels", ""), rows)


def export(
    data: Data,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the files.")],
    form: Annotated[
        Format,
        typer.Option(
            "--format", help="xc: repository text files; splits: trn_X_Xf.txt and its companions; stored: xcwork's own."
        ),
    ] = Format.xc,
    option: DataOptions = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Write a dataset in a format that other tools read."""
    from xcwork.data.writers import write_splits, write_stored, write_xc
    from xcwork.export.terminal import ProgressBar
    from xcwork.progress import listening

    dataset = read_data(data, parse_data_options(option))
    with ProgressBar() as bar, listening([bar]):
        {Format.xc: write_xc, Format.splits: write_splits, Format.stored: write_stored}[form](dataset, folder)
    files = sorted(path.name for path in folder.iterdir())
    print_result(
        as_json,
        {"data": dataset.name, "format": form.value, "folder": str(folder.resolve()), "files": files},
        f"{dataset.name} in {folder}: {', '.join(files)}",
    )
