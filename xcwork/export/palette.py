"""Colours: the one place where they are written down, for a light and for a dark page.

Hue belongs to runs. A run has a number (`xcwork.runs.identity`), and `Palette.pick_run` gives its colour; the marks are
disc, ring and square, so 7 colours make 21 looks. Evidence is yellow, frequency is grey, and verdicts have a sign as
well as a colour. The run colours are those of Okabe and Ito, darkened where a white page needs it. Pairs of text and
ground have a contrast of at least 4.5 in both palettes, which a test computes.

`SERIES` is for figures whose lines or bars are not runs; each of its colours can be seen on both pages.
"""

from __future__ import annotations

from dataclasses import dataclass

MARKS = ("disc", "ring", "square")
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F")


@dataclass(frozen=True)
class InkOnGround:
    """A colour of text and the colour behind it."""

    ink: str
    ground: str


@dataclass(frozen=True)
class Palette:
    """All colours of one kind of page."""

    text: str
    muted: str  # text that may be overlooked
    background: str
    second: str  # the ground of the side bar and of quiet boxes
    card: str
    line: str
    fine_line: str
    track: str  # the part of a bar that is not filled
    primary: InkOnGround  # what a primary button looks like; its ground is also the colour of links
    selected: str  # the ground of a selected row
    evidence_text: str  # on each of the three grounds of evidence
    evidence_strong: str
    evidence_medium: str
    evidence_weak: str
    evidence_bar: str
    against: str  # bars and dashed lines of what counts against a label, and of the starting point
    right: InkOnGround  # ✓
    wrong: InkOnGround  # ✗, also "not annotated"
    missed: InkOnGround  # ○
    unsure: InkOnGround  # ?
    warning: InkOnGround
    runs: tuple[str, ...]
    bands: tuple[str, str, str]  # head, torso, tail
    unseen_outline: str  # the band of unseen labels is hatched
    map_found: tuple[str, str, str, str, str]  # never, up to half, mostly, always, not in the test split
    outranked: str
    not_listed: tuple[str, str]  # hatched in these two
    reproduced: InkOnGround
    in_direction: InkOnGround
    contradicted: InkOnGround
    not_checkable: InkOnGround

    def pick_run(self, number: int) -> str:
        """Return the colour of the run with this number."""
        return self.runs[number % len(self.runs)]


LIGHT = Palette(
    text="#17202A",
    muted="#56626E",
    background="#FFFFFF",
    second="#F5F7F9",
    card="#FFFFFF",
    line="#DCE2E9",
    fine_line="#EBEFF3",
    track="#E9EDF1",
    primary=InkOnGround("#FFFFFF", "#1F4E79"),
    selected="#E7EFF6",
    evidence_text="#17202A",
    evidence_strong="#FFD24A",
    evidence_medium="#FFE391",
    evidence_weak="#FFF3CF",
    evidence_bar="#B57F00",
    against="#66727E",
    right=InkOnGround("#00674B", "#E2F3EC"),
    wrong=InkOnGround("#A33B00", "#FBE9DF"),
    missed=InkOnGround("#6A3D9A", "#F0E9F8"),
    unsure=InkOnGround("#3F4A56", "#E8ECF1"),
    warning=InkOnGround("#7A5200", "#FBF0D9"),
    runs=("#0072B2", "#D55E00", "#009E73", "#C4689B", "#3527B0", "#7F2A12", "#1C2440"),
    bands=("#22303C", "#5C7186", "#A9B8C6"),
    unseen_outline="#5C7186",
    map_found=("#B5310B", "#E38B50", "#C4B08B", "#7EA2BE", "#D3DAE1"),
    outranked="#8A96A3",
    not_listed=("#8A96A3", "#C3CBD3"),
    reproduced=InkOnGround("#FFFFFF", "#00674B"),
    in_direction=InkOnGround("#00543D", "#BFE3D5"),
    contradicted=InkOnGround("#FFFFFF", "#A33B00"),
    not_checkable=InkOnGround("#3F4A56", "#E3E8ED"),
)
DARK = Palette(
    text="#E8EDF2",
    muted="#A3B1BF",
    background="#11161C",
    second="#181F27",
    card="#151B22",
    line="#2C3743",
    fine_line="#232C36",
    track="#29333E",
    primary=InkOnGround("#0B2238", "#8CC4F0"),
    selected="#1B3145",
    evidence_text="#FFF6DC",
    evidence_strong="#7A5D0C",
    evidence_medium="#54420F",
    evidence_weak="#3A2F10",
    evidence_bar="#E0B02E",
    against="#8A98A6",
    right=InkOnGround("#7BE0BC", "#11352A"),
    wrong=InkOnGround("#FFB48F", "#3D2013"),
    missed=InkOnGround("#CDB5F2", "#2E2342"),
    unsure=InkOnGround("#C3CDD7", "#2A343F"),
    warning=InkOnGround("#F2CF7A", "#372A0C"),
    runs=("#56B4E9", "#FF8B4D", "#2CC295", "#E487BD", "#8375F0", "#F0E442", "#F2F5F8"),
    bands=("#E3EAF0", "#9DB0C2", "#5F7386"),
    unseen_outline="#9DB0C2",
    map_found=("#FF7F50", "#E8A871", "#B9A98A", "#6F9DC0", "#3A4652"),
    outranked="#7A8896",
    not_listed=("#7A8896", "#3A4652"),
    reproduced=InkOnGround("#0B1F18", "#7BE0BC"),
    in_direction=InkOnGround("#BFE3D5", "#11352A"),
    contradicted=InkOnGround("#2A1006", "#FFB48F"),
    not_checkable=InkOnGround("#C3CDD7", "#2A343F"),
)


def pick_mark(number: int) -> str:
    """Return the mark of the run with this number: after each seven colours comes the next mark."""
    return MARKS[number // len(LIGHT.runs) % len(MARKS)]
