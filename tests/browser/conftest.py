"""A dashboard over a home folder of its own, and a real browser whose console must stay empty."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support.browser_pages import PATIENCE_SECONDS
from tests.support.dashboard import dashboard_server_over
from tests.support.fruit import write_fruit
from tests.support.server import Server
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# A page opened by its own address first asks for the server below that address, and then at the root.
ASKS_TWICE = re.compile(r"/\w+/_stcore/(health|host-config)$")
# One process for all pages, so that the scripts of Streamlit, some megabytes, are compiled once and not for every page.
OPTIONS = ["--no-sandbox", "--use-gl=swiftshader", "--process-per-site", "--renderer-process-limit=1"]
TEST_SECONDS = 900  # a busy machine takes its time
USUAL_SIZE: ViewportSize = {"width": 1360, "height": 900}


@dataclass
class Window:
    """The browser window of all tests, and what its pages have said and asked for since the test began.

    Most tests use the same page, one after the other: to open one more costs as much as what is shown in it.
    """

    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    def listen(self, page: Page) -> None:
        page.on("request", lambda request: self.asked.add(urlsplit(request.url).hostname or ""))
        page.on("pageerror", lambda failure: self.complaints.append(str(failure)))
        page.on(
            "console",
            lambda line: (
                self.complaints.append(f"{line.text} {line.location}")
                if line.type == "error" and not ASKS_TWICE.search(line.location["url"])
                else None
            ),
        )

    def forget(self) -> None:
        self.complaints.clear()
        self.asked.clear()

    def take_page(self) -> Page:
        """Return the page, or another one if a test has closed it."""
        if self.page.is_closed():
            self.page = self.context.new_page()
        return self.page

    def clear_page(self) -> None:
        """Let the page be as it was opened: empty, of the usual size, without a history or a pointer over something."""
        from playwright.sync_api import Error

        if self.page.is_closed():
            return
        with suppress(Error):  # what is no page of a server has none
            self.page.evaluate("sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.set_viewport_size(USUAL_SIZE)
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.page.mouse.move(0, 0)
        tools = self.context.new_cdp_session(self.page)
        tools.send("Page.resetNavigationHistory")
        tools.detach()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = pytest.mark.skip(reason="there is no chromium; install it with 'apt-get install chromium'")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))
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
def server(home: Path) -> Iterator[Server]:
    """One dashboard for all tests that do not need a home of their own.

    Where it is started the user's settings ask for exports of tables, which may carry formulas: they are not heeded.
    """
    with dashboard_server_over(home, {"STREAMLIT_CLIENT_DISABLE_DATA_EXPORT": "false"}) as started:
        yield started


@pytest.fixture(scope="session")
def dashboard(server: Server) -> str:
    """Its address."""
    return server.address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE_SECONDS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def window(browser: Browser) -> Window:
    """One window for all tests: a new one would load and compile every script again."""
    made = browser.new_context(viewport=USUAL_SIZE, reduced_motion="reduce")
    made.set_default_timeout(1000 * PATIENCE_SECONDS)
    opened = Window(made, made.new_page())
    opened.listen(opened.page)
    made.on("page", opened.listen)
    return opened


@pytest.fixture
def context(window: Window) -> Iterator[BrowserContext]:
    """The window. At the end: nothing in the console, and nobody but this machine was asked for anything."""
    shared, kept = window.context, [window.take_page()]
    window.forget()
    yield shared
    for opened in shared.pages:
        if opened not in kept:
            opened.close()
    shared.set_offline(False)
    shared.clear_permissions()
    assert window.complaints == []
    assert window.asked <= {"127.0.0.1", ""}


@pytest.fixture
def page(window: Window, context: BrowserContext) -> Iterator[Page]:
    """The page of all tests, as it was opened."""
    yield window.take_page()
    window.clear_page()


@pytest.fixture
def other_page(browser: Browser) -> Iterator[Page]:
    """A page in the browser of somebody else, who knows nothing but an address."""
    somebody = browser.new_context(reduced_motion="reduce")
    somebody.set_default_timeout(1000 * PATIENCE_SECONDS)
    yield somebody.new_page()
    somebody.close()
