"""`xcwork delete` and `xcwork rename`: runs and the datasets of the data folder, unless a training uses them."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from xcwork.cli.arguments import Home, Json
from xcwork.cli.errors import Ended
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError

if TYPE_CHECKING:
    from xcwork.runs import Run


class Kind(StrEnum):
    """What can be deleted and renamed."""

    run = "run"
    data = "data"


What = Annotated[Kind, typer.Argument(metavar="run|data", help="A run, or a dataset of the data folder.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The id of a run, or a dataset as `xcwork datasets` has it.")]


def delete(
    kind: What,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Delete a run or a dataset for good; runs of a deleted dataset stay readable."""
    from xcwork.data import data_folder
    from xcwork.runs import RunStore, manage

    store = RunStore()
    if kind is Kind.run:
        run = store.open(name)
        title = run.id if run.name == run.id else f"{run.id} ({run.name})"
        _ask_user(f"Delete run {title}?", yes, as_json)
        manage.delete_run(run)
        print_result(as_json, {"deleted": run.id, "kind": kind.value}, f"deleted run {title}")
        return
    dataset = data_folder.find_dataset(name, store.home)
    n_runs = len(manage.find_runs_on(dataset, store))
    trained = f", which {n_runs} {'run was' if n_runs == 1 else 'runs were'} trained on" if n_runs else ""
    _ask_user(f"Delete dataset {dataset.name}{trained}?", yes, as_json)
    runs = manage.delete_dataset(name, store)
    facts = {"deleted": dataset.name, "kind": kind.value}
    _print_with_runs(as_json, facts, f"deleted {dataset.name}", "runs trained on it, which can still be opened", runs)


def rename(
    kind: What,
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW_NAME", help="A dataset keeps the suffix of its file.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Rename a run, which keeps its id, or a dataset, which keeps its runs."""
    from xcwork.runs import RunStore, manage

    store = RunStore()
    if kind is Kind.run:
        run = store.open(name)
        manage.rename_run(run, new_name)
        facts = {"renamed": run.id, "kind": kind.value, "name": run.name}
        print_result(as_json, facts, f"run {run.id} is now called {run.name}")
        return
    place, runs = manage.rename_dataset(name, new_name, store)
    facts = {"renamed": name, "kind": kind.value, "name": place.name}
    _print_with_runs(as_json, facts, f"{name} is now called {place.name}", "its runs", runs)


def _ask_user(question: str, yes: bool, as_json: bool) -> None:
    """Continue only if the user says yes, here or in advance."""
    from xcwork.export.text import clean_text

    if yes:
        return
    if as_json:
        raise ConfigError("--json cannot ask for confirmation; add --yes to delete")
    sys.stderr.write(f"{clean_text(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Ended("nothing was deleted; --yes deletes without asking")


def _print_with_runs(as_json: bool, facts: dict[str, str], sentence: str, title: str, runs: list[Run]) -> None:
    """Print what was done to a dataset, and which runs that concerns."""
    ids = [run.id for run in runs]
    print_result(as_json, facts | {"runs": ids}, sentence, *([f"{title}: {', '.join(ids)}"] if ids else []))
