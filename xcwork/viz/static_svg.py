"""A figure as SVG that needs no script: lines, dots, bars and intervals of a Plotly figure, for files that must last.

Only what the figures of reports use is drawn: scatter traces (lines, markers, error bars) and bars (grouped or
stacked), on linear, logarithmic and category axes. Bars of a second run are hatched as in the figure, so that colour is
never the only key. All text is escaped here.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xcwork.export.html import escape_html
from xcwork.export.palette import LIGHT, SERIES
from xcwork.viz import get_alt_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

WIDTH = 640  # in units of the drawing, which scales with the page
HEIGHT = 260
LEFT = 52  # the margins
RIGHT = 12
TOP = 10
BOTTOM = 42
N_TICKS = 5
DASHES = {"dash": "7 5", "dot": "2 4", "dashdot": "8 4 2 4", "longdash": "12 5", "longdashdot": "12 4 2 4"}
DOT_RADIUS = 3.5


@dataclass(frozen=True)
class _Axis:
    """Where values lie between two ends of the drawing."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def place(self, value: float) -> float:
        at, low, high = (_take_log(each) if self.is_log else each for each in (value, self.low, self.high))
        return self.start + (self.end - self.start) * (at - low) / ((high - low) or 1.0)


def render_svg(figure: go.Figure) -> str:
    """Return the figure as an SVG element, with its legend below it where it has more than one series."""
    bars = [trace for trace in figure.data if trace.type == "bar"]
    categories = _list_categories(bars)
    x = _make_x_axis(figure, categories)
    y = _make_y_axis(figure, bars)
    parts = [*_draw_grid(figure, x, y, categories), *_draw_bars(figure, bars, x, y, categories)]
    for position, trace in enumerate(figure.data):
        if trace.type == "scatter":
            parts += _draw_scatter(trace, position, x, y)
    alt = escape_html(get_alt_text(figure))
    drawing = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}">{"".join(parts)}</svg>'
    return drawing + _render_legend(figure)


def _take_log(value: float) -> float:
    return math.log10(max(value, 1e-9))


def _to_list(values: Any) -> list[Any]:
    return [] if values is None else list(values)


def _list_categories(bars: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(name for trace in bars for name in _to_list(trace.x) if isinstance(name, str)))


def _make_x_axis(figure: go.Figure, categories: list[str]) -> _Axis:
    if categories:
        return _Axis(-0.5, len(categories) - 0.5, LEFT, WIDTH - RIGHT)
    values = [float(each) for trace in figure.data for each in _to_list(trace.x)]
    is_log = figure.layout.xaxis.type == "log"
    low, high = _find_range(figure.layout.xaxis.range, values, is_log=is_log)
    return _Axis(low, high, LEFT, WIDTH - RIGHT, is_log)


def _make_y_axis(figure: go.Figure, bars: Sequence[Any]) -> _Axis:
    values = [0.0] if bars else []
    for trace in figure.data:
        error = trace.error_y
        above = _to_list(error.array) or [0.0] * len(_to_list(trace.y))
        values += [float(each) + float(more) for each, more in zip(_to_list(trace.y), above, strict=False)]
    if figure.layout.barmode == "stack" and bars:
        columns = zip(*(_to_list(trace.y) for trace in bars), strict=False)
        values += [float(sum(column)) for column in columns]
    low, high = _find_range(figure.layout.yaxis.range, values)
    return _Axis(low, high, HEIGHT - BOTTOM, TOP)


def _find_range(given: Any, values: list[float], *, is_log: bool = False) -> tuple[float, float]:
    if given is not None and None not in tuple(given):
        low, high = (float(each) for each in given)
        return (10**low, 10**high) if is_log else (low, high)
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def list_ticks(low: float, high: float, n: int = N_TICKS) -> list[float]:
    """Return round numbers between two ends, about n of them."""
    if high <= low:
        return [low]
    rough = (high - low) / n
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(at * step, 10) for at in range(first, last + 1)]


def _format_tick(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def _draw_text(x: float, y: float, text: str, anchor: str = "middle", **attributes: str) -> str:
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    shown = escape_html(html.unescape(text))
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="13" fill="{LIGHT.muted}"{more}>{shown}</text>'
    )


