"""A dashboard over a home folder of its own, and a real browser whose console must stay empty."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support.dashboard import dashboard_over
from tests.support.fruit import write_fruit
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# A page opened by its own address first asks for the server below that address, and then at the root.
ASKS_TWICE = re.compile(r"/\w+/_stcore/(health|host-config)$")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = pytest.mark.skip(reason="there is no chromium; install it with 'apt-get install chromium'")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            if CHROMIUM is None:
                item.add_marker(missing)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    write_fruit(folder / "data" / "fruit.csv", ("<script>hit()", "=cmd()"), "<script>window.hit = 1</script>")
    return folder


@pytest.fixture(scope="session")
def runs(home: Path) -> dict[str, Run]:
    """Finished runs on the corpus, by method; `tfidf` knows labels that it has never seen."""
    made = {
        method: RunStore(home).create(method, None, home / "data" / "fruit.csv", name=f"{method} <script>hit()")
        for method in ("one_vs_all", "popularity", "tfidf")
    }
    for run in made.values():
        assert worker.main(run.folder) == 0
    return made


@pytest.fixture(scope="session")
def dashboard(home: Path) -> Iterator[str]:
    """One dashboard for all tests that do not need an empty home."""
    with dashboard_over(home) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--use-gl=swiftshader"])
        yield opened
        opened.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window of its own. At the end: nothing in the console, and nobody but this machine was asked for anything."""
    made = browser.new_context(viewport={"width": 1360, "height": 900})
    made.set_default_timeout(60_000)
    complaints: list[str] = []
    asked: set[str] = set()

    def listen(page: Page) -> None:
        page.on("request", lambda request: asked.add(urlsplit(request.url).hostname or ""))
        page.on("pageerror", lambda failure: complaints.append(str(failure)))
        page.on(
            "console",
            lambda line: (
                complaints.append(f"{line.text} {line.location}")
                if line.type == "error" and not ASKS_TWICE.search(line.location["url"])
                else None
            ),
        )

    made.on("page", listen)
    yield made
    made.close()
    assert complaints == []
    assert asked <= {"127.0.0.1", ""}


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
