"""One HTML file about one or several runs: it opens without network, today and in ten years.

Plotly's script is written into the file, and a content policy forbids every request to the outside. Each figure has
its numbers beside it as a table. Everything that comes from data or users is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.errors import ConfigError, XcworkError
from xcwork.export.html import escape_html, render_table
from xcwork.export.text import clean_name
from xcwork.metrics import HEADLINE_METRICS
from xcwork.runs import evaluation
from xcwork.runs.card import MAX_NAME_CHARACTERS, find_worst_labels, source_name
from xcwork.runs.store import Run
from xcwork.storage.atomic import write_text
from xcwork.viz import alt_text, bands, curves

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.metrics import EvalReport

N_WORST_LABELS = 20
N_WORST_DOCUMENTS = 10
K = 5  # labels of a list that count
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .75rem; text-align: left; vertical-align: top }
td { max-width: 22rem; overflow-wrap: anywhere }
td { font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: .5rem 0 }
figure { margin: 1rem 0 } figcaption, .note { color: #444 }
"""  # noqa: E501 - one rule per line reads better than a folded one


@dataclass(frozen=True)
class _ReportedRun:
    """A run as the report shows it."""

    name: str
    run: Run
    record: dict[str, Any]
    report: EvalReport | None


def write_report(runs: Run | Iterable[Run], path: str | Path) -> Path:
    """Write the report about `runs` to `path`. A run without results is listed with the reason."""
    chosen = [runs] if isinstance(runs, Run) else list(runs)
    if not chosen:
        raise ConfigError("a report needs at least one run")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, render(chosen))
    return path


def render(runs: Sequence[Run]) -> str:
    """Return the report as HTML."""
    from plotly.offline import get_plotlyjs

    entries = _read_runs(runs)
    reports = {entry.name: entry.report for entry in entries if entry.report is not None}
    title = f"xcwork report: {entries[0].name}" + (f" and {len(entries) - 1} more" if len(entries) > 1 else "")
    parts = [f"<h1>{escape_html(title)}</h1>", _render_overview(entries)]
    if reports:
        parts += [_render_metrics(reports), _render_rankings(reports), _render_bands(reports)]
    parts += [_render_details(entry) for entry in entries]
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape_html(title)}</title>\n'
        f"<style>{STYLE}</style>\n<script>{get_plotlyjs()}</script>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _read_runs(runs: Sequence[Run]) -> list[_ReportedRun]:
    names = [clean_name(run.name, MAX_NAME_CHARACTERS) for run in runs]
    entries = []
    for run, name in zip(runs, names, strict=True):
        record = run.to_dict()
        report = run.report() if record["metrics"] else None
        # Two runs may have the same name; the id tells them apart.
        entries.append(_ReportedRun(name if names.count(name) == 1 else run.id, run, record, report))
    return entries


def _render_overview(entries: Sequence[_ReportedRun]) -> str:
    rows = []
    for entry in entries:
        record, size = entry.record, entry.record["model_bytes"]
        rows.append(
            [
                entry.name,
                record.get("method", ""),
                source_name(record.get("data", "")),
                record["state"],
                record["train_seconds"],
                record["predict_ms_per_document"],
                record["peak_memory_mb"],
                None if size is None else size / 1e6,
            ]
        )
    columns = ["run", "method", "data", "state", "training, s", "ms per document", "memory, MB", "model, MB"]
    return _render_table("Runs", columns, rows)


def _render_metrics(reports: Mapping[str, EvalReport]) -> str:
    scopes = {"all labels": "metrics", "labels seen in training": "seen", "unseen labels": "unseen"}
    parts = ["<h2>Metrics</h2>"]
    for title, scope in scopes.items():
        rows = [
            [name, *(getattr(report, scope)[metric] for metric in HEADLINE_METRICS)] for name, report in reports.items()
        ]
        parts.append(_render_table(f"Percent, {title}", ["run", *HEADLINE_METRICS], rows))
    for name, report in reports.items():
        constants = report.propensity
        psp = f"PSP with A = {constants.A}, B = {constants.B} ({constants.source})"
        notes = "; ".join([psp, *(f"{scope}: {note}" for scope, note in report.notes.items())])
        parts.append(f'<p class="note">{escape_html(name)}: {escape_html(notes)}</p>')
    return "\n".join(parts)


def _render_rankings(reports: Mapping[str, EvalReport]) -> str:
    lists = {name: report.curves for name, report in reports.items() if report.curves["k"]}
    parts = ["<h2>How far down the list</h2>"]
    for metric in ("recall_macro", "P"):
        told = [
            f"{name}: from {c[metric][0]:.1f} % at k = 1 to {c[metric][-1]:.1f} % at k = {c['k'][-1]}"
            for name, c in lists.items()
        ]
        parts.append(_render_figure(curves.ranking_curves(lists, metric), "; ".join(told)))
    return "\n".join(parts)


def _render_bands(reports: Mapping[str, EvalReport]) -> str:
    tables = {name: report.bands["absolute"] for name, report in reports.items()}
    columns = ["labels", "test_positives", f"hits@{K}", f"recall@{K}", f"contribution@{K}"]
    rows = [
        # Without a true label in the test split a recall of 0 would look like a failure.
        [name, band, *(row[c] if row["test_positives"] or not c.startswith("recall") else None for c in columns)]
        for name, table in tables.items()
        for band, row in table.items()
    ]
    return "\n".join(
        [
            "<h2>Frequent and rare labels</h2>",
            _render_figure(bands.band_recall(tables, k=K), next(iter(reports.values())).definitions["absolute"]),
            _render_figure(bands.band_contributions(tables, k=K), f"The parts of a bar add up to P@{K}."),
            _render_table("By band", ["run", "band", *columns], rows),
        ]
    )


def _render_details(entry: _ReportedRun) -> str:
    """Return everything about one run alone."""
    parts = [f"<h2>{escape_html(entry.name)}</h2>", f'<p class="note">{escape_html(entry.run.id)}</p>']
    if entry.record["message"]:
        parts.append(f"<p>{escape_html(entry.record['state'])}: {escape_html(entry.record['message'])}</p>")
    events = entry.run.events()
    for value in dict.fromkeys(name for _, name in curves.training_series(events)):
        parts.append(
            _render_figure(curves.training_curves(events, value=value), f"{value} as the training reported it.")
        )
    if entry.report is not None:
        parts.append(
            _render_table(
                f"Labels missed most often (first {K})",
                ["label", "test documents", "found"],
                find_worst_labels(evaluation.read_label_table(entry.run.folder / "eval"), N_WORST_LABELS),
            )
        )
        parts.append(_render_errors(entry.run))
    parameters = entry.record.get("params", {})
    parts.append(
        _render_table("Parameters", ["parameter", "value"], [[name, str(v)] for name, v in parameters.items()])
    )
    return "\n".join(parts)


def _render_errors(run: Run) -> str:
    try:
        sample = evaluation.read_table(run.folder / "eval", evaluation.ERRORS, rows=N_WORST_DOCUMENTS)
    except XcworkError as damage:
        return f'<p class="note">{escape_html(damage)}</p>'
    return _render_table(f"Documents ranked worst (first {K} labels)", list(sample.columns), sample.values.tolist())


def _render_figure(figure: go.Figure, caption: str) -> str:
    drawn = figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False, "responsive": True})
    label, text = escape_html(alt_text(figure)), escape_html(caption)
    return f'<figure aria-label="{label}">{drawn}<figcaption>{text}</figcaption></figure>'


def _render_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return render_table(columns, rows, digits=2, caption=caption, empty="none")
