"""The Train page as a test reads and changes it."""

from __future__ import annotations

import shlex

from streamlit.testing.v1 import AppTest

from tests.support.pages import read_component


def command(page: AppTest) -> list[str]:
    return next(shlex.split(code.value) for code in page.code if code.value.startswith("xcwork train"))


def said(page: AppTest) -> str:
    """All text of the page, HTML included."""
    texts = [each.value for each in (*page.markdown, *page.caption, *page.warning, *page.info)]
    return " ".join(texts + [each.proto.body for each in page.get("html")]).replace("\\", "")


def methods(page: AppTest) -> dict[str, dict]:
    groups = read_component(page, "train_methods")["groups"]
    return {row["id"]: row for group in groups for row in group["rows"]}


def open_settings(page: AppTest) -> AppTest:
    page.button(key="train.settings").click().run()
    assert not page.exception
    return page


def change(page: AppTest, method: str, name: str, value: object, preset: str = "Default") -> AppTest:
    """Change a setting in the drawer and close it."""
    open_settings(page)
    key = f"train.{method}.{preset}.0.{name}"
    field = next(each for each in (*page.number_input, *page.text_input, *page.selectbox) if each.key == key)
    field.set_value(value).run()
    page.button(key="train.settings_done").click().run()
    assert not page.exception
    return page
