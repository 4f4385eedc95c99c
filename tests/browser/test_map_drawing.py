"""The label map in a real browser, read by its pixels: points, names, layers, pictures, and life without WebGL."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from tests.support.browser_pages import PATIENCE_SECONDS, eventually, get_box
from tests.support.map_browser import (
    ENTRIES,
    READ_STATE,
    circle,
    drag,
    locate,
    locate_all,
    photograph,
    read_colour,
    scatter,
    show,
    wait,
)
from tests.support.map_samples import make_map
from xcwork.viz.map_data import CategoryColours, MapData, MapRegion, MapState
from xcwork.viz.map_layers import MapEdges, MapGrid, MapHull

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

WITHOUT_WEBGL = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith('webgl') ? null : original.call(this, kind, ...rest);
};"""


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """A page of the test's own: a script that begins with a page stays with it."""
    return context.new_page()


def assert_points_are_in_place(page: Page, data: MapData, theme: str, ratio: float = 1) -> int:
    """Compare the pixel at every label in view with its colour; return how many were compared."""
    picture = photograph(page)
    box, tools = get_box(page.locator(".xc-map")), get_box(page.locator(".xc-map-tools"))
    compared = 0
    for label, (x, y) in enumerate(locate_all(page, data.n_placed)):
        is_inside = box["x"] + 5 < x < tools["x"] - 5 and box["y"] + 5 < y < box["y"] + box["height"] - 50
        if is_inside:
            expected = read_colour(getattr(ENTRIES[label % 2], theme))
            assert np.abs(picture[int(y * ratio), int(x * ratio)] - expected).max() < 30, (label, x, y)
            compared += 1
    return compared


