"""How quickly does the dashboard answer, and does its memory stay where it is?

    python -m benchmarks.app [DATA ...] [--home HOME] [--method label_tree] [--reruns 100] [--runs 2000] [--out FILE]

Every DATA (pyseealso without one) gets a finished run, unless HOME has one. Then, while a training runs in the
background:

- *start*: from the command until the first page is usable in the browser, with an environment that exists;
- *first visit*: opening a page by its address in the browser, with nothing of it in the caches;
- *change*: a choice is made in the browser; seconds from the click until the last thing that the page changed after
  it (the median and the largest of several changes, all of which have been seen before, as when somebody goes back and
  forth);
- *rerun*: the same page run again, measured over the websocket, so without drawing: what the server needs, on the
  clock and, for a machine that is busy with other work as well, in processor time;
- *memory*: the resident memory of the server before and after the reruns of a page.

Needs chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from xcwork_app import caches
from xcwork_app.navigation import list_places
from xcwork_app.sources import Source

from benchmarks._browsing import Session, Visit, ends_a_run
from benchmarks._common import conditions, described, machine, markdown_table, write_json
from tests.support.server import PATIENCE, Server, serving
from xcwork.runs import Run, RunStore, jobs

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocket

PAGES = tuple(place.name for place in list_places())  # as in the menu
MEASURED = PAGES
BUSY = "synthetic:n_documents=200000,n_labels=40000"  # longer than all measurements, with one_vs_all
TARGETS = {"start": 5.0, "pyseealso": 0.15, "other": 0.3}  # seconds; a rerun of a page, median
WARM_UP = 10  # reruns before memory is looked at: the first ones fill bounded caches
# What is inside a canvas is for screen readers: tables write it a moment after they have been painted.
WATCH = """() => {
    const seen = ({target}) => !(target.closest ? target : target.parentElement)?.closest('canvas');
    document.addEventListener('click', () => { window.changed = window.clicked = performance.now(); },
                              {capture: true, once: true});
    window.watch?.disconnect();
    window.watch = new MutationObserver(all => { if (all.some(seen)) window.changed = performance.now(); });
    window.watch.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
}"""
STILL = "quiet => performance.now() - window.changed > quiet"
QUIET = 200  # milliseconds without any change of the page after which it is drawn
LOST_CLICK_SECONDS = 20  # a click that has made the server run nothing until then is lost, and is made again
MAX_CLICKS = 5
SETTLED = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    const busy = document.querySelector('[data-testid=stSkeleton], [data-testid=stSpinner]');
    return app && app.getAttribute('data-test-script-state') === 'notRunning' && !busy;
}"""


def finished_run(home: Path, data: str, method: str) -> Run:
    """A finished run on the dataset, trained now if there is none."""
    store = RunStore(home)
    for run in reversed(store.list()):
        if run.state == "finished" and run.config["data"] == data:
            return run
    print(f"training {method} on {data}", file=sys.stderr)
    run = jobs.launch(store.create(method, None, data))
    if jobs.wait(run).state != "finished":
        raise SystemExit(f"the training on {data} did not finish: {run.status.message}")
    return run


def fill_store(home: Path, run: Run, n_runs: int) -> None:
    """Let the home folder have this many runs: the others are copies without a model, as links to the same files."""
    n_missing = n_runs - len(RunStore(home).list())
    for number in range(max(n_missing, 0)):
        copy = run.folder.with_name(f"{run.id[:15]}-{number:04d}-{caches.get_record(run)['method']}")
        shutil.copytree(
            run.folder, copy, copy_function=os.link, ignore=shutil.ignore_patterns("model", "map", "identity.json")
        )


@contextmanager
def training(home: Path) -> Iterator[Run]:
    """Something that keeps a worker busy for the block."""
    run = jobs.launch(RunStore(home).create("one_vs_all", None, BUSY, name="in the background"))
    while run.state == "queued":
        time.sleep(0.1)
    try:
        yield run
    finally:
        if run.status.is_active:
            jobs.cancel(run)
            jobs.wait(run, timeout=PATIENCE)


@contextmanager
def browser() -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("there is no chromium; install it with 'apt-get install chromium'")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--use-gl=swiftshader"])
        page = opened.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE * 1000)
        yield page
        opened.close()


def address_of(name: str) -> str:
    """The address of a page below that of the dashboard."""
    return "" if name == "home" else name


def visit(page: Page, server: Server, name: str, query: str) -> tuple[float, WebSocket]:
    """Seconds until a page that was opened by its address has settled, and what it talks to the server with."""
    start = time.perf_counter()
    with page.expect_websocket(lambda socket: "/_stcore/stream" in socket.url) as opened:
        page.goto(f"{server.address}/{address_of(name)}?{query}")
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_function(SETTLED)
    return time.perf_counter() - start, opened.value


def find_choices(page: Page, name: str) -> tuple[Locator, Locator]:
    """Two choices between which a visitor of a page goes back and forth: the first control with two, else the menu."""
    radios = page.get_by_test_id("stMain").get_by_role("radio").locator("visible=true")
    if radios.count() >= 2:
        return radios.nth(1), radios.nth(0)
    links = page.locator(".st-key-shell_menu").get_by_role("link")
    other = "labs" if name != "labs" else "home"
    return links.nth(PAGES.index(other)), links.nth(PAGES.index(name))


