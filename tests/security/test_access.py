"""A shared dashboard shows nothing to people who did not sign in or are not listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from xcwork_app import login

from tests.support.paths import ROOT

AUTH = {
    "redirect_uri": "http://127.0.0.1:8501/oauth2callback",
    "cookie_secret": "x" * 32,
    "client_id": "id",
    "client_secret": "secret",
    "server_metadata_url": "https://id.example/.well-known/openid-configuration",
}
USERS = ["ada@example.org", "*@lab.example.org"]
ADA = {"email": "ada@example.org", "email_verified": True}


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
    monkeypatch.setattr(login, "find_spec", lambda name: object())

    def run(user: dict[str, Any] | None, secrets: dict[str, Any]) -> AppTest:
        monkeypatch.setattr(st, "user", User(user or {}), raising=False)
        made = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=300)
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
    app = opened(ADA, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not app.exception
    assert shows_pages(app)
    assert "Sign out" in [button.label for button in app.button]


def test_another_account_is_told_so(opened: Callable[..., AppTest]) -> None:
    app = opened(ADA | {"email": "<b>eve</b>@example.org"}, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not shows_pages(app)
    assert "may not use" in app.error[0].value
    assert "<b>" not in app.error[0].value


@pytest.mark.parametrize("section", [{}, {"users": []}, {"users": "ada@example.org"}, {"users": [3]}])
def test_a_login_without_a_list_lets_nobody_in(section: dict[str, Any], opened: Callable[..., AppTest]) -> None:
    app = opened(ADA, {"auth": AUTH, "xcwork": section})
    assert not shows_pages(app)
    assert "lists nobody" in app.error[0].value


def test_without_authlib_the_sentence_says_what_to_install(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "find_spec", lambda name: None)
    app = opened(None, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not shows_pages(app)
    assert "Authlib" in app.error[0].value.replace("\\", "")


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("ada@example.org", True),
        ("ADA@example.org", True),
        ("bob@lab.example.org", True),
        ("bob@lab.example.org.evil.example", False),
        ("eve@example.org", False),
        (None, False),
        (["ada@example.org"], False),
    ],
)
def test_who_is_listed(address: object, allowed: bool) -> None:
    refusal = login.AccessRules(USERS).explain_refusal({"email": address, "email_verified": True})
    assert (refusal is None) is allowed


def test_another_claim_does_not_stand_for_the_address() -> None:
    refusal = login.AccessRules(USERS).explain_refusal({"name": "ada@example.org", "email_verified": True})
    assert refusal == "The account without an address may not use this dashboard."


CONFIRMED = [True, "true", "True", "TRUE"]
UNCONFIRMED = [False, "false", "False", "", "yes", "1", " true", 0, 1, 1.0, [True], {"verified": True}]
SILENT = [{}, {"email_verified": None}]


@pytest.mark.parametrize("claim", CONFIRMED)
@pytest.mark.parametrize("accept_missing", [False, True])
def test_a_confirmed_address_gets_in(claim: object, accept_missing: bool) -> None:
    account = {"email": "ada@example.org", "email_verified": claim}
    assert login.AccessRules(USERS, accept_missing).explain_refusal(account) is None


@pytest.mark.parametrize("claim", UNCONFIRMED)
@pytest.mark.parametrize("accept_missing", [False, True])
def test_an_address_that_is_not_confirmed_stays_out(claim: object, accept_missing: bool) -> None:
    account = {"email": "ada@example.org", "email_verified": claim}
    refusal = login.AccessRules(USERS, accept_missing).explain_refusal(account)
    assert refusal is not None
    assert "does not confirm that ada@example.org" in refusal


@pytest.mark.parametrize("claims", SILENT)
def test_a_provider_that_never_confirms_needs_the_setting(claims: dict[str, Any]) -> None:
    account = {"email": "ada@example.org"} | claims
    assert "accept_missing_email_verified" in (login.AccessRules(USERS).explain_refusal(account) or "")
    assert login.AccessRules(USERS, accept_missing_email_verified=True).explain_refusal(account) is None


@pytest.mark.parametrize("claim", ["false", None])
def test_the_page_tells_somebody_whose_address_is_not_confirmed(claim: object, opened: Callable[..., AppTest]) -> None:
    app = opened(ADA | {"email_verified": claim}, {"auth": AUTH, "xcwork": {"users": USERS}})
    assert not shows_pages(app)
    assert "does not confirm" in app.error[0].value
    assert [button.label for button in app.button] == ["Sign out"]


def test_the_setting_opens_the_page_to_a_silent_provider(opened: Callable[..., AppTest]) -> None:
    section = {"users": USERS, "accept_missing_email_verified": True}
    assert shows_pages(opened({"email": "ada@example.org"}, {"auth": AUTH, "xcwork": section}))


@pytest.mark.parametrize("value", ["true", "false", 1, None])
def test_a_setting_that_is_no_boolean_lets_nobody_in(value: object, opened: Callable[..., AppTest]) -> None:
    app = opened(ADA, {"auth": AUTH, "xcwork": {"users": USERS, "accept_missing_email_verified": value}})
    assert not shows_pages(app)
    assert "must be true or false" in app.error[0].value
