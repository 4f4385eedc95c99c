"""The labs in a real browser: one per screen, and the chart follows the controls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork_app.panels.labs import codes, groups, theorems

from tests.support.browser_pages import eventually, expect_above, get_box, settle

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LABS = groups.LABS | codes.LABS | theorems.LABS


def test_every_lab_fits_on_a_projector(page: Page, dashboard: str) -> None:
    """Half of them on a dark page, which has the same lines and letters."""
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{dashboard}/labs?data=fruit.csv")
    for number, lab in enumerate(LABS.values()):
        page.emulate_media(color_scheme="dark" if number % 2 else "light")
        settle(page)
        page.get_by_role("radio", name=lab.title, exact=True).click()
        expect(page.get_by_text(lab.claim)).to_be_visible()
        chart = page.locator(".st-key-lab_chart .js-plotly-plot")
        expect(chart).to_have_count(1)  # that of the lab before stays for a moment
        expect(chart).to_be_visible()
        expect(page.locator(".st-key-lab_sentence")).to_contain_text("heorem")
        settle(page)
        controls = page.locator(".st-key-lab_controls")
        expect_above(720, chart, controls, page.locator(".st-key-lab_sentence"))

        def check(lab: str = lab.title, controls: Locator = controls, chart: Locator = chart) -> None:
            beside, box = get_box(controls), get_box(chart)
            assert beside["width"] == 280, lab
            assert beside["x"] + beside["width"] < box["x"], lab
            assert box["height"] > 300, f"something squeezes the chart of {lab}"

        eventually(check)


def test_a_prediction_is_revealed(page: Page, dashboard: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/labs?data=fruit.csv&section=codes")
    reveal = page.get_by_role("button", name="Reveal")
    expect(reveal).to_be_disabled()
    settle(page)
    page.get_by_text("500,000", exact=True).click()
    expect(reveal).to_be_enabled()
    settle(page)
    reveal.click()
    expect(page.get_by_text("No: 2,000.")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Labels", exact=True)).to_have_value("1000000")
    expect(page.locator(".st-key-lab_sentence")).to_contain_text("2,000 outputs")
    page.wait_for_url(lambda url: "labs.n=1000000" in url)
