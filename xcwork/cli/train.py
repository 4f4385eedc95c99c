"""`xcwork train`, `resume`, `cancel`, `runs`: training happens in a worker process, these verbs start and watch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from xcwork.cli.arguments import DataOptions, Home, Json, RunId
from xcwork.cli.errors import INTERRUPTED_CODE, Ended
from xcwork.cli.output import build_record, print_result, round_figures
from xcwork.errors import RunError
from xcwork.options import parse_data_options, parse_pairs

if TYPE_CHECKING:
    from xcwork.metrics import EvalReport
    from xcwork.runs import Run

MAX_CANCEL_SECONDS = 60.0  # that Ctrl-C waits for the worker to reach its next step
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
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Settings to start from: default, quick or paper (as in the paper); --set changes some of them.",
        ),
    ] = None,
    option: DataOptions = None,
    name: Annotated[str, typer.Option("--name", help="What you call this run.")] = "",
    cluster: Cluster = None,
    ranks: Annotated[
        int, typer.Option("--ranks", min=1, max=1024, help="Processes that share the labels of a neural method.")
    ] = 1,
    calibration: Annotated[
        str,
        typer.Option(
            "--calibration",
            help="How probabilities are learned: held_out (a few documents are kept out of training), refit (on scores "
            "of further models), sparing (refit below 2,000 documents, else held_out), auto (refit up to 20,000 "
            "documents, else held_out; sparing for slow methods) or none.",
        ),
    ] = "auto",
    no_map: Annotated[bool, typer.Option("--no-map", help="Do not lay out the label map afterwards.")] = False,
    detach: Detach = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Train a method in a worker process and measure it on the test split."""
    from xcwork.methods.registry import find_method_class
    from xcwork.runs import RunStore, jobs

    declared = find_method_class(method).parameters()
    texts = parse_pairs(set_, "--set")
    run = RunStore().create(
        method,
        # The run refuses names that the method does not know.
        {key: declared[key].parse(text) if key in declared else text for key, text in texts.items()},
        data,
        data_options=parse_data_options(option),
        name=name,
        cluster=_check_cluster(cluster),
        ranks=ranks,
        calibration=calibration,
        label_map=not no_map,
        preset=preset,
    )
    _watch_run(jobs.launch(run), detach, as_json)


def _check_cluster(address: str | None) -> str | None:
    """Return the address if a cluster answers there: a mistyped one should not leave a failed run behind."""
    if not address:
        return address
    from xcwork.compute import cluster

    return cluster.check_address(address)


def resume(
    run: RunId, cluster: Cluster = None, detach: Detach = False, as_json: Json = False, home: Home = None
) -> None:
    """Resume a run that was cancelled, lost or failed, from what it has stored."""
    from xcwork.runs import RunStore, jobs

    _watch_run(jobs.resume(RunStore().open(run), cluster=_check_cluster(cluster)), detach, as_json)


def cancel(run: RunId, as_json: Json = False, home: Home = None) -> None:
    """Ask a run to stop at its next step; what it stored stays, and `resume` continues from there."""
    from xcwork.runs import RunStore, jobs

    opened = RunStore().open(run)
    state = jobs.cancel(opened).state
    print_result(as_json, {"run": opened.id, "state": state}, f"run {opened.id} is {state}")


def runs(as_json: Json = False, home: Home = None) -> None:
    """List the runs with their states and metrics."""
    from xcwork.export.terminal import render_table
    from xcwork.runs import RunStore, get_figure

    store = RunStore()
    records = [build_record(run) for run in store.list()]
    columns = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")
    rows = [
        [
            r["run"],
            "" if r["name"] == r["run"] else r["name"],
            r.get("data"),
            r["state"],
            *(r["metrics"].get(metric) for metric in columns),
            get_figure(r, "unseen", "P@5"),
            r["train_seconds"],
        ]
        for r in records
    ]
    head = ("run", "name", "data", "state", *columns, "unseen P@5", "seconds")
    empty = f"no runs below {store.folder} yet; xcwork train METHOD --data pyseealso makes one"
    print_result(as_json, {"runs": records}, render_table(head, rows) if rows else empty)


