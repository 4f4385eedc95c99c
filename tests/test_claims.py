"""The ledger of claims: every row can be, and every command can be started."""

from __future__ import annotations

import csv
import importlib.util
import re
import shlex
from io import StringIO
from itertools import pairwise

import pytest

from tests.support.paths import ROOT
from xcwork.cli import app
from xcwork.errors import DataError
from xcwork.methods.presets import list_preset_names
from xcwork.methods.registry import METHODS, find_method_class
from xcwork.published.claims import (
    COLUMNS,
    MEASURED_VERDICTS,
    OPEN,
    PAPERS,
    SIGNS,
    VERDICTS,
    Claim,
    count_verdicts,
    find_paper,
    find_verdict,
    parse_claims,
    read_claims,
    select_claims,
)
from xcwork.studies.catalogue import STUDIES

CLAIMS = read_claims()
BENCHMARKS = {path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py")}
VERBS = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
GOOD = {
    "paper": "EAGLE",
    "where": "table 2",
    "claim": "it works",
    "published": "80",
    "measured": "81 ± 1",
    "data": "Bibtex",
    "seeds": "3",
    "command": "xcwork study eagle-toy",
    "verdict": "reproduced",
    "note": "why",
}


def write(*rows: dict[str, str], columns: tuple[str, ...] = COLUMNS) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def test_the_columns_are_those_that_were_agreed() -> None:
    assert ",".join(COLUMNS) == "paper,where,claim,published,measured,data,seeds,command,verdict,note"


def test_every_paper_and_every_verdict_occurs() -> None:
    assert {claim.paper for claim in CLAIMS} == set(PAPERS)
    assert {claim.verdict for claim in CLAIMS} == set(VERDICTS) == set(SIGNS)
    assert len(CLAIMS) >= 120


def test_ids_are_unique_and_fit_into_an_address() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert all(re.fullmatch(r"[a-z0-9-]{5,80}", claim.id) for claim in CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_row_is_complete_and_its_command_exists(claim: Claim) -> None:
    assert all(cell == cell.strip() for cell in (getattr(claim, name) for name in COLUMNS))
    if claim.verdict in MEASURED_VERDICTS:
        assert claim.data
        assert claim.seeds
    if claim.command:
        check_command(shlex.split(claim.command))


def check_command(words: list[str]) -> None:
    """A command names a verb, study, benchmark, script, method, preset and parameters that exist."""
    if words[0] == "python":
        assert words[1] == "-c" or (ROOT / words[1]).is_file()
        return
    assert words[0] == "xcwork"
    assert words[1] in VERBS
    if words[1] == "study":
        assert words[2] in STUDIES
    elif words[1] == "bench":
        assert words[2] in BENCHMARKS
    elif words[1] == "train":
        assert words[2] in METHODS
        for flag, value in pairwise(words):
            if flag == "--preset":
                assert value in list_preset_names(words[2])
            if flag == "--set":
                name, _, text = value.partition("=")
                declared = find_method_class(words[2]).parameters()[name]
                declared.check(declared.parse(text))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"paper": "Parabel"}, "paper must be one of ZestXML"),
        ({"verdict": "proved"}, "verdict must be one of reproduced"),
        ({"command": ""}, "reproduced needs what was measured and the command"),
        ({"measured": ""}, "reproduced needs what was measured"),
        ({"verdict": "open"}, "nothing measured"),
        ({"verdict": "open", "measured": "", "command": ""}, "has a command that would measure it"),
        ({"verdict": "not checkable", "note": ""}, "needs a note"),
        ({"seeds": "some"}, "whole number"),
        ({"claim": " "}, "claim is empty"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(change: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message) as refusal:
        list(parse_claims(write(GOOD, GOOD | {"where": "table 3"} | change)))
    assert (refusal.value.file, refusal.value.line) == ("claims.csv", 3)


def test_missing_columns_and_rows_that_are_too_short_are_refused() -> None:
    with pytest.raises(DataError, match="the columns must be"):
        list(parse_claims(write(GOOD, columns=COLUMNS[:-1])))
    with pytest.raises(DataError, match="10 cells"):
        list(parse_claims(write(GOOD) + "EAGLE,table 3\n"))


def test_the_page_of_the_documents_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("papers_docs", ROOT / "scripts" / "papers_docs.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PAGE.read_text("utf-8") == script.render_page(), "run python scripts/papers_docs.py"


def test_the_same_claim_does_not_stand_twice() -> None:
    with pytest.raises(DataError, match="is listed twice"):
        list(parse_claims(write(GOOD, GOOD)))


def test_rows_about_one_place_are_numbered() -> None:
    rows = list(parse_claims(write(GOOD, GOOD | {"claim": "it works better"})))
    assert [row.id for row in rows] == ["eagle-table-2-1", "eagle-table-2-2"]


def test_rows_are_selected_by_paper_verdict_and_words() -> None:
    found = select_claims(CLAIMS, paper="EAGLE", verdict="contradicted", text="TOY example")
    assert [claim.id for claim in found] == ["eagle-section-4-1"]
    assert select_claims(CLAIMS) == list(CLAIMS)


def test_counts_add_up() -> None:
    assert sum(count_verdicts(CLAIMS).values()) == len(CLAIMS)
    assert count_verdicts([])[OPEN] == 0


def test_papers_and_verdicts_are_found_by_what_people_type() -> None:
    assert find_paper("multi-HEAD").name == "Multi-head"
    assert find_verdict("not-checkable") == "not checkable"
    with pytest.raises(DataError, match="choose one of ZestXML"):
        find_paper("parabel")
    with pytest.raises(DataError, match="choose one of reproduced"):
        find_verdict("true")
