"""The first page of a report: what was trained, its key figures, where it fails, and three examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xcwork.analysis.run_table import format_duration, format_megabytes
from xcwork.errors import XcworkError
from xcwork.export.html import escape_html
from xcwork.export.palette import LIGHT
from xcwork.metrics.calibration import compute_wilson_interval
from xcwork.runs import evaluation
from xcwork.runs.card import find_worst_labels, get_source_name

if TYPE_CHECKING:
    from xcwork.metrics import EvalReport
    from xcwork.runs.store import Run

N_EXAMPLES = 3
N_LABELS = 4  # that are missed most often
MAX_TEXT_CHARACTERS = 160
MAX_NAMES = 4  # labels of an example
FEW = 5
BAND_WORDS = {"zero-shot": "unseen"}


@dataclass(frozen=True)
class ReportedRun:
    """A run as the report shows it."""

    name: str
    run: Run
    record: dict[str, Any]
    report: EvalReport | None


def render_summary(entries: Sequence[ReportedRun]) -> str:
    """Return the first page: of the best run, with the others in a table."""
    measured = [entry for entry in entries if entry.report is not None]
    if not measured:
        return ""
    best = max(measured, key=lambda entry: entry.report.metrics["P@1"] if entry.report else 0.0)
    assert best.report is not None
    others = _render_runs(measured, best) if len(measured) > 1 else ""
    left = f"<section><h2>Where it fails</h2>{_render_bands(best.report)}{_render_worst(best)}</section>"
    right = f"<section><h2>Three examples</h2>{_render_examples(best)}</section>"
    return f"{_render_trained(best)}{others}{_render_figures(best)}<div class='halves'>{left}{right}</div>"


def _render_trained(entry: ReportedRun) -> str:
    record, facts = entry.record, entry.run.config.get("dataset") or {}
    told = f"{record.get('method', '')} on {get_source_name(record.get('data', ''))}"
    sizes = [
        f"{facts[name]:,} {words}"
        for name, words in (("n_train", "training documents"), ("n_test", "test documents"), ("n_labels", "labels"))
        if name in facts
    ]
    if record["train_seconds"] is not None:
        sizes.append(f"trained in {format_duration(record['train_seconds'])}")
    if record["model_bytes"] is not None:
        sizes.append(f"{format_megabytes(record['model_bytes'] / 1e6)}")
    return f"<p><b>{escape_html(told)}</b>: {escape_html(', '.join(sizes))}.</p>"


def _render_figures(entry: ReportedRun) -> str:
    report = entry.report
    assert report is not None
    metrics, n = report.metrics, report.n_documents
    low, high = compute_wilson_interval(round(metrics["P@1"] / 100 * n), n)
    bands = report.bands["absolute"]
    total, found = (int(sum(row[name] for row in bands.values())) for name in ("test_positives", f"hits@{FEW}"))
    highest = evaluation.read_highest_precision(entry.run.folder / "eval", FEW)
    cards = [
        (f"{metrics['P@1']:.1f} %", "first suggestions right", f"between {low:.1f} and {high:.1f}, {n:,} documents"),
        (
            f"{metrics['P@5']:.1f}",
            "P@5",
            "" if highest is None else f"of at most {highest:.1f}",
        ),
        (f"{found:,} of {total:,}", f"true labels among the first {FEW}", ""),
    ]
    unseen = bands.get("zero-shot")
    if unseen and unseen["test_positives"]:
        share = f"{unseen[f'hits@{FEW}']:,} of {unseen['test_positives']:,}"
        cards.append((share, "unseen labels found", "no training document has them"))
    shown = "".join(
        f"<div><b>{escape_html(value)}</b>{escape_html(name)}<small>{escape_html(note)}</small></div>"
        for value, name, note in cards
    )
    return f'<div class="figures">{shown}</div>'


def _render_bands(report: EvalReport) -> str:
    rows = []
    for band, row in report.bands["absolute"].items():
        if not row["test_positives"]:
            continue
        share = 100 * row[f"hits@{FEW}"] / row["test_positives"]
        bar = f'<span class="track"><i style="width:{share:.1f}%;background:{LIGHT.bands[1]}"></i></span>'
        name = BAND_WORDS.get(band, band)
        rows.append(
            f"<tr><td>{escape_html(name)}</td><td>{bar}</td>"
            f"<td>{row[f'hits@{FEW}']:,} of {row['test_positives']:,} found</td></tr>"
        )
    note = escape_html(report.definitions["absolute"].replace("zero-shot", "unseen"))
    return f'<table class="bands"><tbody>{"".join(rows)}</tbody></table><p class="note">{note}</p>'


def _render_worst(entry: ReportedRun) -> str:
    try:
        worst = find_worst_labels(evaluation.read_label_table(entry.run.folder / "eval"), N_LABELS)
    except XcworkError as damage:
        return f'<p class="note">{escape_html(damage)}</p>'
    if not worst:
        return ""
    rows = "".join(f"<li>{escape_html(name)}: {found:,} of {total:,}</li>" for name, total, found in worst)
    return f"<p>Missed most often:</p><ul>{rows}</ul>"


def _render_examples(entry: ReportedRun) -> str:
    try:
        sample = evaluation.read_table(entry.run.folder / "eval", evaluation.ERRORS_FILE, rows=N_EXAMPLES)
    except XcworkError as damage:
        return f'<p class="note">{escape_html(damage)}</p>'
    if not len(sample):
        return f'<p class="note">All true labels are among the first {FEW}.</p>'
    shown = []
    for row in sample.fillna("").to_dict("records"):
        text = str(row.get("uid") or row.get("text") or f"document {row['document']}")
        shown.append(
            f"<li><b>{escape_html(text[:MAX_TEXT_CHARACTERS])}</b>"
            f"<br>○ missed: {_list_names(row.get('missed'))}<br>✗ listed instead: {_list_names(row.get('wrong'))}</li>"
        )
    return f"<ul>{''.join(shown)}</ul>"


def _list_names(names: object) -> str:
    each = [name for name in str(names or "").split(" | ") if name]
    more = f" and {len(each) - MAX_NAMES} more" if len(each) > MAX_NAMES else ""
    return escape_html(", ".join(each[:MAX_NAMES]) + more) or "none"


def _render_runs(entries: Sequence[ReportedRun], best: ReportedRun) -> str:
    columns = ["run", "P@1", "P@5", "PSP@5", "unseen P@5", "training"]
    head = "".join(f"<th scope='col'>{escape_html(column)}</th>" for column in columns)
    rows = []
    for entry in sorted(entries, key=lambda entry: -entry.report.metrics["P@1"] if entry.report else 0.0):
        report, seconds = entry.report, entry.record["train_seconds"]
        assert report is not None
        figures = [report.metrics["P@1"], report.metrics["P@5"], report.metrics["PSP@5"], report.unseen["P@5"]]
        mark = f'<i class="dot" style="background:{LIGHT.pick_run(entry.run.number)}"></i>'
        name = f"<b>{escape_html(entry.name)}</b>" if entry is best else escape_html(entry.name)
        time = "–" if seconds is None else format_duration(seconds)
        cells = "".join(f"<td>{value:.1f}</td>" for value in figures) + f"<td>{escape_html(time)}</td>"
        rows.append(f"<tr><td>{mark}{name}</td>{cells}</tr>")
    note = f'<p class="note">What follows is about {escape_html(best.name)}, the best at P@1.</p>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}"