def _watch_run(run: Run, detach: bool, as_json: bool) -> None:
    """Follow the run to its end and show what came of it."""
    from xcwork.export.terminal import ProgressBar, print_note
    from xcwork.runs import jobs
    from xcwork.runs.status import tell_state

    if detach:
        config = run.config
        facts = {"run": run.id, "state": run.state, "method": config["method"], "data": config["data"]}
        print_result(as_json, facts, f"run {run.id} is {facts['state']}")
        return
    print_note(f"run {run.id}")
    with ProgressBar() as bar:
        try:
            status = jobs.wait(run, [bar])
        except KeyboardInterrupt:
            _stop_run(run)
    if status.state != "finished":
        raise Ended(f"run {run.id} {tell_state(status.state)}: {status.message}", run=run.id, state=status.state)
    print_run(build_run_record(run), as_json)


def _stop_run(run: Run) -> NoReturn:
    """Cancel the run after Ctrl-C and say how to resume it. A second Ctrl-C does not wait for the worker."""
    from xcwork.export.terminal import print_note
    from xcwork.runs import jobs

    try:
        jobs.cancel(run)
        print_note("cancelling; Ctrl-C again leaves immediately")
        jobs.wait(run, timeout=MAX_CANCEL_SECONDS)
    except (RunError, KeyboardInterrupt):
        pass  # it was over already, or nobody wants to wait: the state says which
    state = run.state
    hint = "" if state == "finished" else f"; `xcwork resume {run.id}` continues it"
    raise Ended(f"interrupted: run {run.id} is {state}{hint}", code=INTERRUPTED_CODE, run=run.id, state=state)


def build_run_record(run: Run) -> dict[str, Any]:
    """Return the record of a finished run and what has to be known to read its numbers."""
    report = run.read_report()  # a run without an evaluation is refused here, with its own sentence
    figures = {"diagnostics": round_figures(report.diagnostics), "calibration": summarise_calibration(report)}
    return build_record(run) | {"notes": report.notes} | figures


def summarise_calibration(report: EvalReport) -> dict[str, Any] | None:
    """Return ECE@k and Brier score with two decimals; None for a run without probabilities."""
    return {part: round_figures(report.calibration[part]) for part in ("ece", "brier")} if report.calibration else None


def print_run(facts: dict[str, Any], as_json: bool) -> None:
    """Print the metrics of one run: all, seen and unseen labels side by side."""
    from xcwork.export.terminal import render_table
    from xcwork.metrics import HEADLINE_METRICS
    from xcwork.metrics.calibration import describe_calibration

    scopes = ("metrics", "seen", "unseen")
    rows = [(metric, *(facts[scope].get(metric) for scope in scopes)) for metric in HEADLINE_METRICS]
    figures = [f"{facts['train_seconds']:.1f} s training"]
    if facts.get("predict_ms_per_document") is not None:
        figures.append(f"{facts['predict_ms_per_document']:.2f} ms per document")
    figures.append(f"{facts['peak_memory_mb']:,.0f} MB at most")
    if facts.get("model_bytes") is not None:
        figures.append(f"model {facts['model_bytes'] / 1e6:,.1f} MB")
    own = ", ".join(f"{name.replace('_', ' ')} {value:,.9g}" for name, value in facts["diagnostics"].items())
    print_result(
        as_json,
        facts,
        f"{facts['run']}: {facts['method']} on {facts['data']}, {facts['state']}",
        render_table(("", "all", "seen", "unseen"), rows),
        ", ".join(figures),
        *([describe_calibration(facts["calibration"])] if facts.get("calibration") else []),
        *([own] if own else []),
        *(f"{scope}: {sentence}" for scope, sentence in facts["notes"].items()),
    )
