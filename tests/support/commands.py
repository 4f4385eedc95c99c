"""The command line, called in this process, and tables for it to read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from xcwork.cli import app


def xcwork(*arguments: object) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of a command."""
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def xcwork_json(*arguments: object) -> dict[str, Any]:
    """Return the JSON document of a command that must succeed."""
    code, out, err = xcwork(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def write_table(path: Path, rows: list[tuple[str, str]]) -> None:
    """Write texts and their labels as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "labels"), *rows])