def _draw_grid(figure: go.Figure, x: _Axis, y: _Axis, categories: list[str]) -> list[str]:
    parts = []
    for tick in list_ticks(y.low, y.high):
        at = y.place(tick)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="{LIGHT.fine_line}"/>')
        parts.append(_draw_text(LEFT - 6, at + 4, _format_tick(tick), "end"))
    base = HEIGHT - BOTTOM + 17
    if categories:
        parts += [_draw_text(x.place(at), base, name) for at, name in enumerate(categories)]
    else:
        given = [float(each) for each in _to_list(figure.layout.xaxis.tickvals)]
        ticks = [each for each in given if x.low <= each <= x.high] or list_ticks(x.low, x.high, 8)
        parts += [_draw_text(x.place(tick), base, _format_tick(tick)) for tick in ticks]
    if title := figure.layout.xaxis.title.text:
        parts.append(_draw_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, title))
    if title := figure.layout.yaxis.title.text:
        middle = (TOP + HEIGHT - BOTTOM) / 2
        parts.append(_draw_text(13, middle, title, transform=f"rotate(-90 13 {middle:.1f})"))
    return parts


def _draw_bars(figure: go.Figure, bars: Sequence[Any], x: _Axis, y: _Axis, categories: list[str]) -> list[str]:
    parts = []
    is_stacked = figure.layout.barmode == "stack"
    heights = dict.fromkeys(range(len(categories)), 0.0)
    room = 0.7
    for position, trace in enumerate(bars):
        width = room if is_stacked or not categories else room / len(bars)
        for at, (where, value) in enumerate(zip(_to_list(trace.x), _to_list(trace.y), strict=False)):
            column = categories.index(where) if categories else float(where)
            if categories:
                left = column - room / 2 + (0 if is_stacked else position * width)
                start, end = x.place(left), x.place(left + width * 0.94)
            else:
                size = float(trace.width or (x.high - x.low) / 12)
                start, end = x.place(column - size / 2), x.place(column + size / 2)
            floor = heights.get(int(column), 0.0) if is_stacked else 0.0
            top, bottom = y.place(floor + float(value)), y.place(floor)
            if is_stacked:
                heights[int(column)] = floor + float(value)
            parts.append(
                f'<rect x="{start:.1f}" y="{top:.1f}" width="{max(end - start, 0.5):.1f}" '
                f'height="{max(bottom - top, 0):.1f}" fill="{_find_colour(trace, position)}"/>'
            )
            parts += _draw_error(trace.error_y, at, (start + end) / 2, float(value), y)
    return parts


def _draw_scatter(trace: Any, position: int, x: _Axis, y: _Axis) -> list[str]:
    points = [
        (x.place(float(a)), float(b))
        for a, b in zip(_to_list(trace.x), _to_list(trace.y), strict=False)
        if a is not None and b is not None
    ]
    colour, mode, parts = _find_colour(trace, position), trace.mode or "lines", []
    if "lines" in mode and points:
        dash = DASHES.get(trace.line.dash or "")
        path = " ".join(f"{a:.1f},{y.place(b):.1f}" for a, b in points)
        style = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{style}/>')
    for at, (a, b) in enumerate(points):
        parts += _draw_error(trace.error_y, at, a, b, y)
        if "markers" in mode:
            parts.append(f'<circle cx="{a:.1f}" cy="{y.place(b):.1f}" r="{DOT_RADIUS}" fill="{colour}"/>')
    return parts


def _draw_error(error: Any, at: int, x: float, value: float, y: _Axis) -> list[str]:
    above, below = _to_list(error.array), _to_list(error.arrayminus)
    if at >= len(above):
        return []
    low = value - float(below[at] if at < len(below) else above[at])
    high = value + float(above[at])
    return [f'<path d="M{x:.1f} {y.place(low):.1f}V{y.place(high):.1f}" stroke="{LIGHT.text}" stroke-width="1.5"/>']


def _find_colour(trace: Any, position: int) -> str:
    given = [trace.line.color if trace.type == "scatter" else None, trace.marker.color]
    colour = next((each for each in given if isinstance(each, str)), SERIES[position % len(SERIES)])
    return escape_html(colour)


def _render_legend(figure: go.Figure) -> str:
    named = [(position, trace) for position, trace in enumerate(figure.data) if trace.name]
    if len(named) < 2:
        return ""
    items = ""
    for position, trace in named:
        name = escape_html(html.unescape(trace.name))
        items += f'<span><i style="background:{_find_colour(trace, position)}"></i>{name}</span>'
    return f'<div class="legend">{items}</div>'
