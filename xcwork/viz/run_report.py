"""One HTML file about one or several runs: it opens without network, today and in ten years.

It starts with one page: what was trained, its key figures, where it fails, three examples. The rest is folded. Figures
are drawings that need no script, and a content policy forbids scripts and every request to the outside. Each figure has
its numbers beside it as a table. Everything that comes from data or users is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.errors import ConfigError, XcworkError
from xcwork.export.html import escape_html, render_table
from xcwork.export.palette import LIGHT
from xcwork.export.text import clean_name
from xcwork.metrics import HEADLINE_METRICS
from xcwork.runs import evaluation
from xcwork.runs.card import MAX_NAME_CHARACTERS, find_worst_labels, get_source_name
from xcwork.runs.store import Run
from xcwork.storage.atomic import write_text
from xcwork.viz import SeriesStyle, bands, curves, decisions, style_run
from xcwork.viz.report_summary import ReportedRun, render_summary
from xcwork.viz.static_svg import render_svg

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.metrics import EvalReport

N_WORST_LABELS = 20
N_WORST_DOCUMENTS = 10
LABELS_PER_DOCUMENT = 5  # that count
RELIABILITY_PIXELS = 320
CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLE_SHEET = f"""
body {{ font: 15px/1.4 system-ui, sans-serif; color: {LIGHT.text}; max-width: 68rem; margin: 1rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.5rem; margin: 0 }} h2 {{ font-size: 1.1rem; margin: .8rem 0 .2rem }} h1, h2, p, li, td {{ overflow-wrap: anywhere }}
p {{ margin: .3rem 0 }} ul {{ margin: .2rem 0; padding-left: 1.1rem }} li {{ margin: .2rem 0 }}
table {{ border-collapse: collapse; margin: .6rem 0; display: block; overflow-x: auto }}
th, td {{ border-bottom: 1px solid {LIGHT.line}; padding: .2rem .7rem .2rem 0; text-align: left; vertical-align: top }}
td {{ max-width: 22rem; font-variant-numeric: tabular-nums }}
caption {{ text-align: left; font-weight: 600; padding: .4rem 0 }}
figure {{ margin: .6rem 0; max-width: 44rem }} svg {{ width: 100%; height: auto }}
figcaption, .note, small {{ color: {LIGHT.muted}; font-size: 13px }}
.legend {{ display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: 13px }}
.legend i, .dot {{ display: inline-block; width: .7rem; height: .7rem; border-radius: 50%; margin-right: .35rem }}
.figures {{ display: flex; flex-wrap: wrap; gap: .8rem; margin: .6rem 0 }}
.figures div {{ border: 1px solid {LIGHT.line}; border-radius: 9px; padding: .5rem .9rem; flex: 1 }}
.figures b {{ display: block; font-size: 1.5rem; line-height: 1.3 }} .figures small {{ display: block }}
.halves {{ display: grid; grid-template-columns: 1fr 1fr; gap: 2rem }}
.bands td {{ border: 0 }} .track {{ display: inline-block; width: 9rem; height: .6rem; border-radius: 4px; background: {LIGHT.track} }}
.track i {{ display: block; height: 100%; border-radius: 4px }}
details {{ border-top: 1px solid {LIGHT.line}; padding: .4rem 0 }} summary {{ cursor: pointer; font-weight: 600 }}
@media (max-width: 50rem) {{ .halves {{ grid-template-columns: 1fr }} }}
"""  # noqa: E501 - one rule per line reads better than a folded one


def write_report(runs: Run | Iterable[Run], path: str | Path) -> Path:
    """Write the report about `runs` to `path`. A run without results is listed with the reason."""
    chosen = [runs] if isinstance(runs, Run) else list(runs)
    if not chosen:
        raise ConfigError("a report needs at least one run")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, render_report(chosen))
    return path


def render_report(runs: Sequence[Run]) -> str:
    """Return the report as HTML."""
    entries = _read_runs(runs)
    reports = {entry.name: entry.report for entry in entries if entry.report is not None}
    title = f"xcwork report: {entries[0].name}" + (f" and {len(entries) - 1} more" if len(entries) > 1 else "")
    parts = [f"<h1>{escape_html(title)}</h1>", render_summary(entries)]
    folded = {"Runs and costs": _render_overview(entries)}
    if reports:
        styles = {entry.name: style_run(entry.run.number) for entry in entries}
        folded |= {
            "Metrics": _render_metrics(reports),
            "How far down the list": _render_rankings(reports, styles),
            "Frequent and rare labels": _render_bands(reports, styles),
            "Can the probabilities be trusted?": _render_calibration(reports, styles),
        }
    parts += [_hide_part(heading, content) for heading, content in folded.items() if content]
    parts += [_hide_part(f"{entry.name}: training, errors, parameters", _render_details(entry)) for entry in entries]
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_POLICY}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape_html(title)}</title>\n'
        f"<style>{STYLE_SHEET}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _hide_part(title: str, content: str) -> str:
    return f"<details><summary>{escape_html(title)}</summary>\n{content}\n</details>"


def _read_runs(runs: Sequence[Run]) -> list[ReportedRun]:
    names = [clean_name(run.name, MAX_NAME_CHARACTERS) for run in runs]
    entries = []
    for run, name in zip(runs, names, strict=True):
        record = run.to_dict()
        report = run.read_report() if record["metrics"] else None
        # Two runs may have the same name; the id tells them apart.
        entries.append(ReportedRun(name if names.count(name) == 1 else run.id, run, record, report))
    return entries


def _render_overview(entries: Sequence[ReportedRun]) -> str:
    rows = []
    for entry in entries:
        record, size = entry.record, entry.record["model_bytes"]
        rows.append(
            [
                entry.name,
                record.get("method", ""),
                get_source_name(record.get("data", "")),
                record["state"],
                record["train_seconds"],
                record["predict_ms_per_document"],
                record["peak_memory_mb"],
                None if size is None else size / 1e6,
            ]
        )
    columns = ["run", "method", "data", "state", "training, s", "ms per document", "memory, MB", "model, MB"]
    return _render_table("Runs", columns, rows)


def _render_calibration(reports: Mapping[str, EvalReport], styles: Mapping[str, SeriesStyle]) -> str:
    """Return how far the probabilities can be trusted; nothing for runs that give none."""
    known = {name: report.calibration for name, report in reports.items() if report.calibration}
    if not known:
        return ""
    ks = list(next(iter(known.values()))["ece"])
    rows = [[name, *(found["ece"].get(k) for k in ks), found["brier"]["all"]] for name, found in known.items()]
    columns = ["run", *(f"ECE@{k}" for k in ks), "Brier score, times 100"]
    parts = [_render_table("Calibration error, points", columns, rows)]
    columns = ["predictions", "number", "say, %", "are right, %", "from", "to (95 % interval)"]
    for name, found in known.items():
        rows = [
            [
                f"{row['from']:.0f} to {row['to']:.0f} %",
                row["n"],
                *(row[key] for key in ("said", "right", "low", "high")),
            ]
            for row in found["reliability"]
        ]
        drawn = decisions.draw_reliability(found["reliability"], colour=styles[name].colour, height=RELIABILITY_PIXELS)
        caption = f"{name}: share that is right, by predicted probability; lines are 95 % intervals."
        parts.append(_render_figure(drawn, caption))
        parts.append(_render_table(f"{name}: the first ten labels per document", columns, rows))
        brier = [[band, value] for band, value in found["brier"].items()]
        parts.append(_render_table(f"{name}: Brier score by band, times 100", ["band", "Brier score"], brier))
    return "\n".join(parts)


def _render_metrics(reports: Mapping[str, EvalReport]) -> str:
    scopes = {"all labels": "metrics", "labels seen in training": "seen", "unseen labels": "unseen"}
    parts = []
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


def _render_rankings(reports: Mapping[str, EvalReport], styles: Mapping[str, SeriesStyle]) -> str:
    lists = {name: report.curves for name, report in reports.items() if report.curves["k"]}
    parts = []
    for metric in ("recall_macro", "P"):
        told = [
            f"{name}: from {c[metric][0]:.1f} % at k = 1 to {c[metric][-1]:.1f} % at k = {c['k'][-1]}"
            for name, c in lists.items()
        ]
        parts.append(_render_figure(curves.draw_ranking_curves(lists, metric, styles=styles), "; ".join(told)))
    return "\n".join(parts)


def _render_bands(reports: Mapping[str, EvalReport], styles: Mapping[str, SeriesStyle]) -> str:
    tables = {name: report.bands["absolute"] for name, report in reports.items()}
    columns = [
        "labels",
        "test_positives",
        f"hits@{LABELS_PER_DOCUMENT}",
        f"recall@{LABELS_PER_DOCUMENT}",
        f"contribution@{LABELS_PER_DOCUMENT}",
    ]
    rows = [
        # Without a true label in the test split a recall of 0 would look like a failure.
        [name, band, *(row[c] if row["test_positives"] or not c.startswith("recall") else None for c in columns)]
        for name, table in tables.items()
        for band, row in table.items()
    ]
    return "\n".join(
        [
            _render_figure(
                bands.draw_band_recall(tables, k=LABELS_PER_DOCUMENT, styles=styles),
                next(iter(reports.values())).definitions["absolute"],
            ),
            _render_figure(
                bands.draw_band_contributions(tables, k=LABELS_PER_DOCUMENT),
                f"The parts of a bar add up to P@{LABELS_PER_DOCUMENT}.",
            ),
            _render_table("By band", ["run", "band", *columns], rows),
        ]
    )


def _render_details(entry: ReportedRun) -> str:
    """Return everything about one run alone."""
    parts = [f'<p class="note">{escape_html(entry.run.id)}</p>']
    if entry.record["message"]:
        parts.append(f"<p>{escape_html(entry.record['state'])}: {escape_html(entry.record['message'])}</p>")
    events = entry.run.read_events()
    for value in dict.fromkeys(name for _, name in curves.collect_training_series(events)):
        parts.append(
            _render_figure(curves.draw_training_curves(events, value=value), f"{value} as the training reported it.")
        )
    if entry.report is not None:
        parts.append(
            _render_table(
                f"Labels missed most often (first {LABELS_PER_DOCUMENT})",
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
        sample = evaluation.read_table(run.folder / "eval", evaluation.ERRORS_FILE, rows=N_WORST_DOCUMENTS)
    except XcworkError as damage:
        return f'<p class="note">{escape_html(damage)}</p>'
    return _render_table(
        f"Documents ranked worst (first {LABELS_PER_DOCUMENT} labels)", list(sample.columns), sample.values.tolist()
    )


def _render_figure(figure: go.Figure, caption: str) -> str:
    return f"<figure>{render_svg(figure)}<figcaption>{escape_html(caption)}</figcaption></figure>"


def _render_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    return render_table(columns, rows, digits=2, caption=caption, empty="none")
