"""`xcwork review`: labels that deserve a person's eye, the answers to them, and what the answers change."""

from __future__ import annotations

import getpass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import Home, Json, RunId
from xcwork.cli.loading import read_run_data
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.review.session import RunReview
    from xcwork.runs import Run


class QueueChoice(StrEnum):
    """The queues by name, here too so that `--help` need not load them."""

    missing = "missing"
    wrong = "wrong"
    threshold = "threshold"
    requested = "requested"


class ReviewedSplit(StrEnum):
    """The splits by name."""

    test = "test"
    train = "train"


def review(
    run: RunId,
    queue: Annotated[
        QueueChoice,
        typer.Option(
            "--queue", help="Labels likely missing, likely wrong, near the threshold, or requested by people."
        ),
    ] = QueueChoice.missing,
    split: Annotated[
        ReviewedSplit, typer.Option("--split", help="Whose labels; train needs --folds once.")
    ] = ReviewedSplit.test,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Number of waiting items to list.")] = 10,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0.0, max=1.0, help="Probability the threshold queue is about.")
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="Without reasons, neighbours and other runs.")] = False,
    answer: Annotated[
        tuple[str, str] | None,
        typer.Option("--answer", metavar="ITEM VERDICT", help="Answer an item: right, wrong or unsure."),
    ] = None,
    note: Annotated[str, typer.Option("--note", help="With --answer: a remark that is kept with it.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Undo your latest answer.")] = False,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answers. (Default: your user.)")] = None,
    summary: Annotated[bool, typer.Option("--summary", help="Progress, agreement, corrected metrics.")] = False,
    answers: Annotated[
        Path | None, typer.Option("--answers", metavar="FILE", help="Write all answers to a CSV file.")
    ] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, help="With --split train: predict it with that many training runs.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Review labels: list what is doubtful, answer it, and see what the answers change."""
    from xcwork.review.session import RunReview
    from xcwork.runs import RunStore

    _check_options(answer=answer, undo=undo, summary=summary, answers=answers, note=note, folds=folds, split=split)
    opened = RunStore().open(run)
    dataset = read_run_data(opened)
    if folds is not None:
        _predict_training_split(opened, dataset, folds)
    session = RunReview.from_run(opened, dataset, split=split.value, threshold=threshold)
    person = by or getpass.getuser()
    if answer is not None:
        _answer(session, *answer, by=person, note=note, as_json=as_json)
    elif undo:
        _undo(session, by=person, as_json=as_json)
    elif summary:
        _print_summary(session, as_json)
    elif answers is not None:
        _write_answers(session, answers, as_json)
    else:
        _print_items(session, opened, queue.value, limit, brief, as_json)


def _check_options(
    *, answer: object, undo: bool, summary: bool, answers: object, note: str, folds: int | None, split: ReviewedSplit
) -> None:
    chosen = (answer is not None) + undo + summary + (answers is not None)
    if chosen > 1:
        raise ConfigError("give one of --answer, --undo, --summary and --answers")
    if note and answer is None:
        raise ConfigError("--note goes with --answer")
    if folds is not None and split != ReviewedSplit.train:
        raise ConfigError("--folds goes with --split train")


def _predict_training_split(run: Run, dataset: Dataset, n_folds: int) -> None:
    from xcwork.export.terminal import ProgressBar
    from xcwork.methods import registry
    from xcwork.progress import listen
    from xcwork.review.out_of_fold import predict_out_of_fold, store_out_of_fold

    config = run.config
    with ProgressBar() as bar, listen([bar]):
        found = predict_out_of_fold(
            lambda: registry.create(config["method"], **config["params"]), dataset.train, n_folds=n_folds
        )
    store_out_of_fold(run, found)


