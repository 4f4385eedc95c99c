"""Runs as dots in their own colours and marks: quality against training time, differences, and recall by frequency.

Names stand at the dots, so that no legend is needed and colour is never the only key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xcwork.analysis.run_table import TRAINING, RunRow, RunTable, format_duration
from xcwork.viz import (
    COLOURS,
    SeriesStyle,
    apply_style,
    clean_caption,
    join_phrases,
    shorten,
    shorten_middle,
    style_series,
)
from xcwork.viz.name_places import CHARACTER_PIXELS, GAP_PIXELS, LEADER_PIXELS, DotName, NamePlace, place_beside

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

TICKS_SECONDS = (0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 360000)
TICK_NAMES = ("0.01 s", "0.1 s", "1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "100 h")
LOWEST_SECONDS = 0.01  # that a logarithmic axis shows
DOT_PIXELS = 12
RING_PIXELS = 3
POINTS_PER_CHARACTER = 1.9  # percent of the axis that a character of a name takes
MAX_WORDS_CHARACTERS = 60
MAX_NAMES = 3  # of dots that lie close together
LOG_MARGIN = 0.3  # of the axis of time, before the first dot
PLOT_PIXELS = 385  # between the ends of the axis of time, on a page of 1280 pixels
MAX_DOT_NAME_CHARACTERS = 24
NEAR_POINTS = 7.0  # percent, below which the names of two dots are joined
MARGIN = {"l": 50, "r": 20, "t": 10, "b": 40}


def draw_quality_and_time(table: RunTable, styles: Mapping[str, SeriesStyle], *, height: int = 260) -> go.Figure:
    """Draw P@1 with its range against the seconds of training, one dot per run."""
    import pandas as pd
    import plotly.graph_objects as go

    rows = [row for row in table.rows if row.values["P@1"] is not None and row.values[TRAINING] is not None]
    rows.sort(key=lambda row: -(row.values["P@1"] or 0.0))
    times = [max(row.values[TRAINING] or 0.0, LOWEST_SECONDS) for row in rows] or [1.0]
    names = [shorten_middle(name, MAX_DOT_NAME_CHARACTERS) for name in drop_common_words([row.name for row in rows])]
    across = _find_log_range(min(times), max(times), max(map(len, names), default=0))
    up = _find_range([row.low for row in rows], [row.high for row in rows])
    per_pixel = (across[1] - across[0]) / PLOT_PIXELS, (up[1] - up[0]) / (height - MARGIN["t"] - MARGIN["b"])

    def find_height(value: float | None) -> float:
        return ((value or 0.0) - up[0]) / per_pixel[1]

    dots = [
        DotName(
            (math.log10(seconds) - across[0]) / per_pixel[0],
            find_height(row.values["P@1"]),
            find_height(row.low),
            find_height(row.high),
            name,
        )
        for row, seconds, name in zip(rows, times, names, strict=True)
    ]
    places = place_beside(dots, PLOT_PIXELS, (up[1] - up[0]) / per_pixel[1])
    figure = go.Figure()
    for row, seconds, name, place in zip(rows, times, names, places, strict=True):
        figure.add_scatter(**_make_named_dot(row, seconds, name, place, per_pixel, styles))
    told = [f"{shorten(row.name)} {row.format_cell('P@1')} after {row.format_cell(TRAINING)}" for row in rows]
    frame = pd.DataFrame(
        [(row.name, row.values["P@1"], row.low, row.high, row.values[TRAINING]) for row in rows],
        columns=["run", "P@1", "low", "high", "training, s"],
    )
    return apply_style(
        figure,
        title="",
        x="training",
        y="P@1, %",
        alt=f"P@1 against training time: {join_phrases(told, 8)}.",
        table=frame,
        height=height,
        margin=MARGIN,
        showlegend=False,
        xaxis={
            "type": "log",
            "tickvals": TICKS_SECONDS,
            "ticktext": TICK_NAMES,
            "range": across,
        },
        yaxis={"range": up},
    )


def _find_log_range(low: float, high: float, longest: int) -> list[float]:
    """Return the ends of the axis of time, with room for the longest name on the right."""
    first, last = math.log10(low) - LOG_MARGIN, max(math.log10(high), math.log10(low) + 1.0)
    name = CHARACTER_PIXELS * longest + GAP_PIXELS + LEADER_PIXELS
    return [first, first + (last - first) / (1.0 - name / PLOT_PIXELS)]


def _find_range(lows: Sequence[float], highs: Sequence[float]) -> list[float]:
    """Return the ends of the axis of quality: all ranges, and a little room."""
    low, high = min(lows, default=0.0), max(highs, default=100.0)
    room = max(0.06 * (high - low), 1.0)
    return [low - room, high + room]


def _make_named_dot(
    row: RunRow,
    seconds: float,
    name: str,
    place: NamePlace | None,
    per_pixel: tuple[float, float],
    styles: Mapping[str, SeriesStyle],
) -> dict[str, Any]:
    """Return a trace with the dot of a run and its name, with a line to the name where that stands apart."""
    value, mark = row.values["P@1"] or 0.0, _mark(styles, row.name)
    x, y, text = [seconds], [value], [f"\u2002{clean_caption(name)}\u2002" if place else ""]
    if place and place.lift:
        aside = LEADER_PIXELS * per_pixel[0] * (-1 if place.is_left else 1)
        x, y, text = [*x, seconds * 10**aside], [*y, value + place.lift * per_pixel[1]], ["", clean_caption(name)]
        mark |= {"size": [DOT_PIXELS, 0], "opacity": 1}
    rest = [0.0] * (len(x) - 1)
    return {
        "x": x,
        "y": y,
        "mode": "markers+text+lines" if rest else "markers+text",
        "name": clean_caption(row.name),
        "text": text,
        "textposition": f"middle {'left' if place and place.is_left else 'right'}",
        "line": {"width": 1, "color": mark["color"]},
        "marker": mark,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [row.high - value, *rest],
            "arrayminus": [value - row.low, *rest],
            "width": 0,
        },
        "customdata": [f"P@1 {value:.1f}, {format_duration(row.values[TRAINING] or 0.0)}"] * len(x),
        "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
        "cliponaxis": False,
    }


def draw_run_differences(
    deltas: pd.DataFrame, *, metric: str, styles: Mapping[str, SeriesStyle], height: int = 260
) -> go.Figure:
    """Draw every other run minus the reference in one metric with its 95 % interval; a hollow dot may be chance."""
    import plotly.graph_objects as go

    rows = deltas[deltas["metric"] == metric]
    runs = rows["run"].tolist()
    figure = go.Figure()
    for at, row in enumerate(rows.itertuples()):
        style = _mark(styles, row.run)
        if not row.significant and not str(style["symbol"]).endswith("-open"):
            style = style | {"symbol": f"{style['symbol']}-open", "line": {"width": 2, "color": style["color"]}}
        figure.add_scatter(
            x=[row.difference],
            y=[at],
            mode="markers",
            name=clean_caption(row.run),
            marker=style,
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row.high - row.difference],
                "arrayminus": [row.difference - row.low],
                "color": style["color"],
            },
            hovertemplate="%{x:+.1f}<extra>%{fullData.name}</extra>",
        )
    figure.add_vline(x=0, line={"color": COLOURS[6], "dash": "dot"})
    told = [
        f"{shorten(row.run)} {row.difference:+.1f} ({row.low:.1f} to {row.high:.1f})"
        + ("" if row.significant else ", which may be chance")
        for row in rows.itertuples()
    ]
    return apply_style(
        figure,
        title="",
        x=f"{metric} minus the reference, in points; hollow: may be chance",
        y="",
        alt=f"{metric} minus that of the reference: {join_phrases(told, 8)}.",
        table=rows,
        height=height,
        margin=MARGIN,
        showlegend=False,
        yaxis={
            "autorange": "reversed",
            "tickvals": list(range(len(runs))),
            "ticktext": [clean_caption(run, 28) for run in runs],
            "automargin": True,
        },
    )


def draw_band_dots(
    shares: Mapping[str, Mapping[str, float]],
    titles: Mapping[str, str],
    styles: Mapping[str, SeriesStyle],
    *,
    k: int,
    height: int = 280,
) -> go.Figure:
    """Draw one line per band of frequency and one dot per run: the share of true labels among the first k, in percent.

    `shares` are by run and band; `titles` name the bands, in order. Dots close together share a name.
    """
    import pandas as pd
    import plotly.graph_objects as go

    figure, rows = go.Figure(), []
    names = list(shares)
    for at, (name, of_band) in enumerate(shares.items()):
        known = [band for band in titles if band in of_band]
        offset = 0.1 if at % 2 else -0.1
        figure.add_scatter(
            x=[of_band[band] for band in known],
            y=[list(titles).index(band) + offset for band in known],
            mode="markers",
            name=clean_caption(name),
            marker=_mark(styles, name) | {"line": {"width": 1, "color": "rgba(255,255,255,.7)"}},
            hovertemplate="%{x:.1f} %<extra>%{fullData.name}</extra>",
        )
        rows += [(name, titles[band], of_band[band]) for band in known]
    short = dict(zip(names, drop_common_words(names), strict=True))
    for at, band in enumerate(titles):
        values = {short[name]: shares[name][band] for name in names if band in shares[name]}
        for x, anchor, is_below, words in place_names(group_near(values)):
            figure.add_annotation(
                x=x,
                y=at + (0.34 if is_below else -0.36),
                text=clean_caption(words, MAX_WORDS_CHARACTERS),
                showarrow=False,
                font={"size": 13},
                xanchor=anchor,
            )
    told = [
        f"{shorten(name)}: " + ", ".join(f"{titles[b]} {v:.0f} %" for b, v in s.items()) for name, s in shares.items()
    ]
    return apply_style(
        figure,
        title="",
        x=f"true labels among the first {k}, %",
        y="",
        alt=f"Share of true labels found by frequency. {join_phrases(told, 8)}.",
        table=pd.DataFrame(rows, columns=["run", "band", f"recall@{k}"]),
        height=height,
        margin=MARGIN,
        showlegend=False,
        xaxis={"range": [-3, 103], "ticksuffix": " %"},
        yaxis={
            "range": [len(titles) - 0.4, -0.6],
            "tickvals": list(range(len(titles))),
            "ticktext": [clean_caption(title) for title in titles.values()],
            "automargin": True,
        },
    )


def drop_common_words(names: Sequence[str]) -> list[str]:
    """Return names without the words at their ends that all of them share: "bm25 demo" and "mhc demo" lose "demo"."""
    words = [name.split() for name in names]
    while len(words) > 1 and all(len(each) > 1 for each in words) and len({each[-1] for each in words}) == 1:
        words = [each[:-1] for each in words]
    shown = [" ".join(each) for each in words]
    return shown if len(set(shown)) == len(names) else list(names)


def place_names(groups: Sequence[tuple[float, list[str]]]) -> list[tuple[float, str, bool, str]]:
    """Return where the names of groups of dots stand: x, anchor, whether below the line, words; none overlap.

    A name that has no room above or below gives way; its dot says it when the mouse is on it.
    """
    placed: list[tuple[float, str, bool, str]] = []
    taken: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for x, members in groups:
        shown = members[: MAX_NAMES if len(members) <= MAX_NAMES else MAX_NAMES - 1]
        words = ", ".join(shorten(name, 20) for name in shown)
        words += f" and {len(members) - len(shown)} more" if len(members) > len(shown) else ""
        width = POINTS_PER_CHARACTER * min(len(words), MAX_WORDS_CHARACTERS)
        anchor = "left" if x < width / 2 else "right" if x > 100 - width / 2 else "center"
        low = {"left": x, "right": x - width, "center": x - width / 2}[anchor]
        for is_below in (True, False):
            if all(low > end or low + width < start for start, end in taken[is_below]):
                taken[is_below].append((low, low + width))
                placed.append((x, anchor, is_below, words))
                break
    return placed


def group_near(values: Mapping[str, float]) -> list[tuple[float, list[str]]]:
    """Return groups of names whose values lie close together, ascending, each with its middle."""
    groups: list[list[tuple[float, str]]] = []
    for value, name in sorted((value, name) for name, value in values.items()):
        if groups and value - groups[-1][-1][0] < NEAR_POINTS:
            groups[-1].append((value, name))
        else:
            groups.append([(value, name)])
    return [(sum(v for v, _ in group) / len(group), [name for _, name in group]) for group in groups]


def _mark(styles: Mapping[str, SeriesStyle], name: str) -> dict[str, Any]:
    style = styles.get(name) or style_series(0)
    ring = {"line": {"width": RING_PIXELS}} if style.marker.endswith("-open") else {}
    return {"color": style.colour, "symbol": style.marker, "size": DOT_PIXELS} | ring
