"""Colours: text can be read on its ground, runs can be told from the page, in both palettes."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from xcwork.export.palette import DARK, LIGHT, SERIES, InkOnGround, Palette

MIN_TEXT_CONTRAST = 4.5
MIN_SHAPE_CONTRAST = 3.0


def contrast(one: str, other: str) -> float:
    """As WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, brighter = sorted((luminance(one), luminance(other)))
    return (brighter + 0.05) / (darker + 0.05)


def list_pairs(palette: Palette) -> dict[str, InkOnGround]:
    """All pairs of text and ground that a page shows."""
    grounds = ("background", "second", "card", "selected")
    pairs = {
        f"{name} on {ground}": InkOnGround(ink, getattr(palette, ground))
        for ground in grounds
        for name, ink in (("text", palette.text), ("muted", palette.muted), ("link", palette.primary.ground))
    }
    for strength in ("strong", "medium", "weak"):
        pairs[f"{strength} evidence"] = InkOnGround(palette.evidence_text, getattr(palette, f"evidence_{strength}"))
    for field in fields(palette):
        if isinstance(pair := getattr(palette, field.name), InkOnGround):
            pairs[field.name] = pair
    for verdict in ("right", "wrong", "missed", "unsure", "warning"):  # also without their ground, as words in a row
        for ground in grounds:
            pairs[f"{verdict} on {ground}"] = InkOnGround(getattr(palette, verdict).ink, getattr(palette, ground))
    return pairs


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read_on_its_ground(palette: Palette) -> None:
    measured = {name: contrast(pair.ink, pair.ground) for name, pair in list_pairs(palette).items()}
    assert {name: value for name, value in measured.items() if value < MIN_TEXT_CONTRAST} == {}
    assert len(measured) > 30


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_runs_and_bars_can_be_told_from_the_page(palette: Palette) -> None:
    shapes = (*palette.runs, palette.evidence_bar, palette.against, palette.unseen_outline)
    for colour in shapes:
        for ground in (palette.background, palette.second, palette.card):
            assert contrast(colour, ground) >= MIN_SHAPE_CONTRAST, (colour, ground)


def test_the_measure_is_that_of_wcag() -> None:
    assert contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_is_written_in_full(palette: Palette) -> None:
    for field in fields(palette):
        value = getattr(palette, field.name)
        colours = (value.ink, value.ground) if isinstance(value, InkOnGround) else value
        for colour in (colours,) if isinstance(colours, str) else colours:
            assert re.fullmatch("#[0-9A-F]{6}", colour), field.name


def test_runs_have_seven_different_colours() -> None:
    assert len(set(LIGHT.runs)) == len(set(DARK.runs)) == 7
    assert len(set(SERIES)) == len(SERIES)
