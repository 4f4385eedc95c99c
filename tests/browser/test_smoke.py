"""The dashboard in a real browser: it starts, shows its title, and talks to nobody but this machine."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 90  # seconds for a first start on a busy machine

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install it with 'apt-get install chromium'"),
]


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard over an empty home."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("home")
    command = [sys.executable, "-m", "xcwork", "app", "--port", str(port), "--home", str(folder)]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=os.environ | {"XCWORK_HOME": ""})
    try:
        wait_until_healthy(server, port, folder / "server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(PATIENCE)


def wait_until_healthy(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/_stcore/health")
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            time.sleep(0.1)  # the port cannot tell us when it opens
        finally:
            connection.close()
    pytest.fail(f"the dashboard did not start:\n{log.read_text()}")


def test_the_page_shows_its_title_and_stays_on_this_machine(dashboard: str) -> None:
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--use-gl=swiftshader"])
        page = browser.new_page()
        asked: set[str] = set()
        complaints: list[str] = []
        page.on("request", lambda request: asked.add(urlsplit(request.url).hostname or ""))
        page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda failure: complaints.append(str(failure)))
        page.goto(dashboard)
        expect(page.get_by_role("heading", name="xcwork", exact=True)).to_be_visible(timeout=PATIENCE * 1000)
        expect(page.get_by_text("pyseealso").or_(page.get_by_role("heading", name="Datasets")).first).to_be_visible()
        expect(page.get_by_text("No runs yet")).to_be_visible()
        expect(page.get_by_text("Device:")).to_be_visible(timeout=PATIENCE * 1000)
        browser.close()
    assert complaints == []
    assert asked <= {"127.0.0.1", ""}


def test_the_server_listens_on_the_loopback_address_only(dashboard: str) -> None:
    port = urlsplit(dashboard).port
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("this system does not list its sockets in /proc")
    listening = [line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert [address for address in listening if int(address.partition(":")[2], 16) == port] == [f"0100007F:{port:04X}"]
