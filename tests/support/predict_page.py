"""The Predict page as a test reads and changes it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from streamlit.testing.v1 import AppTest

from tests.support.pages import Open, read_component, send_event
from xcwork.runs import Run

FRUIT = "apple apple apple"


def opened(open_page: Open, run: Run, **query: str) -> AppTest:
    return open_page("predict", data="fruit.csv", run=run.id, **query)


def said(page: AppTest) -> str:
    shown = (*page.markdown, *page.caption, *page.warning, *page.info, *page.get("html"))
    return " ".join(str(getattr(each, "value", "") or each.proto.body) for each in shown).replace("\\", "")


def rows(page: AppTest) -> list[dict[str, Any]]:
    return [row for group in read_component(page, "predict_labels")["groups"] for row in group["rows"]]


def labels(page: AppTest) -> list[str]:
    return [row["id"] for row in rows(page)]


def listed(page: AppTest) -> list[str]:
    """The labels of the ranking, without those that were missed."""
    return [row["id"] for row in rows(page) if row["sign"] != "missed"]


def why(page: AppTest) -> dict[str, Any]:
    return read_component(page, "predict_reasons")


def typed(page: AppTest, text: str) -> AppTest:
    page.segmented_control(key="predict.where").set_value("own").run()
    return send_event(page, "predict_text_editor", text, event="edited")


def look(page: AppTest, view: str) -> AppTest:
    page.segmented_control(key="predict.view").set_value(view).run()
    assert not page.exception
    return page


def read_number(shown: str) -> Decimal:
    return Decimal(shown.replace("−", "-").replace(",", ""))
