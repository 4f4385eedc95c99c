"""The ledger: every claim, table and figure of the five papers, what was measured here, and a verdict.

`claims.csv` has one row per claim and the columns of `COLUMNS`. It is edited by hand and checked whenever it is read.

| column | what it holds |
| --- | --- |
| paper | one of `PAPERS` |
| where | the place in the source: "table 2", "theorem 4" |
| claim | what is said there, in plain words |
| published | the figure or statement of the source |
| measured | what was found here, mean ± standard deviation where there are seeds; empty where nothing was |
| data, seeds | what it was measured on, and with how many seeds |
| command | what measures it: `xcwork study …`, `xcwork bench …`; DATA in capitals is a path on the reader's machine |
| verdict | one of `VERDICTS` |
| note | why this verdict, and what differs here |

*Reproduced*: on the same data or its public equal, at least as good or within one point. *In direction*: same sign,
other size or other data. *Contradicted*: the opposite, or false as printed. *Not checkable*: the note says what is
missing. *Open*: it can be checked here, but nobody has; the command would.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from io import StringIO

from xcwork.errors import DataError

FILE = "claims.csv"
REPRODUCED = "reproduced"
IN_DIRECTION = "in direction"
CONTRADICTED = "contradicted"
NOT_CHECKABLE = "not checkable"
OPEN = "open"
VERDICTS = (REPRODUCED, IN_DIRECTION, CONTRADICTED, NOT_CHECKABLE, OPEN)
MEASURED_VERDICTS = (REPRODUCED, IN_DIRECTION, CONTRADICTED)
SIGNS = {REPRODUCED: "✓", IN_DIRECTION: "↗", CONTRADICTED: "✗", NOT_CHECKABLE: "−", OPEN: "○"}


@dataclass(frozen=True)
class Paper:
    """One of the five sources."""

    name: str  # as the ledger calls it
    authors: str
    title: str
    source: str  # which part of it was read


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "ZestXML",
            "Gupta et al., KDD 2021",
            "Generalized zero-shot extreme multi-label learning",
            "its appendix, and some tables of the main paper",
        ),
        Paper(
            "SiameseXML",
            "Dahiya et al., ICML 2021",
            "SiameseXML: siamese networks meet extreme classifiers with 100M labels",
            "its supplement, and some tables of the main paper",
        ),
        Paper(
            "EAGLE",
            "Shen et al., ICML 2020",
            "Extreme multi-label classification from aggregated labels",
            "the paper with its appendix",
        ),
        Paper(
            "Landmarks",
            "Barezi et al., NAACL 2019",
            "A submodular feature-aware framework for label subset selection in extreme classification problems",
            "its supplement",
        ),
        Paper(
            "Multi-head",
            "Liang et al., TPAMI 2025",
            "Multi-head encoding for extreme label classification",
            "the paper with its appendix",
        ),
    )
}


@dataclass(frozen=True)
class Claim:
    """One row of the ledger."""

    paper: str
    where: str
    claim: str
    published: str
    measured: str
    data: str
    seeds: str
    command: str
    verdict: str
    note: str
    id: str = ""  # such as "eagle-table-2-3": the third row about that place

    def has_words(self, text: str) -> bool:
        """Tell whether every word of `text` occurs somewhere in the row, whatever its case."""
        everything = " ".join(getattr(self, name) for name in COLUMNS).casefold()
        return all(word in everything for word in text.casefold().split())


COLUMNS = tuple(field.name for field in fields(Claim) if field.name != "id")


@cache
def read_claims() -> tuple[Claim, ...]:
    """Return all rows of the ledger, in its order."""
    return tuple(parse_claims(files("xcwork.published").joinpath(FILE).read_text("utf-8")))


def parse_claims(text: str) -> Iterator[Claim]:
    """Read the rows of a ledger and reject what cannot be: unknown verdicts, measured claims without a command, …"""
    reader = csv.DictReader(StringIO(text, newline=""))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise DataError(f"the columns must be {', '.join(COLUMNS)}", file=FILE, line=1)
    places: Counter[str] = Counter()
    seen: set[tuple[str, str, str]] = set()
    for cells in reader:
        if None in cells or None in cells.values():
            raise DataError(f"the row must have {len(COLUMNS)} cells", file=FILE, line=reader.line_num)
        place = _make_slug(f"{cells['paper']} {cells['where']}")
        places[place] += 1
        claim = Claim(**cells, id=f"{place}-{places[place]}")
        for problem in _find_problems(claim):
            raise DataError(problem, file=FILE, line=reader.line_num)
        key = (claim.paper, claim.where, claim.claim)
        if key in seen:
            raise DataError(f"{claim.claim!r} is listed twice in {claim.where}", file=FILE, line=reader.line_num)
        seen.add(key)
        yield claim


def _find_problems(claim: Claim) -> Iterator[str]:
    if claim.paper not in PAPERS:
        yield f"the paper must be one of {', '.join(PAPERS)}, got {claim.paper!r}"
    if claim.verdict not in VERDICTS:
        yield f"the verdict must be one of {', '.join(VERDICTS)}, got {claim.verdict!r}"
    for name in ("where", "claim", "published"):
        if not getattr(claim, name).strip():
            yield f"{name} is empty"
    if claim.verdict in MEASURED_VERDICTS and not (claim.measured and claim.command):
        yield f"a claim that is {claim.verdict} needs what was measured and the command that measures it"
    if claim.verdict == OPEN and (claim.measured or not claim.command):
        yield "an open claim has a command that would measure it, and nothing measured"
    if claim.verdict in (CONTRADICTED, NOT_CHECKABLE) and not claim.note:
        yield f"a claim that is {claim.verdict} needs a note that says why"
    if claim.seeds and not claim.seeds.isdecimal():
        yield f"seeds must be a whole number, got {claim.seeds!r}"


def _make_slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def select_claims(claims: Iterable[Claim], *, paper: str = "", verdict: str = "", text: str = "") -> list[Claim]:
    """Return the rows of one paper, with one verdict, with all words of `text`; "" does not limit."""
    return [
        claim
        for claim in claims
        if claim.paper == (paper or claim.paper)
        and claim.verdict == (verdict or claim.verdict)
        and claim.has_words(text)
    ]


def count_verdicts(claims: Iterable[Claim]) -> dict[str, int]:
    """Return how many rows have each verdict, all verdicts in their order."""
    found = Counter(claim.verdict for claim in claims)
    return {verdict: found[verdict] for verdict in VERDICTS}


def find_paper(name: str) -> Paper:
    """Return the paper of this name, whatever its case."""
    for paper in PAPERS.values():
        if paper.name.casefold() == name.casefold():
            return paper
    raise DataError(f"there is no paper {name!r} in the ledger", remedy=f"choose one of {', '.join(PAPERS)}")


def find_verdict(name: str) -> str:
    """Return the verdict of this name; a hyphen may stand for the space."""
    wanted = name.casefold().replace("-", " ")
    if wanted not in VERDICTS:
        raise DataError(f"there is no verdict {name!r}", remedy=f"choose one of {', '.join(VERDICTS)}")
    return wanted
