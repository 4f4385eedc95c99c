"""A label map opened in a real browser as a file: where its labels are, what its pixels are, and a hand that draws."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from tests.support.browser_pages import eventually
from xcwork.viz.map_data import CategoryColours, ColourEntry, MapData
from xcwork.viz.map_view import LabelMapView

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

ENTRIES = (ColourEntry("one", "#B5310B", "#FF7F50"), ColourEntry("two", "#1F7A3D", "#2CC295"))
READ_STATE = "map => ({...map.dataset, shown: map.xcmap.shownNames, view: map.xcmap.camera.view})"
SETTLED = ".xc-map[data-ready=true][data-still=true]"


def scatter(n: int = 60, **changes: Any) -> MapData:
    """A map of labels that stay clear of each other, in two colours."""
    rng = np.random.default_rng(3)
    places = rng.permutation(100)[:n]
    positions = np.column_stack([places % 10, places // 10]) / 5 - 0.9 + rng.uniform(-0.05, 0.05, (n, 2))
    data = MapData(
        positions=positions.astype(np.float32),
        sizes=rng.integers(1, 90, n),
        names=[f"package.module.label_{at}" for at in range(n)],
        colours=(CategoryColours("Kind", np.arange(n) % 2, ENTRIES),),
    )
    return replace(data, **changes)


def show(page: Page, folder: Path, data: MapData, **options: Any) -> Locator:
    """Open the map as a file, without network, and wait until it is drawn."""
    view = LabelMapView(data, **{"search": False, **options})
    page.add_init_script("window.events = []; addEventListener('xc-map', event => events.push(event.detail));")
    page.goto(view.write_html(folder / "map.html").as_uri())
    wait(page)
    return page.locator(".xc-map")


def wait(page: Page) -> None:
    page.wait_for_selector(SETTLED)


def expect_last_event(page: Page, expected: object) -> None:
    """Wait until the last thing that the map has said is this."""

    def check() -> None:
        assert page.evaluate("events.at(-1)") == expected

    eventually(check)


def locate(page: Page, label: int) -> tuple[float, float]:
    place = page.locator(".xc-map").evaluate("(map, label) => map.xcmap.at(label)", label)
    return place["x"], place["y"]


def locate_all(page: Page, n: int) -> list[tuple[float, float]]:
    places = page.locator(".xc-map").evaluate("(map, n) => Array.from({length: n}, (_, at) => map.xcmap.at(at))", n)
    return [(place["x"], place["y"]) for place in places]


def photograph(page: Page) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB")).astype(int)


def read_colour(colour: str) -> np.ndarray:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])


def drag(page: Page, path: list[tuple[float, float]]) -> None:
    page.mouse.move(*path[0])
    page.mouse.down()
    for point in path[1:]:
        page.mouse.move(*point)
    page.mouse.up()


def circle(x: float, y: float, radius: float, steps: int = 48) -> list[tuple[float, float]]:
    """A wobbling circle, with more corners than a polygon may have."""
    turns = [2 * math.pi * at / steps for at in range(steps)]
    return [
        (x + radius * (1 + 0.15 * math.sin(5 * turn)) * math.cos(turn), y + radius * math.sin(turn)) for turn in turns
    ]
