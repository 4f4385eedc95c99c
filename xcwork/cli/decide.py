"""`xcwork decide` and `xcwork calibrate`: from which probability on a label needs no check, and what that gives."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import DataOptions, Home, Json, RunId
from xcwork.cli.loading import read_data, read_run_data
from xcwork.cli.output import print_result
from xcwork.cli.train import summarise_calibration
from xcwork.errors import ConfigError
from xcwork.options import parse_data_options

if TYPE_CHECKING:
    from xcwork.decisions.calibration import Calibration
    from xcwork.decisions.choice import Decisions
    from xcwork.decisions.outcomes import Outcome
    from xcwork.decisions.thresholds import Choice, Promise
    from xcwork.runs import Run

MAX_SHOWN_LABELS = 10


def decide(
    run: RunId,
    precision: Annotated[
        float | None,
        typer.Option("--precision", help="Share of assigned labels that should be right: 0.95 or 95."),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", help="One threshold, one per band of label frequency, or one per label.")
    ] = "one",
    goal: Annotated[
        str,
        typer.Option("--goal", help="One of precision, micro-f1, macro-f1, coverage (the last two count rare labels)."),
    ] = "precision",
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="Labels per document, for macro-f1 and coverage.")] = 5,
    assign: Annotated[
        float | None,
        typer.Option(
            "--assign",
            min=0.0,
            max=1.0,
            help="Probability from which labels are assigned, set directly.",
        ),
    ] = None,
    suggest: Annotated[
        float, typer.Option("--suggest", min=0.0, max=1.0, help="Probability from which labels are suggested.")
    ] = 0.2,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show, but do not store the choice with the run.")] = False,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Choose thresholds on held-out training documents, show what they give on the test split, and store them."""
    from xcwork.analysis.decision_view import compare_goals, judge_predictions, measure_decisions
    from xcwork.decisions.choice import BY, Decisions, write_decisions
    from xcwork.decisions.goals import GOALS
    from xcwork.runs import RunStore
    from xcwork.runs.calibration import require_calibration

    if goal not in GOALS:
        raise ConfigError(f"the goal must be one of {', '.join(GOALS)}, got {goal!r}")
    if by not in BY:
        raise ConfigError(f"--by takes one of {', '.join(BY)}, got {by!r}")
    if assign is not None and (precision is not None or goal != "precision" or by != "one"):
        raise ConfigError("--assign is the threshold itself; leave out --precision, --goal and --by")
    if goal == "precision" and precision is None and assign is None:
        raise ConfigError(
            "give --precision, the share of assigned labels that should be right, such as 0.95, or --assign, "
            "the probability from which labels are assigned"
        )
    opened = RunStore().open(run)
    calibration = require_calibration(opened)
    decisions, choice = (
        _choose(calibration, goal, precision, by, k, suggest)
        if assign is None
        else (Decisions(assign=assign, suggest=suggest), None)
    )
    judged = judge_predictions(opened, read_run_data(opened))
    outcome = measure_decisions(judged, decisions)
    if not dry_run:
        write_decisions(opened.folder, decisions)
    payload = _build_payload(opened, decisions, choice, outcome)
    payload["goals"] = compare_goals(judged, k)
    print_result(as_json, payload, *_list_lines(payload, outcome, choice))


def _choose(
    calibration: Calibration, goal: str, precision: float | None, by: str, k: int, suggest: float
) -> tuple[Decisions, Choice | None]:
    """Return the decisions for a goal, and the evidence where the goal is a precision."""
    from xcwork.decisions.choice import Decisions
    from xcwork.decisions.thresholds import choose_for_f1, choose_for_precision, read_precision

    if goal == "precision":
        assert precision is not None
        choice = choose_for_precision(calibration.evidence, read_precision(precision), by=by, suggest=suggest)
        return choice.decisions, choice
    if goal == "micro-f1":
        return choose_for_f1(calibration.evidence, suggest=suggest), None
    return Decisions(assign=0.0, suggest=0.0, limit=k, goal=goal), None


def _build_payload(run: Run, decisions: Decisions, choice: Choice | None, outcome: Outcome) -> dict[str, Any]:
    """Return what scripts rely on; percentages with two decimals, None where nothing is assigned."""
    asked, threshold = decisions.asked_precision, decisions.to_dict()["assign"]
    payload: dict[str, Any] = {
        "run": run.id,
        "goal": decisions.goal,
        "by": decisions.by,
        "asked_precision": None if asked is None else round(100.0 * asked, 2),
        "threshold": None if threshold is None else round(100.0 * threshold, 2),
        "limit": decisions.limit,
        "achieved_precision": _round(outcome.precision),
        "achieved_interval": [_round(outcome.precision_low), _round(outcome.precision_high)],
        "recall": _round(outcome.recall),
        "micro_f1": _round(outcome.micro_f1),
        "automation_share": _round(outcome.automation_share),
        "assignment_share": _round(outcome.assignment_share),
        "labels_per_document": _round(outcome.labels_per_document),
        "test_documents": outcome.n_documents,
        "assignments": outcome.n_assignments,
        "promised": None,
        "note": "",
    }
    if choice is None:  # no precision was asked for, so none is promised
        return payload
    expected = {name: _round(value) for name, value in asdict(choice.expected).items()}
    payload |= {"expected": expected, "bands": {n: _show_promise(p) for n, p in choice.bands.items()}}
    payload |= {"labels": {str(label): _show_promise(p) for label, p in choice.labels.items()}}
    return payload | _judge(choice)


