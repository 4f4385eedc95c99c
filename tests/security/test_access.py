"""A shared dashboard shows nothing to people who did not sign in or are not listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app import access
from tests.support.paths import ROOT

AUTH = {
    "redirect_uri": "http://127.0.0.1:8501/oauth2callback", "cookie_secret": "x" * 32, "client_id": "id",
    "client_secret": "secret", "server_metadata_url": "https://id.example/.well-known/openid-configuration",
}  # fmt: skip
USERS = ["ada@example.org", "*@lab.example.org"]


class User(dict):
    """Stands in for `st.user`, which a real session fills from the provider's answer."""

    @property
    def is_logged_in(self) -> bool:
        return bool(self)

    def to_dict(self) -> dict[str, Any]:
        return dict(self)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AppTest]:
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    monkeypatch.setattr(access, "find_spec", lambda name: object())

    def run(user: dict[str, Any] | None, secrets: dict[str, Any]) -> AppTest:
        monkeypatch.setattr(st, "user", User(user or {}), raising=False)
        made = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=60)
        for name, section in secrets.items():
            made.secrets[name] = section
        return made.run()

    return run


def shows_pages(app: AppTest) -> bool:
    return any(box.label == "Dataset" for box in app.selectbox)


def test_without_a_login_section_the_dashboard_is_open(opened: Callable[..., AppTest]) -> None:
    app = opened(None, {})
    assert not app.exception
    assert shows_pages(app)


def test_nothing_is_shown_before_somebody_signed_in(opened: Callable[..., AppTest]) -> None:
    app = opened(None, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not app.exception
    assert not shows_pages(app)
    assert [button.label for button in app.button] == ["Sign in"]


def test_a_listed_account_gets_in_and_can_leave(opened: Callable[..., AppTest]) -> None:
    app = opened({"email": "ada@example.org"}, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not app.exception
    assert shows_pages(app)
    assert "Sign out" in [button.label for button in app.button]


def test_another_account_is_told_so(opened: Callable[..., AppTest]) -> None:
    app = opened({"email": "<b>eve</b>@example.org"}, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not shows_pages(app)
    assert "may not use" in app.error[0].value
    assert "<b>" not in app.error[0].value


@pytest.mark.parametrize("section", [{}, {"users": []}, {"users": "ada@example.org"}, {"users": [3]}])
def test_a_login_without_a_list_lets_nobody_in(section: dict[str, Any], opened: Callable[..., AppTest]) -> None:
    app = opened({"email": "ada@example.org"}, {"auth": AUTH, "xcwork": section})
    assert not shows_pages(app)
    assert "lists nobody" in app.error[0].value


def test_without_authlib_the_sentence_says_what_to_install(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "find_spec", lambda name: None)
    app = opened(None, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not shows_pages(app)
    assert "Authlib" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("account", "allowed"),
    [
        ({"email": "ada@example.org"}, True), ({"email": "ADA@example.org"}, True),
        ({"email": "bob@lab.example.org"}, True), ({"email": "bob@lab.example.org.evil.example"}, False),
        ({"email": "ada@example.org", "email_verified": False}, False), ({"email": None}, False), ({}, False),
        ({"email": "eve@example.org"}, False), ({"name": "ada@example.org"}, False),
    ],
)  # fmt: skip
def test_who_is_listed(account: dict[str, Any], allowed: bool) -> None:
    assert access.listed(account, USERS) is allowed