@pytest.mark.parametrize(
    ("way", "theme"),
    [("webgl", "light"), ("webgl", "dark"), ("canvas", "light"), ("slow webgl", "light"), ("fine pixels", "dark")],
)
def test_points_are_where_the_data_says(browser: Browser, tmp_path: Path, way: str, theme: str) -> None:
    ratio = 2 if way == "fine pixels" else 1
    context = browser.new_context(
        viewport={"width": 720, "height": 640},
        device_scale_factor=ratio,
        color_scheme=theme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    context.set_default_timeout(1000 * PATIENCE_SECONDS)
    page = context.new_page()
    if way == "canvas":
        page.add_init_script(WITHOUT_WEBGL)
    data = scatter(names=[""] * 60)  # names would cover points
    shown = show(page, tmp_path, data)
    assert shown.evaluate("map => map.xcmap.isPlain") == (way == "canvas")
    if way == "slow webgl":  # as with a million labels: points come as a picture
        shown.evaluate(
            "map => { map.xcmap.points.isTimed = true; map.xcmap.points.isSlow = true; map.xcmap.noteMove(); }"
        )
        wait(page)
    assert_drawn(shown, data)
    assert assert_points_are_in_place(page, data, theme, ratio) > 50
    # Where no label is, nothing is drawn.
    background = read_colour("#FFFFFF" if theme == "light" else "#11161C")
    picture = photograph(page)
    for x, y in ((-0.8, 0.8), (0.0, 0.0)):
        free = find_free_place(data, x, y)
        at = shown.evaluate(
            "(map, [x, y]) => { const box = map.getBoundingClientRect(); const camera = map.xcmap.camera;"
            "return [box.left + camera.toScreenX(x), box.top + camera.toScreenY(y)]; }",
            free,
        )
        assert np.abs(picture[int(at[1] * ratio), int(at[0] * ratio)] - background).max() < 3
    shown.evaluate("map => { map.xcmap.zoomAt(250, 300, 2.5); map.xcmap.moveByPixels(37, -21); }")
    wait(page)
    assert assert_points_are_in_place(page, data, theme, ratio) > 5
    context.close()


def find_free_place(data: MapData, x: float, y: float) -> tuple[float, float]:
    """Return a place near (x, y) that is far from every label."""
    places = [(x + dx / 50, y + dy / 50) for dx in range(-10, 11) for dy in range(-10, 11)]
    gaps = [np.hypot(*(data.positions - place).T).min() for place in places]
    return places[int(np.argmax(gaps))]


def assert_drawn(shown: Locator, data: MapData) -> None:
    facts = shown.evaluate(READ_STATE)
    assert int(facts["drawn"]) == data.n_placed
    assert int(facts["labels"]) == (data.n_labels or data.n_placed)
    assert facts["ready"] == "true"


@pytest.mark.parametrize("n", [0, 1, 2])
def test_maps_of_hardly_any_labels(page: Page, tmp_path: Path, n: int) -> None:
    data = scatter(n, colours=(CategoryColours("Kind", np.zeros(n, int), ENTRIES),))
    shown = show(page, tmp_path, data)
    assert_drawn(shown, data)
    assert len(shown.evaluate(READ_STATE)["shown"]["labels"]) == n
    shown.focus()
    page.keyboard.press("Enter")
    box = get_box(shown)
    drag(page, circle(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 200))

    def check() -> None:
        assert page.evaluate("events.at(-1).n_labels") == (1 if n == 1 else 0)

    eventually(check)


def test_names_never_overlap_and_refine(page: Page, tmp_path: Path) -> None:
    data = make_map(3400)
    page.emulate_media(reduced_motion="reduce")
    shown = show(page, tmp_path, data)
    levels = set()
    written = 0
    for zoom in (1, 2.1, 2, 2):
        shown.evaluate("(map, zoom) => map.xcmap.zoomAt(500, 400, zoom)", zoom)
        wait(page)
        boxes = page.locator(".xc-map-region").evaluate_all(
            "all => all.map(each => each.getBoundingClientRect().toJSON())"
        )
        facts = shown.evaluate(READ_STATE)
        outer = get_box(shown)
        for each in facts["shown"]["labels"]:
            boxes.append(
                {
                    side: each[side] + outer["x" if side in ("left", "right") else "y"]
                    for side in ("left", "right", "top", "bottom")
                }
            )
        assert len(boxes) > 3
        for at, one in enumerate(boxes):
            for other in boxes[:at]:
                apart = one["left"] >= other["right"] or other["left"] >= one["right"]
                assert apart or one["top"] >= other["bottom"] or other["top"] >= one["bottom"]
        levels.add(max(data.regions[each["at"]].level for each in facts["shown"]["regions"]))
        written += len(facts["shown"]["labels"])
    assert levels == {0, 1, 2}
    assert written > 10  # names of labels come when the map is near


def test_without_webgl_a_sample_says_so(page: Page, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    page.add_init_script(WITHOUT_WEBGL)
    shown = show(page, tmp_path, make_map(60_000))
    expect(shown).to_have_attribute("data-drawn", "50000")
    expect(page.get_by_text("a sample of 50,000 of 60,000 labels is drawn")).to_be_visible()


def test_points_come_back_after_the_graphics_were_lost(page: Page, tmp_path: Path) -> None:
    data = scatter(names=[""] * 60)
    page.set_viewport_size({"width": 720, "height": 640})
    shown = show(page, tmp_path, data)
    shown.evaluate(
        """async map => {
            const canvas = map.querySelector('.xc-map-points');
            const happened = name => new Promise(done => canvas.addEventListener(name, done, {once: true}));
            const lose = canvas.getContext('webgl2').getExtension('WEBGL_lose_context');
            const lost = happened('webglcontextlost');
            lose.loseContext();
            await lost;
            const restored = happened('webglcontextrestored');
            setTimeout(() => lose.restoreContext());
            await restored;
            map.xcmap.noteMove();
        }"""
    )
    wait(page)
    assert assert_points_are_in_place(page, data, "light") > 50


def test_lit_labels_stand_out_and_layers_are_drawn(page: Page, tmp_path: Path) -> None:
    edges = (MapEdges("graph", np.array([[0, 1]])),)
    data = scatter(edges=edges, names=[""] * 60)
    page.set_viewport_size({"width": 720, "height": 640})
    plain = photograph_after(page, tmp_path, data, MapState())
    lit = photograph_after(page, tmp_path, data, MapState(highlight=[4]))
    joined = photograph_after(page, tmp_path, data, MapState(layers=["graph"]))
    x, y = (round(each) for each in locate(page, 9))
    assert np.abs(lit[y, x] - read_colour("#FFFFFF")).sum() < 0.5 * np.abs(plain[y, x] - read_colour("#FFFFFF")).sum()
    x, y = (round(each) for each in locate(page, 4))
    assert np.abs(lit[y, x] - read_colour(ENTRIES[0].light)).max() < 30
    middle = [round(sum(each) / 2) for each in zip(locate(page, 0), locate(page, 1), strict=True)]
    around = np.s_[middle[1] - 2 : middle[1] + 3, middle[0] - 2 : middle[0] + 3]
    assert np.abs(joined[around] - plain[around]).max() > 40


def photograph_after(page: Page, folder: Path, data: MapData, state: MapState) -> np.ndarray:
    show(page, folder, data, state=state)
    return photograph(page)


def test_hostile_names_stay_text(page: Page, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    hostile = '<img src=x onerror="window.hit=1"></script><script>window.hit=1</script>'
    data = scatter(names=[hostile] * 60, regions=(MapRegion(0, hostile, 0, 0, 1),), caption=hostile)
    shown = show(page, tmp_path, data, search=True)
    page.mouse.move(*locate(page, 3))
    page.get_by_role("combobox").fill("img")
    expect(page.locator(".xc-map-suggestion").first).to_have_text(hostile)
    page.keyboard.press("Enter")
    expect(shown).to_have_attribute("aria-label", hostile)
    assert page.evaluate("window.hit") is None


HULL = np.array([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]])


def find_screen_place(shown: Locator, x: float, y: float) -> tuple[int, int]:
    """Return the pixel of a place on the map."""
    at = shown.evaluate(
        "(map, [x, y]) => { const {camera, corner} = map.xcmap;"
        "return [corner.left + camera.toScreenX(x), corner.top + camera.toScreenY(y)]; }",
        [x, y],
    )
    return round(at[0]), round(at[1])


def measure_change(one: np.ndarray, other: np.ndarray, x: int, y: int) -> int:
    """Return how much a pixel or one beside it differs between two pictures."""
    around = np.s_[y - 1 : y + 2, x - 1 : x + 2]
    return int(np.abs(one[around] - other[around]).max())


def test_hulls_of_a_tree_are_nested_and_refine_with_the_zoom(page: Page, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    hulls = [MapHull(f"level {level}", HULL * (1 - 0.3 * level), "tree", level, "#D55E00") for level in range(3)]
    data = scatter(
        names=[""] * 60, hulls=tuple(hulls), regions=(MapRegion(0, "a region", 0.0, 0.2, 30),), sizes=np.ones(60, int)
    )
    page.set_viewport_size({"width": 720, "height": 640})
    page.emulate_media(reduced_motion="reduce")
    plain = photograph_after(page, tmp_path, data, MapState())
    expect(page.get_by_role("button", name="a region")).to_be_visible()
    shown = show(page, tmp_path, data, state=MapState(layers=["tree"]))
    assert [each["name"] for each in shown.evaluate(READ_STATE)["shown"]["hulls"]] == ["level 0"]
    expect(page.get_by_role("button", name="a region")).to_have_count(0)  # one kind of names at a time
    drawn = photograph(page)
    for level, is_drawn in ((0, True), (1, True), (2, False)):
        sides = [find_screen_place(shown, -0.9 * (1 - 0.3 * level), y) for y in np.linspace(-0.2, 0.2, 9)]
        changes = [measure_change(plain, drawn, x, y) > 60 for x, y in sides]
        assert (np.mean(changes) > 0.6) == is_drawn, level
    shown.evaluate("map => map.xcmap.zoomBy(2)")
    wait(page)
    assert {each["name"] for each in shown.evaluate(READ_STATE)["shown"]["hulls"]} >= {"level 1"}


def test_a_grid_has_its_lines_and_captions_where_the_data_says(page: Page, tmp_path: Path) -> None:
    data = scatter(names=[""] * 60, grid=MapGrid(((-0.5, "other heads: 1"), (0.5, "2")), ((0.3, "first head: 1"),)))
    page.set_viewport_size({"width": 720, "height": 640})
    plain = photograph_after(page, tmp_path, data, MapState())
    shown = show(page, tmp_path, data, state=MapState(show_grid=True))
    drawn = photograph(page)
    for x, y in ((-0.5, 0.55), (0.5, -0.45), (0.25, 0.3)):
        assert measure_change(plain, drawn, *find_screen_place(shown, x, y)) > 15, (x, y)
    assert measure_change(plain, drawn, *find_screen_place(shown, 0.1, 0.51)) == 0


def test_a_picture_is_what_is_seen_in_twice_as_many_pixels(page: Page, tmp_path: Path) -> None:
    data = scatter(names=[""] * 60, regions=(MapRegion(0, "a · region", 0.0, 0.03, 30),))
    page.set_viewport_size({"width": 720, "height": 640})
    shown = show(page, tmp_path, data)
    with page.expect_download() as started:
        page.get_by_role("button", name="Save a picture").click()
    assert started.value.suggested_filename == "label-map.png"
    picture = np.asarray(Image.open(io.BytesIO(Path(started.value.path()).read_bytes())).convert("RGB")).astype(int)
    wait(page)
    box = shown.evaluate("map => [map.clientWidth, map.clientHeight, map.xcmap.corner.left, map.xcmap.corner.top]")
    assert picture.shape == (2 * box[1], 2 * box[0], 3)
    for label, (x, y) in enumerate(locate_all(page, 60)):
        across, down = int(2 * (x - box[2])), int(2 * (y - box[3]))
        covered = shown.evaluate("(map, [x, y]) => map.xcmap.regionNames.find(x, y) >= 0", [across / 2, down / 2])
        if not covered and down < 2 * box[1] - 90:
            expected = read_colour(ENTRIES[label % 2].light)
            assert np.abs(picture[down, across] - expected).max() < 30, label
    seen = photograph(page)[int(box[3]) :, int(box[2]) :][: box[1], : box[0]]
    halved = picture.reshape(box[1], 2, box[0], 2, 3).mean(axis=(1, 3))
    tools = get_box(page.locator(".xc-map-tools"))
    seen, halved = (each[:, : int(tools["x"] - box[2]) - 8] for each in (seen, halved))
    ink = [np.abs(each - 255).sum(axis=2) > 60 for each in (seen, halved)]
    assert (ink[0] != ink[1]).mean() < 0.02, "names, points and legend stand where they are seen"
    legend = get_box(page.locator(".xc-map-legend"))
    rows = slice(int(legend["y"] - box[3]), int(legend["y"] + legend["height"] - box[3]))
    assert ink[1][rows].sum() > 0.6 * ink[0][rows].sum() > 50, "the legend is in the picture"
