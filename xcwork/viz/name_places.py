"""Where the names of dots stand in a chart, so that none lies on another name or on another dot.

All sizes are pixels of a chart as small as a page shows it; in a larger one there is only more room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CHARACTER_PIXELS = 6.8  # of type of 13 px, on average
LINE_PIXELS = 17.0
DOT_PIXELS = 14.0
GAP_PIXELS = 9.0  # between the middle of a dot and its name
LEADER_PIXELS = 16.0  # of the line to a name that stands higher or lower than its dot, along the axis
MAX_STEPS = 6  # lines by which a name may stand higher or lower
LEFT_COST = 0.6  # lines that the right-hand side is better
BAR_COST = 0.8  # of crossing the range of another dot
CROSSING_COST = 2.5  # of a line to a name that crosses another dot or another such line


@dataclass(frozen=True)
class DotName:
    """A dot at (x, y) from the lower left corner, with the ends of its range and its name."""

    x: float
    y: float
    low: float
    high: float
    name: str


@dataclass(frozen=True)
class NamePlace:
    """On which side of its dot a name stands, and by how much higher."""

    is_left: bool
    lift: float


Box = tuple[float, float, float, float]  # left, lower, right, upper
Line = tuple[float, float, float, float]  # from x, y to x, y


def place_beside(dots: Sequence[DotName], width: float, height: float) -> list[NamePlace | None]:
    """Return the place of every name, the nearest that is free; None where there is none.

    The highest dots choose first. A name keeps inside the chart and off all dots and other names; it may cross the
    range of another dot, and its line another line, where nothing better is near.
    """
    steps = [0, *(sign * step for step in range(1, MAX_STEPS + 1) for sign in (-1, 1))]
    taken = [_surround(dot) for dot in dots]
    found: list[NamePlace | None] = [None] * len(dots)
    lines: list[Line] = []
    for at in sorted(range(len(dots)), key=lambda at: (-dots[at].y, dots[at].x)):
        bars = [(other.x - 1, other.low, other.x + 1, other.high) for other in dots if other is not dots[at]]
        best = None
        for step in steps:
            for is_left in (False, True):
                place = NamePlace(is_left, step * LINE_PIXELS)
                box = _measure_name(dots[at], place)
                is_inside = box[0] >= 0 and box[2] <= width and box[1] >= 0 and box[3] <= height
                if not is_inside or any(_overlap(box, other) for other in taken):
                    continue
                line = _draw_line(dots[at], place)
                crossed = sum(_cross(line, other) for other in lines)
                crossed += sum(_is_close(line, other) for other in dots if other is not dots[at])
                cost = abs(step) + LEFT_COST * is_left + BAR_COST * sum(_overlap(box, bar) for bar in bars)
                cost += CROSSING_COST * crossed if step else 0.0
                if best is None or cost < best[0]:
                    best = (cost, place, box, line)
        if best is not None:
            found[at] = best[1]
            taken.append(best[2])
            lines.append(best[3])
    return found


def _surround(dot: DotName) -> Box:
    half = DOT_PIXELS / 2
    return dot.x - half, dot.y - half, dot.x + half, dot.y + half


def _measure_name(dot: DotName, place: NamePlace) -> Box:
    """Return the box around a name at a place."""
    length, middle = CHARACTER_PIXELS * len(dot.name), dot.y + place.lift
    near = GAP_PIXELS + (LEADER_PIXELS if place.lift else 0.0)
    left = dot.x - near - length if place.is_left else dot.x + near
    return left, middle - LINE_PIXELS / 2, left + length, middle + LINE_PIXELS / 2


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _draw_line(dot: DotName, place: NamePlace) -> Line:
    """Return the line from a dot to its name."""
    aside = LEADER_PIXELS if place.lift else 0.0
    return dot.x, dot.y, dot.x + (-aside if place.is_left else aside), dot.y + place.lift


def _cross(one: Line, other: Line) -> bool:
    def is_left_of(x: float, y: float, line: Line) -> bool:
        return (line[2] - line[0]) * (y - line[1]) > (line[3] - line[1]) * (x - line[0])

    return is_left_of(*one[:2], other) != is_left_of(*one[2:], other) and (
        is_left_of(*other[:2], one) != is_left_of(*other[2:], one)
    )


def _is_close(line: Line, dot: DotName) -> bool:
    """Return whether a line touches a dot."""
    along = line[2] - line[0], line[3] - line[1]
    length = along[0] ** 2 + along[1] ** 2
    if not length:
        return False
    at = min(1.0, max(0.0, ((dot.x - line[0]) * along[0] + (dot.y - line[1]) * along[1]) / length))
    apart = (line[0] + at * along[0] - dot.x) ** 2 + (line[1] + at * along[1] - dot.y) ** 2
    return apart < (DOT_PIXELS / 2) ** 2
