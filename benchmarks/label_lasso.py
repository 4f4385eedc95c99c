"""How long does a lasso take through the page, from the hand that lets go to the count in the drawer?

    python -m benchmarks.label_lasso HOME [--repeats 5] [--out FILE]

HOME is a home folder with finished runs that have a map. Each run is opened on the label map page in chromium, where
graphics are computed by the processor, and a lasso is drawn around nearly all labels and around a tenth of the width.
The time ends when the drawer shows the number of labels: browser, Streamlit, and what the selection comes to on the
test split. Per run and size the median and the largest of the repeats, and the processor time of browser and server
from the end of the drag until the number is shown, which other work on the machine does not change much.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._browser import read_browser_seconds, start_browser
from benchmarks._common import conditions, described, markdown_table, write_json
from tests.support.server import PATIENCE, Server, serving
from xcwork.runs import Run, RunStore
from xcwork.runs.run_map import read_map

if TYPE_CHECKING:
    from playwright.sync_api import Page

GOAL_SECONDS = 0.5
READY = ".st-key-label_map .xc-map[data-ready=true][data-still=true]"
REACHES = {"nearly all": 0.48, "a part": 0.05}  # of the smaller side of the map
N_CORNERS = 40
COUNT = "labels in your selection"


def draw_lasso(page: Page, reach: float, turn: float) -> None:
    """Draw around the middle of the map, all but the end of the drag; `turn` makes each lasso another one."""
    box = page.locator(READY).first.bounding_box()
    assert box is not None
    radius = reach * min(box["width"], box["height"])
    angles = [turn + 2 * math.pi * at / N_CORNERS for at in range(N_CORNERS)]
    path = [
        (box["x"] + box["width"] / 2 + radius * math.cos(at), box["y"] + box["height"] / 2 + radius * math.sin(at))
        for at in angles
    ]
    page.mouse.move(*path[0])
    page.mouse.down()
    for place in path[1:]:
        page.mouse.move(*place)


def measure_lasso(page: Page, server: Server, run: Run, reach: float, repeats: int) -> dict[str, Any]:
    """Return seconds and processor times of the lassos, and how many labels are inside."""
    page.goto(f"{server.address}/label_map?data={run.config['dataset']['name']}&run={run.id}")
    page.wait_for_selector(READY)
    seconds, browser_seconds, server_seconds = [], [], []
    held = 0
    for number in range(repeats + 1):  # the first one prepares what the page keeps
        draw_lasso(page, reach, 0.01 * number)
        used = read_browser_seconds(), server.cpu_seconds()
        begun = time.perf_counter()
        page.mouse.up()
        counted = page.get_by_text(COUNT).first
        counted.wait_for()
        seconds.append(time.perf_counter() - begun)
        browser_seconds.append(read_browser_seconds() - used[0])
        server_seconds.append(server.cpu_seconds() - used[1])
        held = int((counted.text_content() or "0").split()[0].replace(",", ""))
        page.locator(READY).first.press("Escape")
        page.get_by_role("heading", name="Regions").first.wait_for()
        page.wait_for_selector(READY)
    median = {
        "median, s": statistics.median(seconds[1:]),
        "largest, s": max(seconds[1:]),
        "browser, CPU s": statistics.median(browser_seconds[1:]),
        "server, CPU s": statistics.median(server_seconds[1:]),
    }
    return {"inside": held} | median


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    rows: list[dict[str, Any]] = []
    with serving(options.home) as server, sync_playwright() as playwright:
        browser = start_browser(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(1000 * PATIENCE)
        for run in RunStore(options.home).list():
            stored = read_map(run)
            if stored is None:
                continue
            for name, reach in REACHES.items():
                measured = measure_lasso(page, server, run, reach, options.repeats)
                facts = {"data": run.config["dataset"]["name"], "method": run.config["method"]}
                sizes = {"labels": len(stored.layout.ids), "lasso": name}
                used = measured["browser, CPU s"] + measured["server, CPU s"]
                answers = {
                    "goal met": measured["median, s"] <= GOAL_SECONDS,
                    "goal met by CPU": used <= GOAL_SECONDS,
                }
                rows.append(
                    facts | sizes | measured | {name: "yes" if answer else "no" for name, answer in answers.items()}
                )
                print(rows[-1], file=sys.stderr, flush=True)
        browser.close()
    facts = conditions(graphics="computed by the processor (SwiftShader)")
    print(markdown_table(rows))
    print(f"\n{described(facts)}; graphics computed by the processor")
    if options.out:
        write_json(options.out, {"conditions": facts, "rows": rows})


if __name__ == "__main__":
    main()
