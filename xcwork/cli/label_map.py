"""`xcwork map`: lay out the labels of a run, so that its map is there when somebody looks."""

from __future__ import annotations

from typing import Annotated

import typer

from xcwork.cli.arguments import Home, Json, RunId
from xcwork.cli.output import print_result

MAX_LISTED_REGIONS = 20


def map_labels(
    run: RunId,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="RUN", help="Start from the map of this run (same labels)."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Make a new map even if there is one.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Lay out the labels of a run and name the regions of its map; an interrupted layout resumes."""
    from xcwork.export.terminal import ProgressBar
    from xcwork.progress import listen
    from xcwork.runs import RunStore
    from xcwork.runs.run_map import make_map

    store = RunStore()
    opened = store.open(run)
    with ProgressBar() as bar, listen([bar]):
        made = make_map(opened, like=None if like is None else store.open(like), again=again)
    regions = [region for region in made.regions.regions if region.level == 0]
    facts = {
        "run": opened.id,
        "labels": made.layout.n_labels,
        "placed": len(made.layout.ids),
        "laid_out": made.layout.n_laid_out,
        "regions": [{"name": region.name, "labels": region.n_labels} for region in regions],
    }
    listed = [f"{region.n_labels:>8,}  {region.name}" for region in regions[:MAX_LISTED_REGIONS]]
    more = [f"and {len(regions) - len(listed):,} more"] if len(regions) > len(listed) else []
    print_result(as_json, facts, f"map of run {opened.id}: {made.layout.caption}", *listed, *more)