def _judge(choice: Choice) -> dict[str, Any]:
    """Return whether the precision can be promised, and the sentence that says why not."""
    from xcwork.decisions.thresholds import MAX_MISS_POINTS

    asked = 100.0 * (choice.decisions.asked_precision or 0.0)
    used = [promise for promise in choice.list_promises() if promise.is_reached]
    if not used:
        return {
            "promised": False,
            "note": f"{asked:g} % cannot be promised: no threshold reaches it on {choice.expected.n_documents:,} "
            "held-out documents, so nothing is assigned without a check; --assign sets a threshold without a promise",
        }
    if not choice.is_promised:
        worst = max(used, key=lambda promise: promise.high - promise.low)
        where = "it rests on" if len(used) == 1 else "one of the thresholds rests on"
        return {
            "promised": False,
            "note": f"{asked:g} % cannot be promised to within {MAX_MISS_POINTS:g} points: {where} {worst.n:,} "
            f"held-out predictions, which leave {worst.low:.1f} to {worst.high:.1f} % open",
        }
    return {"promised": True, "note": ""}


def _show_promise(promise: Promise) -> dict[str, Any]:
    return {
        "threshold": round(100.0 * promise.threshold, 2) if promise.is_reached else None,
        "n": promise.n,
        "precision": _round(promise.precision),
        "low": _round(promise.low),
        "high": _round(promise.high),
    }


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _list_lines(payload: dict[str, Any], outcome: Outcome, choice: Choice | None) -> list[Any]:
    """Return the choice for people."""
    from xcwork.export.terminal import render_table

    lines: list[Any] = []
    if payload["threshold"] is None:
        lines.append("nothing is assigned without a check")
    else:
        limit = f", at most {payload['limit']} per document" if payload["limit"] else ""
        lines.append(f"assign from {payload['threshold']:.2f} %{limit}")
    rows = [
        ("right", payload["achieved_precision"]),
        ("95 % interval", "{} to {}".format(*payload["achieved_interval"])),
        ("of the true labels", payload["recall"]),
        ("documents that get a label", payload["automation_share"]),
        ("shown labels that need no check", payload["assignment_share"]),
        ("labels per document (number)", payload["labels_per_document"]),
    ]
    lines.append(render_table((f"on {outcome.n_documents:,} test documents, %", ""), rows))
    if choice is not None and choice.bands:
        rows = [(name, *_show_promise(p).values()) for name, p in choice.bands.items()]
        rows += [
            (f"label {label}", *_show_promise(p).values())
            for label, p in list(choice.labels.items())[:MAX_SHOWN_LABELS]
        ]
        lines.append(render_table(("on held-out documents", "assign from", "n", "right", "low", "high"), rows))
    first = next(iter(payload["goals"].values()))
    rows = [(goal, *figures.values()) for goal, figures in payload["goals"].items()]
    lines.append(render_table(("labels chosen for, %", *first), rows))
    return lines + ([payload["note"]] if payload["note"] else [])


def calibrate(
    run: RunId,
    data: Annotated[
        str | None, typer.Argument(metavar="[DATA]", help="Where to learn probabilities. (Default: the run's dataset.)")
    ] = None,
    option: DataOptions = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Learn the probabilities of a run again, on held-out training documents, and measure them on the test split."""
    from xcwork.export.terminal import ProgressBar
    from xcwork.metrics.calibration import describe_calibration
    from xcwork.runs import RunStore
    from xcwork.runs.calibration import recalibrate_run

    opened = RunStore().open(run)
    dataset = read_run_data(opened) if data is None else read_data(data, parse_data_options(option))
    with ProgressBar() as bar:
        report = recalibrate_run(opened, dataset, callbacks=[bar])
    calibration = opened.read_calibration()
    assert calibration is not None  # it has just been stored
    facts = {"run": opened.id, "way": calibration.way, "held_out_documents": calibration.n_documents}
    print_result(
        as_json,
        facts | {"calibration": summarise_calibration(report)},
        f"run {opened.id} is calibrated on {calibration.n_documents:,} held-out documents ({calibration.way})",
        describe_calibration(report.calibration),
    )