def _print_items(session: RunReview, run: Run, queue: str, limit: int, brief: bool, as_json: bool) -> None:
    from dataclasses import asdict

    from xcwork.export.terminal import render_table
    from xcwork.review.details import gather_details
    from xcwork.review.queue import describe_item
    from xcwork.review.session import read_other_runs
    from xcwork.runs import RunStore

    verdicts, found = session.read_verdicts(), session.queue(queue)
    answered = verdicts.group_by_item()
    waiting = [item for item in found.list_items() if item.place not in answered][:limit]
    records: list[dict[str, Any]] = [describe_item(item, session.dataset) for item in waiting]
    if waiting and not brief:
        method = run.load_model()
        others = read_other_runs(run, RunStore().list(), session.dataset, session.split)
        for record, item in zip(records, waiting, strict=True):
            record |= asdict(gather_details(session.dataset, item.place, method=method, others=others))
    counts = found.count_answered(verdicts)
    payload = {"run": run.id, "dataset": session.dataset.name, "split": session.split, "queue": queue}
    rows = [
        (record["item"], record["uid"] or record["document"], record["label"], record["reason"]) for record in records
    ]
    print_result(
        as_json,
        payload | counts | {"items": records, "problems": list(verdicts.problems)},
        f"{counts['waiting']:,} waiting and {counts['answered']:,} answered in the queue {queue}"
        if len(found)
        else "Nothing looks doubtful.",
        *([render_table(("item", "document", "label", "why it is here"), rows)] if rows else []),
        *_note_problems(verdicts.problems),
    )


def _answer(session: RunReview, name: str, verdict: str, *, by: str, note: str, as_json: bool) -> None:
    from xcwork.review.queue import QueueName, parse_item

    item = parse_item(name, session.dataset)
    # The probability of the answer must be that of the split it is about.
    if item[0] != session.split:
        raise ConfigError(f"{name} is not in the {session.split} split; give --split {item[0]}")
    queue = next((each.value for each in QueueName if item in set(session.queue(each).list_places())), "")
    stored = session.answer(item, verdict, by=by, note=note, queue=queue)
    waiting = session.queue(queue).count_answered(session.read_verdicts())["waiting"] if queue else None
    left = "" if waiting is None else f"; {waiting:,} waiting in the queue {queue}"
    print_result(
        as_json,
        {"run": session.run, "item": name, "answer": stored.verdict.value, "by": by, "queue": queue or None}
        | {"probability": stored.probability, "id": stored.id, "when": stored.when, "waiting": waiting},
        f"{name}: {stored.verdict.value} by {by}{left}",
    )


def _undo(session: RunReview, *, by: str, as_json: bool) -> None:
    answer = session.undo(by=by)
    if answer is None:
        raise ConfigError(f"{by} has no answer to undo")
    name = ":".join(map(str, answer.item))
    print_result(
        as_json,
        {"run": session.run, "item": name, "undone": answer.verdict.value, "by": by},
        f"{name}: {answer.verdict.value} by {by} is taken back",
    )


def _write_answers(session: RunReview, file: Path, as_json: bool) -> None:
    from xcwork.export.tables import render_csv
    from xcwork.review.session import tabulate_answers
    from xcwork.storage.atomic import write_text

    if not file.parent.is_dir():
        raise ConfigError(f"there is no folder {file.parent} to write {file.name} into")
    verdicts = session.read_verdicts()
    write_text(file, render_csv(tabulate_answers(session.dataset, verdicts)))
    print_result(
        as_json,
        {"run": session.run, "output": str(file.resolve()), "answers": len(verdicts.answers)}
        | {"problems": list(verdicts.problems)},
        f"{len(verdicts.answers):,} answers in {file}",
        *_note_problems(verdicts.problems),
    )


def _print_summary(session: RunReview, as_json: bool) -> None:
    from xcwork.export.terminal import render_table
    from xcwork.review.correction import phrase_corrections

    facts = session.summarise()
    queues = [
        (name, *(each[part] for part in ("waiting", "answered", "right", "wrong", "unsure")))
        for name, each in facts["queues"].items()
    ]
    metrics = [
        (
            m["metric"],
            m["original"],
            m["corrected"],
            f"{m['change']:+.2f}",
            "{:+.2f} to {:+.2f}".format(*m["change_interval"]),
        )
        for m in facts["metrics"]
    ]
    made = facts["corrections"]
    pairs = [
        (" and ".join(pair["reviewers"]), pair["items"], pair["share"], pair["kappa"]) for pair in facts["agreement"]
    ]
    print_result(
        as_json,
        facts,
        render_table(("queue", "waiting", "answered", "right", "wrong", "unsure"), queues),
        phrase_corrections(*(made[name] for name in ("added", "removed", "confirmed", "disputed"))),
        render_table(("", "as annotated", "corrected", "change", "95 % interval"), metrics),
        *([render_table(("reviewers", "items", "agree, %", "kappa"), pairs)] if pairs else []),
        *_note_problems(facts["problems"]),
    )


def _note_problems(problems: list[str] | tuple[str, ...]) -> list[str]:
    return ["", *(f"Left out: {problem}" for problem in problems)] if problems else []
