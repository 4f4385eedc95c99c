"""`xcwork train`, `resume`, `cancel`, `runs`: training happens in a worker process, these verbs start and watch it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from xcwork.cli.common import HEADLINE, DataOptions, Home, Json, RunId, data_options, record, rounded, settings, show
from xcwork.cli.errors import INTERRUPTED, Ended
from xcwork.errors import ConfigError, RunError

if TYPE_CHECKING:
    from xcwork.runs import Run

CANCEL_PATIENCE = 60.0  # seconds that Ctrl-C waits for the worker to reach its next step
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Where blocks of labels are trained: tcp://HOST:PORT of a Dask scheduler, "
        "or local:N processes. (Default: $XCWORK_CLUSTER, else this process.)",
    ),
]
Detach = Annotated[bool, typer.Option("--detach", help="Do not wait; `xcwork runs` shows how far it is.")]


def train(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="As `xcwork methods` lists them.")],
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="A built-in dataset or a path.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method. Repeatable.")
    ] = None,
    option: DataOptions = None,
    name: Annotated[str, typer.Option("--name", help="What you call this run.")] = "",
    cluster: Cluster = None,
    ranks: Annotated[
        int, typer.Option("--ranks", min=1, max=1024, help="Processes that share the labels of a neural method.")
    ] = 1,
    detach: Detach = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Train a method in a worker process and measure it on the test part."""
    from xcwork.data.load import check_source
    from xcwork.runs import RunStore, jobs

    params, options = _parameters(method, settings(set_, "--set")), data_options(option)
    check_source(data, format=options.get("format"))  # a mistyped path should not leave a failed run behind
    store = RunStore()
    run = store.create(method, params, data, data_options=options, name=name, cluster=_checked(cluster), ranks=ranks)
    _watch(jobs.launch(run), detach, as_json)


def _checked(cluster: str | None) -> str | None:
    """The address, if a cluster answers there: a mistyped one should not leave a failed run behind."""
    if not cluster:
        return cluster
    from xcwork.compute import cluster as clusters

    return clusters.check(cluster)


def _parameters(method: str, texts: dict[str, str]) -> dict[str, Any]:
    from xcwork.methods.registry import method_class

    declared = method_class(method).parameters()
    for name in texts:
        if name not in declared:
            raise ConfigError(f"{method} has no parameter {name!r}; it has {', '.join(declared)}")
    return {name: declared[name].check(declared[name].parse(text)) for name, text in texts.items()}


def resume(
    run: RunId, cluster: Cluster = None, detach: Detach = False, as_json: Json = False, home: Home = None
) -> None:
    """Go on with a run that was cancelled, lost or failed, from what it has stored."""
    from xcwork.runs import RunStore, jobs

    _watch(jobs.resume(RunStore().open(run), cluster=_checked(cluster)), detach, as_json)


def cancel(run: RunId, as_json: Json = False, home: Home = None) -> None:
    """Ask a run to stop at its next step; what it stored stays, and `resume` goes on from there."""
    from xcwork.runs import RunStore, jobs

    opened = RunStore().open(run)
    state = jobs.cancel(opened).state
    show(as_json, {"run": opened.id, "state": state}, f"run {opened.id} is {state}")


def runs(as_json: Json = False, home: Home = None) -> None:
    """List the runs with their states and metrics."""
    from xcwork.export.terminal import table
    from xcwork.runs import RunStore, measured

    store = RunStore()
    records = [record(run) for run in store.list()]
    shown = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")
    rows = [
        [
            r["run"],
            "" if r["name"] == r["run"] else r["name"],
            r.get("data"),
            r["state"],
            *(r["metrics"].get(metric) for metric in shown),
            measured(r, "unseen", "P@5"),
            r["train_seconds"],
        ]
        for r in records
    ]
    columns = ("run", "name", "data", "state", *shown, "unseen P@5", "seconds")
    empty = f"no runs below {store.folder} yet; xcwork train METHOD --data pyseealso makes one"
    show(as_json, {"runs": records}, table(columns, rows) if rows else empty)


def worker(folder: Annotated[Path, typer.Argument(metavar="RUN_FOLDER")]) -> None:
    """Work on one run until it is over; started by `train` and `resume`."""
    from xcwork.runs.worker import main

    raise typer.Exit(main(folder))


def _watch(run: Run, detach: bool, as_json: bool) -> None:
    """Follow the run to its end and show what came of it."""
    from xcwork.export.terminal import ProgressBar, note
    from xcwork.runs import jobs

    if detach:
        config = run.config
        facts = {"run": run.id, "state": run.state, "method": config["method"], "data": config["data"]}
        show(as_json, facts, f"run {run.id} is {facts['state']}")
        return
    note(f"run {run.id}")
    with ProgressBar() as bar:
        try:
            status = jobs.wait(run, [bar])
        except KeyboardInterrupt:
            _stop(run)
    if status.state != "finished":
        raise Ended(f"run {run.id} {_ending(status.state)}: {status.message}", run=run.id, state=status.state)
    show_result(result(run), as_json)


def _ending(state: str) -> str:
    return {"failed": "failed", "cancelled": "was cancelled", "lost": "was lost"}.get(state, f"is {state}")


def _stop(run: Run) -> NoReturn:
    """Ctrl-C: cancel the run and say how to go on with it. A second Ctrl-C does not wait for the worker."""
    from xcwork.export.terminal import note
    from xcwork.runs import jobs

    try:
        jobs.cancel(run)
        note("cancelling; Ctrl-C again leaves at once")
        jobs.wait(run, timeout=CANCEL_PATIENCE)
    except (RunError, KeyboardInterrupt):
        pass  # it was over already, or nobody wants to wait: the state says which
    state = run.state
    hint = "" if state == "finished" else f"; `xcwork resume {run.id}` goes on with it"
    raise Ended(f"interrupted: run {run.id} is {state}{hint}", code=INTERRUPTED, run=run.id, state=state)


def result(run: Run) -> dict[str, Any]:
    """The record of a finished run and what has to be known to read its numbers."""
    report = run.report()  # a run without an evaluation is refused here, with its own sentence
    return record(run) | {"notes": report.notes, "diagnostics": rounded(report.diagnostics)}


def show_result(facts: dict[str, Any], as_json: bool) -> None:
    """The metrics of one run: all, seen and unseen labels side by side."""
    from xcwork.export.terminal import table

    scopes = ("metrics", "seen", "unseen")
    rows = [(metric, *(facts[scope].get(metric) for scope in scopes)) for metric in HEADLINE]
    figures = [f"{facts['train_seconds']:.1f} s training"]
    if facts.get("predict_ms_per_document") is not None:
        figures.append(f"{facts['predict_ms_per_document']:.2f} ms a document")
    figures.append(f"{facts['peak_memory_mb']:,.0f} MB at most")
    if facts.get("model_bytes") is not None:
        figures.append(f"model {facts['model_bytes'] / 1e6:,.1f} MB")
    own = ", ".join(f"{name.replace('_', ' ')} {value:,.9g}" for name, value in facts["diagnostics"].items())
    show(
        as_json,
        facts,
        f"{facts['run']}: {facts['method']} on {facts['data']}, {facts['state']}",
        table(("", "all", "seen", "unseen"), rows),
        ", ".join(figures),
        *([own] if own else []),
        *(f"{scope}: {sentence}" for scope, sentence in facts["notes"].items()),
    )
