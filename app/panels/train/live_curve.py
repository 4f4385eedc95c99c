"""What a training reports while it goes, beside the best run."""

from __future__ import annotations

import streamlit as st
from xcwork_app import caches, tokens, widgets
from xcwork_app.chart_style import match_page
from xcwork_app.views import selection, training_plan

from xcwork.runs import Run
from xcwork.viz import get_alt_text, style_run

HEIGHT_PIXELS = 92
Points = list[tuple[float, float]]
FIRST_CHOICES = ("P@1", "loss", "objective")


def show_curve(run: Run) -> None:
    """Show one value of the run against the step, if it has reported any twice."""
    from xcwork.viz.curves import draw_live_curve

    lines = read_lines(run)
    if not lines:
        return
    (phase, value), points = choose_line(lines)
    palette = tokens.get_palette()
    name = caches.get_record(run)["name"]
    shown, styles = {name: points}, {name: style_run(caches.glance(run).number, palette)}
    best, theirs = find_rival(run, phase, value, points)
    if best is not None:
        title = f"{caches.get_record(best)['name']}, the best"
        shown[title], styles[title] = theirs, style_run(caches.glance(best).number, palette)
    figure = match_page(draw_live_curve(value, shown, styles, HEIGHT_PIXELS))
    beside = f", beside {caches.get_record(best)['name']}" if best is not None else ""
    st.caption(widgets.escape_text(f"{value} so far{beside}"))
    st.plotly_chart(figure, alt=get_alt_text(figure), key=f"train.live.{run.id}", config=widgets.CHART)


def read_lines(run: Run) -> dict[tuple[str, str], Points]:
    """Return the values that a run has reported at least twice, by phase and name."""
    from xcwork.viz.curves import collect_training_series

    series = collect_training_series(run.read_events())
    return {key: points for key, points in series.items() if len(points) > 1}


def choose_line(
    lines: dict[tuple[str, str], Points],
) -> tuple[tuple[str, str], Points]:
    """Return the value that says most: the P@1, else the loss, else the first; of the latest phase that has it."""
    for wanted in FIRST_CHOICES:
        if found := [(key, points) for key, points in lines.items() if key[1] == wanted]:
            return found[-1]
    return list(lines.items())[-1]


def find_rival(run: Run, phase: str, value: str, points: Points) -> tuple[Run | None, Points]:
    """Return the best other run, and what to draw of it: its P@1 as a level, of another value its own curve."""
    source = caches.get_source(run)
    best = {} if source is None else training_plan.find_best_runs(source)
    if value == "P@1":
        others = selection.find_best_run([each for each in best.values() if each.id != run.id])
        if others is None:
            return None, []
        level = caches.get_record(others)["metrics"]["P@1"]
        return others, [(points[0][0], level), (points[-1][0], level)]
    same = best.get(caches.get_record(run).get("method", ""))  # a loss says nothing about another method
    line = [] if same is None or same.id == run.id else read_lines(same).get((phase, value), [])
    return (same, line) if line else (None, [])
