"""The browser of benchmarks: where chromium is, and the processor time and memory of its processes.

Times on the clock grow with whatever else the machine does. Processor time does not, so both are measured: on a quiet
machine with two cores, what happens in page and graphics process takes about as long as the larger of the two.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

GRAPHICS = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def start_browser(playwright: Playwright, *options: str) -> Browser:
    """Start chromium with graphics that the processor computes."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        raise SystemExit("there is no chromium; install it with 'apt-get install chromium'")
    return playwright.chromium.launch(executable_path=program, args=["--no-sandbox", *GRAPHICS, *options])


def list_browser_processes() -> list[psutil.Process]:
    """Return the processes of the browsers that this program started."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "chrom" in child.name():
                found.append(child)
    return found


def read_browser_seconds() -> float:
    """Return the processor time that these have used so far."""
    seconds = 0.0
    for each in list_browser_processes():
        with suppress(psutil.Error):
            times = each.cpu_times()
            seconds += times.user + times.system
    return seconds


def find_page_memory() -> float:
    """Return the resident memory of the largest page process, in MB."""
    pages = [each for each in list_browser_processes() if "--type=renderer" in each.cmdline()]
    return max(page.memory_info().rss for page in pages) / 1e6
