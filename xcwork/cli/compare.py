"""`xcwork evaluate`, `compare` and `report`: how good a run is, and whether it is better than another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import DataOptions, Home, Json, RunId
from xcwork.cli.loading import read_data, read_run_data
from xcwork.cli.output import build_record, print_result, round_figures
from xcwork.cli.train import build_run_record, print_run, summarise_calibration
from xcwork.errors import ConfigError
from xcwork.options import parse_data_options

if TYPE_CHECKING:
    from xcwork.runs import Run

DIFFERENCE_FIELDS = ("difference", "low", "high")


def evaluate(
    run: RunId,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="Measure on the test split of this dataset instead.")
    ] = None,
    option: DataOptions = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Show how good a run is on its test split, or measure it on another dataset."""
    from xcwork.runs import RunStore

    opened = RunStore().open(run)
    record = build_run_record(opened) if data is None else _measure_on(opened, data, parse_data_options(option))
    print_run(record, as_json)


def _measure_on(run: Run, data: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the record of the run with metrics on other data."""
    from xcwork.analysis.alignment import align_dataset
    from xcwork.export.terminal import ProgressBar
    from xcwork.metrics import evaluate as measure

    model = run.load_model()
    trained_on = read_run_data(run)
    aligned, told = align_dataset(read_data(data, options), trained_on, model)
    with ProgressBar() as bar:
        report = measure(model, aligned, callbacks=[bar])
    figures = {part: round_figures(getattr(report, part)) for part in ("metrics", "seen", "unseen", "diagnostics")}
    speed = round(report.predict_ms_per_document, 3)
    notes = {"labels": " ".join(told)} | report.notes if told else report.notes
    return (
        build_record(run)
        | {"data": aligned.name, "predict_ms_per_document": speed, "notes": notes}
        | figures
        | {"calibration": summarise_calibration(report)}
    )


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Two or more; the first is the reference.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Put runs side by side: metrics, differences to the first run, and whether these are more than chance."""
    from xcwork.export.terminal import render_table
    from xcwork.metrics import HEADLINE_METRICS
    from xcwork.runs import RunStore, get_figure

    store = RunStore()
    opened = [store.open(run) for run in runs]
    if len({run.id for run in opened}) < max(2, len(opened)):
        raise ConfigError("compare takes two or more different runs")
    for run in opened:
        run.read_report()
    records = [build_record(run) for run in opened]
    differences = _find_differences(opened)
    reference, *others = records
    rows = [
        [r["run"], *(r["metrics"].get(metric) for metric in HEADLINE_METRICS), get_figure(r, "unseen", "P@5")]
        for r in records
    ]
    parts: list[Any] = [render_table(("run", *HEADLINE_METRICS, "unseen P@5"), rows)]
    for other in others:
        parts += ["", *_render_difference(other["run"], reference["run"], differences.get(other["run"]))]
    payload = {"reference": reference["run"], "runs": records, "differences": differences}
    print_result(as_json, payload, *parts)


def _find_differences(runs: list[Run]) -> dict[str, list[dict[str, Any]]]:
    """Return the headline differences to the reference, with intervals, of every run on the same data."""
    from xcwork.metrics import HEADLINE_METRICS
    from xcwork.metrics.significance import compare_predictions
    from xcwork.storage.fingerprint import may_match

    reference = runs[0]
    candidates = [run for run in runs[1:] if may_match(_read_fingerprint(run), _read_fingerprint(reference))]
    if not candidates:
        return {}
    dataset, base = read_run_data(reference), reference.read_topk()
    found = {}
    for run in candidates:
        if not dataset.recognises(_read_fingerprint(run)):
            continue
        rows = compare_predictions(run.read_topk(), base, dataset).to_dict("records")
        found[run.id] = [
            {"metric": row["metric"]}
            | {name: round(row[name], 2) for name in DIFFERENCE_FIELDS}
            | {"p_value": round(row["p_value"], 4), "significant": bool(row["significant"])}
            for row in rows
            if row["metric"] in HEADLINE_METRICS
        ]
    return found


def _read_fingerprint(run: Run) -> str | None:
    return (run.config.get("dataset") or {}).get("fingerprint")


def _render_difference(run: str, reference: str, rows: list[dict[str, Any]] | None) -> list[Any]:
    from xcwork.export.terminal import render_table

    if rows is None:
        return [f"{run} and {reference} were tested on different data and cannot be compared"]
    cells = [
        (
            r["metric"],
            f"{r['difference']:+.2f}",
            f"{r['low']:+.2f} to {r['high']:+.2f}",
            f"{r['p_value']:.4f}",
            "yes" if r["significant"] else "no",
        )
        for r in rows
    ]
    return [f"{run} minus {reference}", render_table(("", "difference", "95 % interval", "p", "significant"), cells)]


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="One run, or several side by side.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write. (Default: report.html in the run folder.)")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Write a report about runs: a single HTML file that opens offline."""
    from xcwork.runs import RunStore
    from xcwork.viz.run_report import write_report

    store = RunStore()
    opened = [store.open(run) for run in runs]
    if output is None and len(opened) > 1:
        raise ConfigError("a report on several runs needs an output file; name it with --output")
    path = opened[0].folder / "report.html" if output is None else output
    if not path.parent.is_dir():
        raise ConfigError(f"{path.name} cannot be written: the folder {path.parent} does not exist")
    write_report(opened, path)
    print_result(as_json, {"runs": [run.id for run in opened], "output": str(path.resolve())}, f"report in {path}")
