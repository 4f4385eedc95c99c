"""The model card: `model/README.md`, written from the record of the run so that a copied model explains itself.

A YAML head in the form model hubs read, then what the method is, how it was trained, on what, how well it does and
where it fails. Names of labels and data come from outside: in Markdown they are escaped, in YAML they are quoted.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.errors import XcworkError
from xcwork.runs import evaluation
from xcwork.storage.atomic import write_text

if TYPE_CHECKING:
    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport
    from xcwork.runs.status import Status
    from xcwork.runs.store import Run

HEADLINE = tuple(f"{name}@{k}" for name in ("P", "nDCG", "PSP") for k in (1, 3, 5))
MISSED_LABELS, NAME_LENGTH = 5, 80
# Control characters, marks that reorder text, and lone surrogates, which UTF-8 cannot hold.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKDOWN = re.compile(r"([\\`*_\[\]{}#|~!$])")


def write_card(run: Run) -> Path:
    """Write the card of a trained and evaluated run into its model folder."""
    path = run.folder / "model" / "README.md"
    write_text(path, card(run))
    return path


def card(run: Run) -> str:
    """The card as Markdown."""
    from xcwork.methods.registry import method_class

    config, status, report = run.config, run.status, run.report()
    method = method_class(config["method"])
    sections = [
        _head(run, config, report),
        f"# {escape(run.name)}\n\n{_summary(config, report)}",
        f"## Method\n\n{_idea(method)}",
        f"## Parameters\n\n{_parameters(method, config)}",
        f"## Data\n\n{_data(config)}",
        f"## Results\n\n{_results(report, status)}",
        f"## Where it fails\n\n{_failures(run, report)}",
        f"## How to load it\n\n{_usage(config)}",
        f"## Limits\n\n{_limits(method, report)}",
    ]
    return "\n\n".join(sections) + "\n"


def clean(text: object, limit: int | None = NAME_LENGTH) -> str:
    """Text from outside on one line, cut at `limit`, without characters that could hide or reorder anything."""
    shown = _UNSAFE.sub("\ufffd", " ".join(str(text).split()))
    return shown if limit is None or len(shown) <= limit else shown[: limit - 1] + "…"


def escape(text: object, limit: int | None = NAME_LENGTH) -> str:
    """Text from outside as Markdown that shows exactly this text."""
    harmless = clean(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", harmless)


def source_name(data: str) -> str:
    """The data source without the folders it lies in: a card or report that is passed on should not tell them."""
    return Path(data).name if Path(data).is_absolute() else data


def _quoted(text: object) -> str:
    """Text as a YAML scalar: a JSON string is one."""
    return json.dumps(clean(text), ensure_ascii=False)


def _head(run: Run, config: dict[str, Any], report: EvalReport) -> str:
    lines = ["---", "library_name: xcwork", "tags:"]
    lines += [f"- {tag}" for tag in ("extreme-classification", "multi-label-classification", _quoted(config["method"]))]
    lines += ["datasets:", f"- {_quoted(report.dataset)}", "metrics:", *(f"- {_quoted(name)}" for name in HEADLINE)]
    lines += ["model-index:", f"- name: {_quoted(run.name)}", "  results:", "  - task:"]
    lines += ["      type: multi-label-classification", "    dataset:", f"      name: {_quoted(report.dataset)}"]
    lines += [f"      type: {_quoted(source_name(config['data']))}", "    metrics:"]
    for name in HEADLINE:
        lines += [f"    - type: {_quoted(name)}", f"      value: {report.metrics[name]:.2f}"]
    return "\n".join([*lines, "---"])


def _summary(config: dict[str, Any], report: EvalReport) -> str:
    version = escape(config["versions"].get("xcwork", "of unknown version"))
    return (
        f"`{clean(config['method'])}` trained on {escape(report.dataset)} with xcwork {version}: "
        f"P@1 {report.metrics['P@1']:.2f}, P@5 {report.metrics['P@5']:.2f} on {report.n_documents:,} test documents."
    )


def _idea(method: type[Method]) -> str:
    text = inspect.cleandoc(method.__doc__ or method.title)
    return text + (f"\n\nReference: {method.paper}" if method.paper else "")


def _parameters(method: type[Method], config: dict[str, Any]) -> str:
    declared = method.parameters()
    rows = [
        (f"`{name}`", escape(value), escape(declared[name].help) if name in declared else "")
        for name, value in config["params"].items()
    ]
    return _table(("parameter", "value", "meaning"), rows)


def _data(config: dict[str, Any]) -> str:
    facts = config.get("dataset") or {}
    rows = [(f"`{name}`", escape(value)) for name, value in facts.items() if name != "source"]
    given = {"loaded as": config["data"]} | {f"option {name}": value for name, value in config["data_options"].items()}
    asked = [(escape(name), escape(source_name(str(value)))) for name, value in given.items()]
    return _table(("fact", "value"), [*asked, *rows])


def _results(report: EvalReport, status: Status) -> str:
    scopes = (report.metrics, report.seen, report.unseen)
    table = _table(
        ("metric, %", "all labels", "seen in training", "unseen"),
        [(name, *(f"{scope[name]:.2f}" for scope in scopes)) for name in HEADLINE],
    )
    speed = status.predict_ms_per_document
    figures = [
        f"training {status.train_seconds:.1f} s",
        *([] if speed is None else [f"prediction {speed:.2f} ms a document"]),
        f"peak memory {status.peak_memory_mb:,.0f} MB",
        *([] if status.model_bytes is None else [f"model {status.model_bytes / 1e6:,.1f} MB"]),
        f"device {status.device or 'cpu'}",
    ]
    constants = report.propensity
    psp = f"PSP uses A = {constants.A} and B = {constants.B} ({escape(constants.source)})."
    notes = [f"- {escape(scope)}: {escape(note, None)}" for scope, note in report.notes.items()]
    return "\n\n".join([table, f"{', '.join(figures)}. {psp}", *(["\n".join(notes)] if notes else [])])


def _failures(run: Run, report: EvalReport) -> str:
    bands = report.bands["absolute"]
    rows = [
        (name, f"{row['labels']:,}", f"{row['test_positives']:,}", _share(row["recall@5"], row["test_positives"]))
        for name, row in bands.items()
    ]
    parts = [
        _table(("band", "labels", "test positives", "recall@5, %"), rows),
        f"Bands: {escape(report.definitions['absolute'], None)}.",
    ]
    missed = worst_labels(run, MISSED_LABELS)
    if missed:
        found = [(escape(name), str(positives), str(hits)) for name, positives, hits in missed]
        parts += ["Labels it misses most often:", _table(("label", "test documents", "found in the first 5"), found)]
    return "\n\n".join(parts)


def _share(percent: float, of: float) -> str:
    return f"{percent:.2f}" if of else "–"


def worst_labels(run: Run, rows: int) -> list[tuple[str, int, int]]:
    """(name, test documents, hits among the first 5) of the labels with the most misses."""
    try:
        table = evaluation.read_table(run.folder / "eval", evaluation.LABELS)
        counts = zip(table["label"], table["test_documents"].astype(int), table["hits@5"].astype(int), strict=True)
    except (XcworkError, KeyError, ValueError, OverflowError):
        return []
    missed = [(name, positives, hits) for name, positives, hits in counts if positives > hits]
    return sorted(missed, key=lambda row: (row[2] - row[1], row[0]))[:rows]


def _usage(config: dict[str, Any]) -> str:
    takes_text = (config.get("dataset") or {}).get("takes_text", False)
    document = '"the text of a document"' if takes_text else "X  # a row with the features of the training data"
    lines = [
        "```python",
        "import xcwork",
        "",
        'model = xcwork.load_method("path/to/model")',
        f"document = {document}",
        "model.predict(document, k=5).to_frame()",
        'model.explain(document, "name of a label")',
        "```",
        "",
        "Loading executes nothing: the folder holds JSON and safetensors.",
    ]
    return "\n".join(lines)


def _limits(method: type[Method], report: EvalReport) -> str:
    able = method.capabilities
    limits = [
        "It ranks new labels from their text alone (`add_labels`); see the unseen column for how well."
        if able.zero_shot
        else "It cannot predict labels without a training document.",
        "Explanations add up exactly to the score."
        if able.exact_explanations
        else "Explanations are approximate: their parts need not add up to the score.",
        f"The figures are one measurement on the test part of {escape(report.dataset)}; other text may differ.",
        "Scores rank the labels of one document; they are not probabilities unless the method says so.",
    ]
    return "\n".join(f"- {limit}" for limit in limits)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows)]
    return "\n".join(lines)
