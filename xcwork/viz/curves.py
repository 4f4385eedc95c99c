"""Lines: a metric against the length of the list, and what a training reported while it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xcwork.viz import apply_style, join_phrases, pick_colour, pick_dash, pick_marker, plain, shorten

if TYPE_CHECKING:
    import plotly.graph_objects as go

CURVE_TITLES = {
    "P": "Precision: correct labels among the first k, divided by k",
    "recall_macro": "Recall: share of a document's labels among the first k, averaged over documents",
    "recall_micro": "Recall: share of all true labels among the first k",
    "hit": "Documents with at least one correct label among the first k",
}
POSITIONS = ("epoch", "iteration", "step")
NOT_CURVES = frozenset({"time", "attempt", "phase", "seconds", "memory_mb", *POSITIONS})


def ranking_curves(curves: Mapping[str, Mapping[str, Sequence[float]]], metric: str = "recall_macro") -> go.Figure:
    """Draw one line per run: `metric` in percent for every length k of the list; `curves` is by run name."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    for position, (name, values) in enumerate(curves.items()):
        few = len(values["k"]) <= 10
        rows += [(name, k, value) for k, value in zip(values["k"], values[metric], strict=True)]
        if len(values["k"]):
            first, last = values[metric][0], values[metric][-1]
            told.append(f"{shorten(name)} goes from {first:.1f} % at k = 1 to {last:.1f} % at k = {values['k'][-1]}")
        figure.add_scatter(
            x=list(values["k"]),
            y=list(values[metric]),
            name=plain(name),
            mode="lines+markers" if few else "lines",
            line=_make_line(position),
            marker_symbol=pick_marker(position),
            hovertemplate="k = %{x}: %{y:.2f} %<extra>%{fullData.name}</extra>",
        )
    return apply_style(
        figure,
        title=CURVE_TITLES[metric],
        x="k, labels listed per document",
        y="percent",
        showlegend=True,
        alt=f"{CURVE_TITLES[metric]}. {join_phrases(told)}.",
        table=pd.DataFrame(rows, columns=["run", "k", metric]),
        yaxis_range=[0, 100],
    )


def training_series(events: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Return the reported values as (phase, name) → (step, value) points in order of steps.

    A resumed training repeats the steps after its checkpoint; the later attempt counts. The step is the `epoch` or
    `iteration` among the values where there is one, because the steps of a resumed loop may start again at 0.
    """
    series: dict[tuple[str, str], dict[float, float]] = {}
    for event in events:
        phase, step = event.get("phase"), next((event[name] for name in POSITIONS if name in event), None)
        if not isinstance(phase, str) or phase.startswith("evaluating") or step is None or not _is_number(step):
            continue
        for name, value in event.items():
            if name not in NOT_CURVES and _is_number(value):
                series.setdefault((phase, name), {})[step] = value
    return {key: sorted(points.items()) for key, points in series.items()}


def training_curves(events: Sequence[Mapping[str, Any]], *, value: str) -> go.Figure:
    """Draw what a run reported under the name `value` (a loss, say) against the step, one line per phase."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    lines = {phase: points for (phase, name), points in training_series(events).items() if name == value}
    for position, (phase, points) in enumerate(lines.items()):
        figure.add_scatter(
            x=[step for step, _ in points],
            y=[number for _, number in points],
            name=plain(phase),
            mode="lines+markers",
            line=_make_line(position),
            marker_symbol=pick_marker(position),
        )
        told.append(f"{phase} from {points[0][1]:.4g} at step {points[0][0]} to {points[-1][1]:.4g} at {points[-1][0]}")
        rows += [(phase, step, number) for step, number in points]
    return apply_style(
        figure,
        title=f"{plain(value)} during training",
        x="step",
        y=plain(value),
        showlegend=True,
        alt=f"{shorten(value)} during training: {join_phrases(told)}.",
        table=pd.DataFrame(rows, columns=["phase", "step", value]),
    )


def _make_line(position: int) -> dict[str, str]:
    return {"color": pick_colour(position), "dash": pick_dash(position)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
