"""Write docs/papers.md from the ledger of claims: `python scripts/papers_docs.py [--check]`.

The ledger is `xcwork/published/claims.csv`. `--check` changes nothing and fails if the text is not up to date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from xcwork.export.tables import render_markdown
from xcwork.published.claims import PAPERS, SIGNS, VERDICTS, Claim, Paper, count_verdicts, read_claims, select_claims

PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers.md"
INTRODUCTION = """# The five papers, claim by claim

<!-- Written by python scripts/papers_docs.py from xcwork/published/claims.csv. -->

What the papers behind the methods claim, what was measured with xcwork, and a verdict. The page Papers of the dashboard
and `xcwork papers` show the same. Figures are percentages unless marked otherwise; ± is the standard deviation over
seeds.

- ✓ **reproduced**: on the same data or a public equivalent, at least as good or within one point.
- ↗ **in direction**: the same sign, but a different size or other data.
- ✗ **contradicted**: the opposite, or false as printed.
- − **not checkable**: the note says what is missing.
- ○ **open**: can be checked here with the command, but has not been measured yet.

Names in capitals (EURLEX57K, BIBTEX, …) are folders of datasets on your machine."""


def render_page() -> str:
    """Return the text of the page."""
    claims = read_claims()
    counts = [(paper, count_verdicts(select_claims(claims, paper=paper))) for paper in PAPERS]
    counts.append(("all", count_verdicts(claims)))
    rows = [(paper, *map(str, found.values()), str(sum(found.values()))) for paper, found in counts]
    summary = render_markdown(("paper", *VERDICTS, "all"), rows, [False, *(True for _ in VERDICTS), True])
    sections = [_render_paper(paper, select_claims(claims, paper=paper.name)) for paper in PAPERS.values()]
    return "\n\n".join([INTRODUCTION, summary, *sections]) + "\n"


def _render_paper(paper: Paper, claims: list[Claim]) -> str:
    head = f"## {paper.name}\n\n{paper.authors}, *{paper.title}*: {paper.source}."
    rows = [
        (c.where, c.claim, c.published, c.measured or "–", f"{SIGNS[c.verdict]} {c.verdict}", _describe_check(c))
        for c in claims
    ]
    cells = [[_escape_cell(cell) for cell in row] for row in rows]
    table = render_markdown(("where", "claim", "they report", "we measure", "verdict", "how and why"), cells)
    return f"{head}\n\n{table}"


def _describe_check(claim: Claim) -> str:
    """Return data, seeds, command and note of a claim in one cell; a check of a theorem has no seeds worth naming."""
    seeds = f", {claim.seeds} seeds" if claim.seeds not in ("", "1") else ""
    if claim.seeds == "1" and claim.command.startswith(("xcwork bench", "xcwork train")):
        seeds = ", one seed"
    how = [f"{claim.data}{seeds}." if claim.data else "", f"`{claim.command}`" if claim.command else ""]
    return " ".join(part for part in (*how, claim.note) if part)


def _escape_cell(text: str) -> str:
    """Return text as a Markdown cell shows it, where a bar begins the next cell and a tag or a star means something."""
    if "`" in text:
        before, code, after = text.split("`", 2)
        return f"{_escape_cell(before)}`{code.replace('|', chr(92) + '|')}`{_escape_cell(after)}"
    for sign in ("|", "*", "_"):
        text = text.replace(sign, f"\\{sign}")
    return text.replace("<", "&lt;")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say whether the text is up to date")
    options = parser.parse_args()
    if not options.check:
        PAGE.write_text(render_page(), "utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text("utf-8") == render_page():
        return 0
    print("docs/papers.md is not up to date; run python scripts/papers_docs.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
