"""The labs in a real browser: one per screen, and the chart follows the controls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from xcwork_app.panels.labs import codes, groups, theorems

if TYPE_CHECKING:
    from playwright.sync_api import Page

LABS = groups.LABS | codes.LABS | theorems.LABS


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_lab_fits_on_a_projector(page: Page, dashboard: str, scheme: str) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size({"width": 1280, "height": 720})
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{dashboard}/labs?data=fruit.csv")
    for lab in LABS.values():
        page.get_by_role("radio", name=lab.title, exact=True).click()
        expect(page.get_by_text(lab.claim)).to_be_visible()
        chart = page.locator(".st-key-lab_chart .js-plotly-plot")
        expect(chart).to_have_count(1)  # that of the lab before stays for a moment
        expect(chart).to_be_visible()
        expect(page.locator(".st-key-lab_sentence")).to_contain_text("heorem")
        expect(page.locator("[data-stale=true]")).to_have_count(0)
        for part in (chart, page.locator(".st-key-lab_controls"), page.locator(".st-key-lab_sentence")):
            box = part.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 720, lab.title
        chart_box, controls = chart.bounding_box(), page.locator(".st-key-lab_controls").bounding_box()
        assert chart_box is not None
        assert controls is not None
        assert controls["width"] == 280
        assert controls["x"] + controls["width"] < chart_box["x"]
        assert chart_box["height"] > 300, "nothing squeezes the chart"


def test_a_prediction_is_revealed(page: Page, dashboard: str) -> None:
    from playwright.sync_api import expect

    page.goto(f"{dashboard}/labs?data=fruit.csv&section=codes")
    reveal = page.get_by_role("button", name="Reveal")
    expect(reveal).to_be_disabled()
    page.get_by_text("500,000", exact=True).click()
    reveal.click()
    expect(page.get_by_text("No: 2,000.")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Labels", exact=True)).to_have_value("1000000")
    expect(page.locator(".st-key-lab_sentence")).to_contain_text("2,000 outputs")
    page.wait_for_url(lambda url: "labs.n=1000000" in url)