def change(page: Page, socket: WebSocket, target: Locator) -> float:
    """Seconds from a click until the page has changed for the last time after the server ran it.

    The page itself does not tell: a run that ends before it is drawn is never seen as running. A click on what a busy
    machine is just drawing again is lost, as for a person; the time is that of the click that was not.
    """
    for _ in range(MAX_CLICKS):
        if click_once(page, socket, target):
            page.wait_for_function(SETTLED)
            page.wait_for_function(STILL, arg=QUIET)
            return page.evaluate("window.changed - window.clicked") / 1000
    raise SystemExit(f"{page.url}: {MAX_CLICKS} clicks made the server run nothing")


def click_once(page: Page, socket: WebSocket, target: Locator) -> bool:
    """Click, and return whether the server has run the page after it."""
    from playwright.sync_api import TimeoutError as NothingCame

    target.scroll_into_view_if_needed()
    page.wait_for_function(SETTLED)
    page.evaluate(WATCH)
    try:
        with socket.expect_event(
            "framereceived",
            lambda frame: isinstance(frame, bytes) and ends_a_run(frame),
            timeout=1000 * LOST_CLICK_SECONDS,
        ):
            target.click()
    except NothingCame:
        return False
    return True


def changes(page: Page, socket: WebSocket, name: str, repeats: int) -> list[float]:
    """Times of a widget that goes back and forth; the first round, which may fill caches, is not counted."""
    choices = find_choices(page, name)
    for choice in choices:
        change(page, socket, choice)
    return [change(page, socket, choice) for _ in range(repeats) for choice in choices]


async def rerun(tab: Session, wanted: Visit, times: int) -> list[float]:
    """Seconds of every rerun of a page in a tab that draws nothing."""
    seen = [await tab.visit(wanted) for _ in range(times)]
    for error in filter(None, (each.error for each in seen)):
        raise SystemExit(f"{wanted.page or 'home'}: {error}")
    return [each.seconds for each in seen]


async def reruns(server: Server, wanted: Visit, repeats: int) -> dict[str, Any]:
    """What the server needs to run a page again and again."""
    tab = await Session.open(urlsplit(server.address).port)
    await rerun(tab, wanted, WARM_UP)
    memory, used = server.memory_mb(), server.cpu_seconds()
    seconds = await rerun(tab, wanted, repeats)
    grown, used = server.memory_mb() - memory, server.cpu_seconds() - used
    await tab.close()
    return {
        "rerun, median s": statistics.median(seconds),
        "rerun, largest s": max(seconds),
        "rerun, CPU s": used / repeats,
        "memory, MB": round(memory),
        "growth, MB": round(grown, 1),
    }


def measure(page: Page, server: Server, run: Run, options: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for every page, on the dataset of the run."""
    data = run.config["data"]
    query = {"data": Source.from_data(data, run.config["data_options"]).id, "run": run.id}
    limit = TARGETS["pyseealso"] if data == "pyseealso" else TARGETS["other"]
    rows = []
    for name in MEASURED:
        first, socket = visit(page, server, name, urlencode(query))
        clicked = changes(page, socket, name, options.changes)
        page.goto("about:blank")  # a tab that refreshes itself would count as well
        with ThreadPoolExecutor(1) as beside:  # the browser has the event loop of this thread
            again = reruns(server, Visit(address_of(name), query), options.reruns)
            needed = beside.submit(asyncio.run, again).result()
        row = {
            "page": name,
            "first visit, s": first,
            "change, median s": statistics.median(clicked),
            "change, largest s": max(clicked),
            "target, s": limit,
            "met": "yes" if needed["rerun, median s"] <= limit else "no",
            **needed,
        }
        print(f"{Path(data).name}, {name}: {row}", file=sys.stderr, flush=True)
        rows.append(row)
    return rows


def start_up(home: Path) -> float:
    """Seconds from the command until the first page is usable in the browser."""
    with browser() as page:
        page.goto("about:blank")
        begun = time.perf_counter()
        with serving(home) as server:
            visit(page, server, "home", "")
            return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["pyseealso"], help="built-in names or paths")
    parser.add_argument(
        "--home",
        type=Path,
        default=os.environ.get("XCWORK_HOME") or None,
        help="a home folder with finished runs; a new one without it",
    )
    parser.add_argument("--method", default="label_tree", help="trained where there is no finished run")
    parser.add_argument("--reruns", type=int, default=100, help="of each page over the websocket")
    parser.add_argument("--runs", type=int, default=0, help="fill the home folder with copies up to so many runs")
    parser.add_argument("--changes", type=int, default=5, help="rounds of each widget in the browser")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the server and the training end with us
    with tempfile.TemporaryDirectory() as temporary:
        home = (options.home or Path(temporary)).absolute()
        os.environ["XCWORK_HOME"] = str(home)
        data = [each if not Path(each).exists() else str(Path(each).absolute()) for each in options.data]
        runs = [finished_run(home, each, options.method) for each in data]
        fill_store(home, runs[0], options.runs)
        facts = conditions(data=[Path(each).name for each in data])
        starts = [start_up(home) for _ in range(3)]
        tables: dict[str, list[dict[str, Any]]] = {}
        with training(home), serving(home) as server, browser() as page:
            for run in runs:
                tables[Path(run.config["data"]).name] = measure(page, server, run, options)
            facts["load while measuring"] = machine()["load"]
    start = {"start, s": statistics.median(starts), "all": [round(each, 2) for each in starts], "target, s": 5.0}
    print(f"\nStart to a usable page: {start['start, s']:.2f} s (target 5 s; {start['all']})")
    for name, rows in tables.items():
        print(f"\n### {name}\n\n{markdown_table(rows)}")
    print(f"\n{described(facts)}; load while measuring {facts['load while measuring']}")
    if options.out:
        write_json(options.out, {"conditions": facts, "start": start, "tables": tables})


if __name__ == "__main__":
    main()
