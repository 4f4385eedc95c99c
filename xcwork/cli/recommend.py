"""`xcwork recommend`: three methods for a dataset, with a reason, the quality to expect and the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from xcwork.cli.arguments import Data, DataOptions, Home, Json
from xcwork.cli.loading import read_data
from xcwork.cli.output import print_result
from xcwork.options import parse_data_options

if TYPE_CHECKING:
    from rich.table import Table

    from xcwork.advice import Recommendation

MAX_MINUTES = 24 * 60.0


def recommend(
    data: Data,
    option: DataOptions = None,
    minutes: Annotated[
        float,
        typer.Option(
            "--minutes", min=0, max=MAX_MINUTES, help="Minutes to try methods on a sample; 0 uses rules alone."
        ),
    ] = 5.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the sample.")] = 0,
    again: Annotated[bool, typer.Option("--again", help="Try again even if there is a stored result.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Find three methods that suit a dataset, after trying them on a sample of it."""
    from xcwork.advice import recommend as find_methods
    from xcwork.advice.storing import list_measurements, read_recommendation, write_recommendation
    from xcwork.data.load import resolve_source
    from xcwork.export.terminal import ProgressBar
    from xcwork.paths import find_home

    options = parse_data_options(option)
    dataset = read_data(data, options)
    source = resolve_source(data, home=find_home(), **options)
    found = None if again or not minutes else read_recommendation(source, dataset.fingerprint)
    if found is None:
        known = list_measurements(find_home())
        with ProgressBar() as bar:
            found = find_methods(dataset, minutes=minutes, known=known, seed=seed, callbacks=[bar])
        if minutes:
            write_recommendation(source, found)
    print_result(as_json, found.to_dict(), f"{found.data}: {found.traits}", _render_table(found), *_list_notes(found))


def _render_table(found: Recommendation) -> Table:
    from xcwork.export.terminal import render_table

    rows = []
    for each in found.suggestions:
        expected = each.expected
        quality = "–" if expected is None else f"{expected.value:.1f} ({expected.low:.1f} to {expected.high:.1f})"
        seconds = "–" if each.seconds is None else f"{each.seconds:,.0f}"
        memory = "–" if each.memory_mb is None else f"{each.memory_mb:,.0f}"
        rows.append((each.role, each.method, quality, seconds, memory, each.reason))
    return render_table(("", "method", "P@1 to expect", "seconds", "MB", "why"), rows)


def _list_notes(found: Recommendation) -> list[str]:
    """Return how the figures were found, and what could not be tried to the end."""
    lines = []
    best = next((each for each in found.suggestions if each.expected is not None), None)
    if best is not None and best.expected is not None:
        lines.append(f"{best.method}: {best.expected.basis}. Found in {found.seconds:,.0f} s; --again tries again.")
    lines += [f"{each.method}: {each.note}" for each in found.tried if each.note]
    return lines
