"""How fast is the label map, and what does it cost, up to a million labels?

    python -m benchmarks.label_map [--sizes 3400 41218 148730 1000000] [--repeats 3] [--out FILE] [--pictures FOLDER]

A page of the dashboard with one made-up map is opened in chromium, where graphics are computed by the processor
(SwiftShader) unless the machine has a card. Per size, the median of the repeats:

- *first draw*: from the mount of the component until all labels and names are drawn; beside it the same from the
  moment the address was opened, with everything that Streamlit itself needs;
- *panning*: time from frame to frame while the map moves a few pixels per frame, median and largest. Where one drawing
  takes longer than a frame, a picture of all labels moves and the points are drawn again when the map rests;
- *rest*: from the last move until the points are drawn again, of which 140 ms are waiting;
- *lasso*: from the end of a drag around nearly all labels, with 40 corners, until the count is known and emitted;
- *search*: for a name that one label has, over all names;
- *sent*: bytes to the browser for the first draw, for a rerun with another selection, and for another colour;
- *memory*: JavaScript heap, and the resident memory of the browser's page process and of the server;
- *CPU*: processor time of all browser processes while the first draw and the panning were measured, which other work on
  the machine does not change much. The goals are held against the clock; `goals met by CPU` says what the same would be
  with one core for the browser alone.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._browser import find_page_memory, read_browser_seconds, start_browser
from benchmarks._common import conditions, described, markdown_table, timed, write_json
from tests.support.map_samples import SIZES, make_map
from tests.support.paths import ROOT
from tests.support.server import PATIENCE, Server, serving_script
from xcwork.viz.map_view import LabelMapView

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GOALS = {3_400: (1, 50), 41_218: (2, 50), 148_730: (4, 50), 1_000_000: (15, 250)}  # first draw in s, panning in ms
READY = ".xc-map[data-ready=true][data-still=true]"
PAN = """map => new Promise(done => {
    const times = [];
    let last = null;
    const step = now => {
        if (last !== null) times.push(now - last);
        last = now;
        if (times.length === 60) return done(times);
        map.xcmap.moveByPixels(5 * Math.cos(times.length / 8), 3 * Math.sin(times.length / 8));
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""
REST = """map => new Promise(done => {
    const begun = performance.now();
    new MutationObserver((_, observer) => {
        if (map.dataset.still !== 'true') return;
        observer.disconnect();
        const gl = map.querySelector('.xc-map-points').getContext('webgl2');
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
        done(performance.now() - begun);
    }).observe(map, {attributes: true, attributeFilter: ['data-still']});
    map.xcmap.moveByPixels(9, 5);
})"""
LASSO = """map => {
    const {xcmap} = map;
    const emit = xcmap.emit;
    let count = 0;
    xcmap.emit = event => { count = event.n_labels; };
    const radius = 0.47 * xcmap.camera.height;
    const path = Array.from({length: 400}, (_, at) => {
        const turn = Math.PI * at / 200, reach = radius * (1 + 0.04 * Math.sin(9 * turn));
        return [xcmap.camera.width / 2 + reach * Math.cos(turn), xcmap.camera.height / 2 + reach * Math.sin(turn)];
    });
    const begun = performance.now();
    xcmap.finishPath(path);
    const needed = performance.now() - begun;
    xcmap.emit = emit;
    const corners = xcmap.lasso.length;
    xcmap.showLasso(null);
    return [needed, count, corners];
}"""
SEARCH = """(map, name) => {
    const {names, labels} = map.xcmap;
    const search = () => {
        const begun = performance.now();
        const found = names.search(name, 8, labels.sizes);
        return [performance.now() - begun, found.length];
    };
    const first = search(), second = search();
    return [first[0], second[0], second[1]];
}"""


def measure_visit(browser: Browser, server: Server, n: int, pictures: Path | None) -> dict[str, Any]:
    """Open the page with `n` labels once and measure everything that happens in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    page.goto(f"{server.address}/?n={n}")
    page.wait_for_selector(".xc-map", state="attached")
    used = read_browser_seconds()
    page.wait_for_selector(READY)
    first, drawing = sum(received), read_browser_seconds() - used
    shown = page.locator(".xc-map")
    times = shown.evaluate("map => map.xcmap.times")
    if pictures:
        shown.screenshot(path=pictures / f"label_map_{n}.png")
    used = read_browser_seconds()
    frames = shown.evaluate(PAN)
    panning = read_browser_seconds() - used
    page.wait_for_selector(READY)
    rest = shown.evaluate(REST)
    lasso, inside, corners = shown.evaluate(LASSO)
    searched, again, _ = shown.evaluate(SEARCH, f"_{n - 1}")
    row = {
        "labels": n,
        "drawn": int(shown.get_attribute("data-drawn") or 0),
        "first draw, s": (times["ready"] - times["mounted"]) / 1000,
        "first draw, CPU s": drawing,
        "from the address, s": times["ready"] / 1000,
        "panning, median ms": statistics.median(frames),
        "panning, largest ms": max(frames),
        "panning, CPU ms per frame": 1000 * panning / len(frames),
        "rest, ms": rest,
        "lasso, ms": lasso,
        "inside the lasso": inside,
        "lasso corners": corners,
        "first search, ms": searched,
        "search, ms": again,
        "sent at first, MB": first / 1e6,
        "sent for a selection, kB": measure_sent(page, received, "Light up a document") / 1e3,
        "sent for a colour, kB": measure_sent(page, received, "Frequency") / 1e3,
        "heap, MB": page.evaluate("performance.memory.usedJSHeapSize") / 1e6,
        "page process, MB": find_page_memory(),
        "server, MB": server.memory_mb(),
    }
    context.close()
    return row


def measure_sent(page: Page, received: list[int], title: str) -> int:
    """Return the bytes that the server sends after a click."""
    received.clear()
    said = page.get_by_text("run ").first.text_content() or ""
    page.get_by_text(title, exact=True).first.click()
    page.get_by_text(f"run {int(said.removeprefix('run ')) + 1}").wait_for()
    page.wait_for_selector(READY)
    return sum(received)


def measure_file(n: int) -> dict[str, Any]:
    """Return what packing the map takes and how large the exported file is."""
    data = make_map(n)
    with timed() as packing:
        parts = {"points": data.points_part, "names": data.names_part, "colour": data.colour_parts[0]}
    with tempfile.TemporaryDirectory() as folder:
        size = LabelMapView(data).write_html(Path(folder) / "map.html").stat().st_size
    sizes = {f"{name}, MB": len(part.content) / 1e6 for name, part in parts.items()}
    return {"packing, s": packing.seconds, **sizes, "HTML file, MB": size / 1e6}


def combine(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians of repeated visits, and whether the goals were met."""
    middle = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    goal = GOALS.get(int(middle["labels"]))
    if goal is None:
        return middle
    drawing, panning = goal
    is_met = (
        middle["first draw, s"] <= drawing and middle["panning, median ms"] <= panning and middle["lasso, ms"] <= 500
    )
    is_met_by_cpu = middle["first draw, CPU s"] <= drawing and middle["panning, CPU ms per frame"] <= panning
    answers = {"goals met": is_met, "goals met by CPU": is_met_by_cpu}
    return middle | {name: "yes" if answer else "no" for name, answer in answers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pictures", type=Path, help="folder for a picture of each map")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    rows = []
    with serving_script(ROOT / "tests" / "support" / "map_demo.py") as server, sync_playwright() as playwright:
        for n in options.sizes:
            visits = []
            for _ in range(options.repeats + 1):  # the first visit makes the map on the server
                browser = start_browser(playwright, "--enable-precise-memory-info")
                visits.append(measure_visit(browser, server, n, options.pictures))
                browser.close()
            rows.append(combine(visits[1:]) | measure_file(n))
            print(rows[-1], file=sys.stderr, flush=True)
    facts = conditions(graphics="computed by the processor (SwiftShader)", measured=time.strftime("%Y-%m-%d"))
    turned = [
        {"": name, **{f"{row['labels']:,.0f}": row.get(name) for row in rows}} for name in rows[0] if name != "labels"
    ]
    print(markdown_table(turned))
    print(f"\n{described(facts)}; graphics computed by the processor")
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
