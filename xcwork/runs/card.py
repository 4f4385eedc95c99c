"""The model card: `model/README.md`, written from the record of the run so that a copied model explains itself.

A YAML head in the form model hubs read, then what the method is, how it was trained, on what, how well it does and
where it fails. Names of labels and data come from outside: in Markdown they are escaped, in YAML they are quoted.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.export.tables import render_markdown
from xcwork.export.text import clean_name, clean_text, escape_markdown
from xcwork.metrics import HEADLINE_METRICS
from xcwork.metrics.calibration import describe_calibration
from xcwork.runs import evaluation
from xcwork.storage.atomic import write_text

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.base import Method
    from xcwork.metrics import EvalReport
    from xcwork.runs.status import Status
    from xcwork.runs.store import Run

MAX_MISSED_LABELS = 5
MAX_NAME_CHARACTERS = 80


def write_card(run: Run, report: EvalReport, labels: pd.DataFrame, status: Status) -> None:
    """Write the card of a trained and evaluated run into its model folder."""
    write_text(run.folder / "model" / "README.md", render_card(run, report, labels, status))


def rewrite_card(run: Run) -> None:
    """Write the card again from what the run has stored, as after a new name."""
    report = run.read_report()
    write_card(run, report, evaluation.read_label_table(run.folder / "eval"), run.status)


def render_card(run: Run, report: EvalReport, labels: pd.DataFrame, status: Status) -> str:
    """Return the card as Markdown; `labels` is the table of `metrics.tabulate_labels`."""
    from xcwork.methods.registry import find_method_class

    config = run.config
    method = find_method_class(config["method"])
    sections = [
        _render_head(run, config, report),
        f"# {escape_name(run.name)}\n\n{_summarise(config, report)}",
        f"## Method\n\n{_explain_method(method)}",
        f"## Parameters\n\n{_list_parameters(method, config)}",
        f"## Data\n\n{_describe_data(config)}",
        f"## Results\n\n{_list_results(report, status)}",
        f"## Where it fails\n\n{_list_failures(report, labels)}",
        f"## How to load it\n\n{_explain_usage(config)}",
        f"## Limits\n\n{_list_limits(method, report)}",
    ]
    return "\n\n".join(sections) + "\n"


def escape_name(text: object) -> str:
    """Return a name from outside as Markdown that shows it on one line, cut at a readable length."""
    return escape_markdown(clean_name(text, MAX_NAME_CHARACTERS))


def get_source_name(data: str) -> str:
    """Return the data source without its folders: a card or report that is passed on should not reveal them."""
    return Path(data).name if Path(data).is_absolute() else data


def _quote(text: object) -> str:
    """Return text as a YAML scalar: a JSON string is one."""
    return json.dumps(clean_name(text, MAX_NAME_CHARACTERS), ensure_ascii=False)


def _render_head(run: Run, config: dict[str, Any], report: EvalReport) -> str:
    lines = ["---", "library_name: xcwork", "tags:"]
    lines += [f"- {tag}" for tag in ("extreme-classification", "multi-label-classification", _quote(config["method"]))]
    lines += ["datasets:", f"- {_quote(report.dataset)}"]
    lines += ["metrics:", *(f"- {_quote(name)}" for name in HEADLINE_METRICS)]
    lines += ["model-index:", f"- name: {_quote(run.name)}", "  results:", "  - task:"]
    lines += ["      type: multi-label-classification", "    dataset:", f"      name: {_quote(report.dataset)}"]
    lines += [f"      type: {_quote(get_source_name(config['data']))}", "    metrics:"]
    for name in HEADLINE_METRICS:
        lines += [f"    - type: {_quote(name)}", f"      value: {report.metrics[name]:.2f}"]
    return "\n".join([*lines, "---"])


def _summarise(config: dict[str, Any], report: EvalReport) -> str:
    version = escape_name(config["versions"].get("xcwork", "of unknown version"))
    return (
        f"`{clean_text(config['method'])}` trained on {escape_name(report.dataset)} with xcwork {version}: "
        f"P@1 {report.metrics['P@1']:.2f}, P@5 {report.metrics['P@5']:.2f} on {report.n_documents:,} test documents."
    )


def _explain_method(method: type[Method]) -> str:
    text = inspect.cleandoc(method.__doc__ or method.title)
    return text + (f"\n\nReference: {method.paper}" if method.paper else "")


def _list_parameters(method: type[Method], config: dict[str, Any]) -> str:
    declared = method.parameters()
    rows = [
        (f"`{name}`", escape_name(value), escape_name(declared[name].help) if name in declared else "")
        for name, value in config["params"].items()
    ]
    preset = config.get("preset")
    started = f"Preset: {escape_name(preset)}\n\n" if preset else ""
    return started + render_markdown(("parameter", "value", "meaning"), rows)


def _describe_data(config: dict[str, Any]) -> str:
    facts = config.get("dataset") or {}
    rows = [(f"`{name}`", escape_name(value)) for name, value in facts.items() if name != "source"]
    given = {"loaded as": config["data"]} | {f"option {name}": value for name, value in config["data_options"].items()}
    asked = [(escape_name(name), escape_name(get_source_name(str(value)))) for name, value in given.items()]
    return render_markdown(("fact", "value"), [*asked, *rows])


def _list_results(report: EvalReport, status: Status) -> str:
    scopes = (report.metrics, report.seen, report.unseen)
    table = render_markdown(
        ("metric, %", "all labels", "seen in training", "unseen"),
        [(name, *(f"{scope[name]:.2f}" for scope in scopes)) for name in HEADLINE_METRICS],
    )
    speed = status.predict_ms_per_document
    figures = [
        f"training {status.train_seconds:.1f} s",
        *([] if speed is None else [f"prediction {speed:.2f} ms per document"]),
        f"peak memory {status.peak_memory_mb:,.0f} MB",
        *([] if status.model_bytes is None else [f"model {status.model_bytes / 1e6:,.1f} MB"]),
        f"device {status.device or 'cpu'}",
    ]
    constants = report.propensity
    psp = f"PSP uses A = {constants.A} and B = {constants.B} ({escape_name(constants.source)})."
    trust = [describe_calibration(report.calibration)] if report.calibration else []
    notes = [f"- {escape_name(scope)}: {escape_markdown(note)}" for scope, note in report.notes.items()]
    return "\n\n".join([table, f"{', '.join(figures)}. {psp}", *trust, *(["\n".join(notes)] if notes else [])])


def _list_failures(report: EvalReport, labels: pd.DataFrame) -> str:
    bands = report.bands["absolute"]
    rows = [
        (
            name,
            f"{row['labels']:,}",
            f"{row['test_positives']:,}",
            f"{row['recall@5']:.2f}" if row["test_positives"] else "–",
        )
        for name, row in bands.items()
    ]
    parts = [
        render_markdown(("band", "labels", "test positives", "recall@5, %"), rows),
        f"Bands: {escape_markdown(report.definitions['absolute'])}.",
    ]
    missed = find_worst_labels(labels, MAX_MISSED_LABELS)
    if missed:
        found = [(escape_name(name), str(positives), str(hits)) for name, positives, hits in missed]
        parts += [
            "Labels it misses most often:",
            render_markdown(("label", "test documents", "found in the first 5"), found),
        ]
    return "\n\n".join(parts)


def find_worst_labels(labels: pd.DataFrame, max_labels: int) -> list[tuple[str, int, int]]:
    """Return (name, test documents, hits among the first 5) of the labels with the most misses."""
    counts = zip(labels["label"], labels["test_documents"].tolist(), labels["hits@5"].tolist(), strict=True)
    missed = [(name, positives, hits) for name, positives, hits in counts if positives > hits]
    return sorted(missed, key=lambda row: (row[2] - row[1], row[0]))[:max_labels]


def _explain_usage(config: dict[str, Any]) -> str:
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


def _list_limits(method: type[Method], report: EvalReport) -> str:
    able = method.capabilities
    limits = [
        "It ranks new labels from their text alone (`add_labels`); see the unseen column for how well."
        if able.zero_shot
        else "It cannot predict labels without a training document.",
        "Explanations add up exactly to the score."
        if able.exact_explanations
        else "Explanations are approximate: their parts need not add up to the score.",
        f"The figures are one measurement on the test split of {escape_name(report.dataset)}; other text may differ.",
        "Scores rank the labels of one document; `predict(document, proba=True)` adds probabilities."
        if report.calibration
        else "Scores rank the labels of one document; they are not probabilities, and it has no calibration.",
    ]
    return "\n".join(f"- {limit}" for limit in limits)
