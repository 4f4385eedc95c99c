"""`xcwork papers` and `xcwork study`: what the papers claim, what was measured here, and the checks of theorems."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from xcwork.cli.arguments import Json
from xcwork.cli.output import print_result


def papers(
    paper: Annotated[
        str, typer.Option("--paper", help="One of them: zestxml, siamesexml, eagle, landmarks, multi-head.")
    ] = "",
    verdict: Annotated[
        str,
        typer.Option("--verdict", help="One of: reproduced, in-direction, contradicted, not-checkable, open."),
    ] = "",
    find: Annotated[str, typer.Option("--find", metavar="WORDS", help="Rows that contain all of these words.")] = "",
    as_json: Json = False,
) -> None:
    """List what the five papers claim, what was measured here, and a verdict for each."""
    from xcwork.export.terminal import render_table
    from xcwork.published.claims import (
        SIGNS,
        count_verdicts,
        find_paper,
        find_verdict,
        read_claims,
        select_claims,
    )

    claims = select_claims(
        read_claims(),
        paper=find_paper(paper).name if paper else "",
        verdict=find_verdict(verdict) if verdict else "",
        text=find,
    )
    counts = count_verdicts(claims)
    rows = [
        (f"{c.paper}, {c.where}", c.claim, c.published, c.measured or "–", f"{SIGNS[c.verdict]} {c.verdict}", c.command)
        for c in claims
    ]
    print_result(
        as_json,
        {"counts": counts, "claims": [asdict(claim) for claim in claims]},
        render_table(("place", "claim", "they report", "we measure", "verdict", "command"), rows)
        if rows
        else "no claim matches",
        f"\n{len(claims)} claims: " + ", ".join(f"{count} {name}" for name, count in counts.items() if count),
    )


def study(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of those that are listed without it.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")] = 0,
    as_json: Json = False,
) -> None:
    """Check a theorem of the papers with numbers, in seconds."""
    from xcwork.export.terminal import render_table
    from xcwork.studies.catalogue import STUDIES, run_study

    if name is None:
        print_result(as_json, {"studies": list(STUDIES)}, *STUDIES, "\nxcwork study NAME runs one.")
        return
    found = run_study(name, seed)
    payload = {"study": name, "seed": seed, "holds": found.holds, "finding": found.sentence, "rows": found.rows}
    columns = list(found.rows[0])
    print_result(
        as_json,
        payload,
        render_table(columns, [[row[column] for column in columns] for row in found.rows]),
        f"\n{'holds' if found.holds else 'does not hold'}: {found.sentence}",
    )
