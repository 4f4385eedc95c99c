"""Lines: a metric against the length of the list, and what a training reported while it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xcwork.viz import SeriesStyle, apply_style, clean_caption, join_phrases, pick_marker, shorten, style_series

if TYPE_CHECKING:
    import plotly.graph_objects as go

CURVE_TITLES = {
    "P": "Precision: correct labels among the first k, divided by k",
    "recall_macro": "Recall: share of a document's labels among the first k, averaged over documents",
    "recall_micro": "Recall: share of all true labels among the first k",
    "hit": "Documents with at least one correct label among the first k",
}
LOG_AXIS = {"type": "log", "tickvals": [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]}
POSITIONS = ("epoch", "iteration", "step")
NOT_CURVES = frozenset({"time", "attempt", "phase", "seconds", "memory_mb", *POSITIONS})


def draw_ranking_curves(
    curves: Mapping[str, Mapping[str, Sequence[float]]],
    metric: str = "recall_macro",
    *,
    styles: Mapping[str, SeriesStyle] | None = None,
    longest: int | None = None,
) -> go.Figure:
    """Draw one line per run: `metric` in percent for every length k of the list; `curves` and `styles` are by name.

    With `longest` lists end there; without it the axis of k is logarithmic, because what matters is at its beginning.
    """
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    for position, (name, whole) in enumerate(curves.items()):
        values = {key: list(column)[:longest] for key, column in whole.items()}
        few = len(values["k"]) <= 10
        style = (styles or {}).get(name) or style_series(position)
        rows += [(name, k, value) for k, value in zip(values["k"], values[metric], strict=True)]
        if len(values["k"]):
            first, last = values[metric][0], values[metric][-1]
            told.append(f"{shorten(name)} goes from {first:.1f} % at k = 1 to {last:.1f} % at k = {values['k'][-1]}")
        figure.add_scatter(
            x=list(values["k"]),
            y=list(values[metric]),
            name=clean_caption(name),
            mode="lines+markers" if few else "lines",
            line=style.line,
            marker_symbol=style.marker,
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
        xaxis={"dtick": 1} if longest is not None and longest <= 10 else LOG_AXIS,
    )


def collect_training_series(events: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[tuple[float, float]]]:
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


def draw_training_curves(events: Sequence[Mapping[str, Any]], *, value: str) -> go.Figure:
    """Draw what a run reported under the name `value` (a loss, say) against the step, one line per phase."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    lines = {phase: points for (phase, name), points in collect_training_series(events).items() if name == value}
    for position, (phase, points) in enumerate(lines.items()):
        figure.add_scatter(
            x=[step for step, _ in points],
            y=[number for _, number in points],
            name=clean_caption(phase),
            mode="lines+markers",
            line=style_series(position).line,
            marker_symbol=pick_marker(position),
        )
        told.append(f"{phase} from {points[0][1]:.4g} at step {points[0][0]} to {points[-1][1]:.4g} at {points[-1][0]}")
        rows += [(phase, step, number) for step, number in points]
    return apply_style(
        figure,
        title=f"{clean_caption(value)} during training",
        x="step",
        y=clean_caption(value),
        showlegend=True,
        alt=f"{shorten(value)} during training: {join_phrases(told)}.",
        table=pd.DataFrame(rows, columns=["phase", "step", value]),
    )


def draw_live_curve(
    value: str, lines: Mapping[str, Sequence[tuple[float, float]]], styles: Mapping[str, SeriesStyle], height: int
) -> go.Figure:
    """Draw one value of a training as it goes, small and without a legend, beside that of other runs by name."""
    import pandas as pd
    import plotly.graph_objects as go

    figure, told, rows = go.Figure(), [], []
    for name, points in lines.items():
        figure.add_scatter(
            x=[step for step, _ in points],
            y=[number for _, number in points],
            name=clean_caption(name),
            mode="lines+markers" if len(points) < 3 else "lines",
            line=styles[name].line,
            hovertemplate="%{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
        )
        told.append(f"{shorten(name)} from {points[0][1]:.4g} to {points[-1][1]:.4g}")
        rows += [(name, step, number) for step, number in points]
    return apply_style(
        figure,
        title="",
        x="",
        y="",
        alt=f"{shorten(value)} during training: {join_phrases(told)}.",
        table=pd.DataFrame(rows, columns=["run", "step", value]),
        showlegend=False,
        height=height,
        margin={"l": 34, "r": 4, "t": 4, "b": 20},
    ).update_layout(font={"size": 13})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
