"""The server talks to nobody but this machine, and the keyboard alone is enough to open and answer a lesson."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.support.browser_pages import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_server_listens_on_the_loopback_address_only(dashboard: str) -> None:
    port = urlsplit(dashboard).port
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("this system does not list its sockets in /proc")
    listening = [line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert [address for address in listening if int(address.partition(":")[2], 16) == port] == [f"0100007F:{port:04X}"]


def test_the_keyboard_reaches_and_changes_what_matters(page: Page, dashboard: str) -> None:
    """Tab to the lesson and open it; its question is answered with the keyboard, and Esc closes it."""
    from playwright.sync_api import expect

    page.goto(dashboard)
    button = page.get_by_role("button", name="Lesson for this page")
    expect(button).to_be_visible()
    settle(page)
    for _ in range(30):
        page.keyboard.press("Tab")
        if button.evaluate("element => element === document.activeElement"):
            break
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Check yourself")).to_be_visible()
    page.get_by_role("radio", name="40 %").focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("Right.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Check yourself")).to_be_hidden()
    page.wait_for_url(lambda url: "lesson" not in url)
