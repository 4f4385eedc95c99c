"""`xcwork datasets` and `describe`: what there is to train on, and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from xcwork.cli.arguments import Data, DataOptions, Home, Json
from xcwork.cli.loading import read_data
from xcwork.cli.output import print_result
from xcwork.options import parse_data_options

if TYPE_CHECKING:
    from rich.table import Table

MAX_BAR_CHARACTERS = 40


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


def describe(
    data: Data,
    option: DataOptions = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each format sees in the files, instead of reading them.")
    ] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show the card of a dataset: sizes, label frequencies, what is wrong with it."""
    from xcwork.data.card import describe as examine

    if explain:
        _explain(data, as_json)
        return
    card = examine(read_data(data, parse_data_options(option)))
    facts = card.to_dict()
    print_result(as_json, facts, *card.to_text().splitlines(), "", _render_frequencies(facts["frequency_bins"]))


def _explain(data: str, as_json: bool) -> None:
    """Print what each format saw, and which one reads the files."""
    from xcwork.data.load import explain_source
    from xcwork.export.terminal import render_table
    from xcwork.paths import find_home

    found = explain_source(data, home=find_home())
    rows = [
        (name, "yes" if finding.is_match else "no", finding.seen or "–", finding.missing or "–")
        for name, finding in found.findings.items()
    ]
    chosen = "no format reads it" if found.chosen is None else f"read as {found.chosen}, the first format that fits"
    print_result(
        as_json,
        found.to_dict(),
        f"{found.path}: {found.content}; {chosen}",
        render_table(("format", "fits", "what it saw", "what is missing"), rows),
    )


def _render_frequencies(bins: list[dict[str, int]]) -> Table:
    """Return the label-frequency curve as bars: how many labels have how many training documents."""
    from xcwork.export.terminal import render_table

    most = max((each["labels"] for each in bins), default=0) or 1
    rows = [
        (
            f"{each['from']:,}" if each["from"] == each["to"] else f"{each['from']:,} to {each['to']:,}",
            each["labels"],
            "█" * -(-MAX_BAR_CHARACTERS * each["labels"] // most),  # rounded up: a few labels are not none
        )
        for each in bins
    ]
    return render_table(("training documents", "labels", ""), rows)
