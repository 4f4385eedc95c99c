"""Arguments and options that several verbs share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from xcwork.errors import ConfigError


def _use_home(folder: Path | None) -> Path | None:
    """Pass the choice through the environment to the engine, to worker processes and to the dashboard."""
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{folder} is a file, but --home takes a folder")
        os.environ["XCWORK_HOME"] = str(folder.resolve())
    return folder


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Home = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="FOLDER",
        callback=_use_home,
        help="Where data/ and runs/ live. (Default: $XCWORK_HOME, else the current folder.)",
    ),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A built-in dataset or a path.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, as `xcwork runs` lists it, or `last`.")]
DataOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="How to read DATA, such as text_column=abstract. Repeatable."),
]
