"""What all verbs share: the common options, name=value settings, and the two ways to show a result."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.errors import ConfigError, RunError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from xcwork.core.dataset import Dataset
    from xcwork.runs import Run

HEADLINE = tuple(f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in (1, 3, 5))


def _use_home(folder: Path | None) -> Path | None:
    """The environment carries the choice to the engine, to worker processes and to the dashboard."""
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
        help="Where data/ and runs/ live. (Default: $XCWORK_HOME, else here.)",
    ),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help="A built-in dataset or a path.")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run, as `xcwork runs` lists it.")]
DataOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="How to read DATA, such as text_column=abstract. Repeatable."),
]


def show(as_json: bool, payload: Mapping[str, Any], *parts: RenderableType | str) -> None:
    """The result of a verb: `payload` as JSON, or the readable parts one after the other."""
    from xcwork.export.terminal import clean, output

    if as_json:
        print_json(payload)
        return
    console = output()
    for part in parts:
        if isinstance(part, str):
            console.print(clean(part), soft_wrap=True)
        else:
            console.print(part)


def print_json(payload: Mapping[str, Any]) -> None:
    """One JSON document on standard output, with nothing in it that a terminal would obey."""
    sys.stdout.write(to_json(payload, indent=2) + "\n")
    sys.stdout.flush()


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Valid JSON whatever the value holds: numpy numbers, paths, NaN (null), lone surrogates and control characters."""
    from xcwork.export.terminal import UNSAFE

    text = json.dumps(_plain(value), ensure_ascii=False, indent=indent, allow_nan=False)
    # json escapes the C0 characters itself; the line breaks of its own layout must stay.
    return UNSAFE.sub(lambda match: match.group() if match.group() == "\n" else f"\\u{ord(match.group()):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # a numpy array or number
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def settings(pairs: Iterable[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=x"]` as a dict."""
    parsed: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not re.fullmatch(r"\w+", name.strip()):
            raise ConfigError(f"{option} takes name=value, got {pair!r}")
        if name.strip() in parsed:
            raise ConfigError(f"{option} gives {name.strip()} twice")
        parsed[name.strip()] = value
    return parsed


def data_options(pairs: Iterable[str] | None) -> dict[str, Any]:
    """The `--option`s of a verb as a reader takes them: numbers and true/false where they look like it.

    Names of columns and separators stay text, and files are found from here, because a worker looks from elsewhere.
    """
    from xcwork.data.readers.safe_files import find_named_file

    options: dict[str, Any] = {}
    for name, value in settings(pairs, "--option").items():
        if name.endswith("_file"):
            try:
                options[name] = str(find_named_file(value, Path.cwd()) or value)
            except OSError as refusal:
                raise ConfigError(f"{name} {value[:80]!r} cannot be looked up ({refusal.strerror})") from None
        elif name.endswith(("column", "field", "separator", "delimiter")):
            options[name] = value
        else:
            try:
                options[name] = json.loads(value)
            except (ValueError, RecursionError):
                options[name] = value
    return options


def read_data(source: str, options: Mapping[str, Any]) -> Dataset:
    """The dataset a verb works on, with a bar while it loads."""
    from xcwork.data.load import load_dataset
    from xcwork.export.terminal import ProgressBar
    from xcwork.paths import home
    from xcwork.progress import listening

    with ProgressBar() as bar, listening([bar]):
        return load_dataset(source, home=home(), **options)


def read_run_data(run: Run) -> Dataset:
    """The dataset a run was trained and tested on, which must not have changed since."""
    config = run.config
    dataset = read_data(config["data"], config.get("data_options", {}))
    if not dataset.recognises((config.get("dataset") or {}).get("fingerprint")):
        raise RunError(f"the data of run {run.id} ({config['data']}) changed since it was trained; train a new run")
    return dataset


def rounded(figures: Mapping[str, float]) -> dict[str, float]:
    """The figures with two decimals."""
    return {name: round(value, 2) for name, value in figures.items()}


def record(run: Run) -> dict[str, Any]:
    """A run as scripts see it: percentages with two decimals, seconds and milliseconds too."""
    facts = run.to_dict()
    for part in ("metrics", "seen", "unseen"):
        facts[part] = rounded(facts[part])
    for name, digits in (("train_seconds", 2), ("predict_ms_per_document", 3), ("peak_memory_mb", 1)):
        if facts[name] is not None:
            facts[name] = round(facts[name], digits)
    return facts
