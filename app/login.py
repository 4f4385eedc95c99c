"""Who may use a shared dashboard: people who sign in with an account that the owner listed.

Without an `[auth]` section in Streamlit's `secrets.toml` the dashboard is for whoever can reach it, which is this
machine. With one, nothing is shown before `st.login` has led to an account (OpenID Connect; Streamlit has no passwords
of its own), and the account must be listed:

    [auth]                     # as Streamlit documents it
    redirect_uri = "https://lab.example.org/oauth2callback"
    cookie_secret = "…"
    client_id = "…"
    client_secret = "…"
    server_metadata_url = "https://…/.well-known/openid-configuration"

    [xcwork]
    users = ["ada@example.org", "*@lab.example.org"]
    accept_missing_email_verified = false   # true for a provider that never sends this claim

An address counts only when the provider confirms it (the claim `email_verified` is true), because with some providers
anybody can enter the address of somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError
from xcwork_app import widgets

from xcwork.errors import ConfigError

SETTING = "accept_missing_email_verified"


def read_secrets() -> dict[str, Any]:
    """Return what `secrets.toml` holds; nothing where there is none."""
    try:
        return st.secrets.to_dict()
    except StreamlitSecretNotFoundError:
        return {}


@dataclass(frozen=True)
class AccessRules:
    """Whom the owner lets in."""

    users: Sequence[str]  # addresses; `*` stands for anything
    accept_missing_email_verified: bool = False  # for providers that never say whether they checked an address

    @classmethod
    def from_secrets(cls, known: Mapping[str, Any]) -> AccessRules:
        """Read the rules from `secrets.toml`. Without a list of users everybody would get in, so that is rejected."""
        section = known.get("xcwork")
        section = section if isinstance(section, Mapping) else {}
        users = section.get("users")
        if not isinstance(users, list) or not users or not all(isinstance(user, str) for user in users):
            raise ConfigError(
                "secrets.toml asks for a login but lists nobody; add users = ['you@example.org'] to [xcwork]"
            )
        accept_missing = section.get(SETTING, False)
        if not isinstance(accept_missing, bool):
            raise ConfigError(f"{SETTING} in secrets.toml must be true or false, got {accept_missing!r}")
        return cls(users, accept_missing)

    def lists(self, account: Mapping[str, Any]) -> bool:
        """Return whether the address of the account is one of the owner's list."""
        address = account.get("email")
        return isinstance(address, str) and any(fnmatchcase(address.lower(), user.lower()) for user in self.users)

    def trusts(self, account: Mapping[str, Any]) -> bool:
        """Return whether the provider confirms the address: anything but an explicit yes is a no."""
        claim = account.get("email_verified")
        if claim is None:
            return self.accept_missing_email_verified
        # Some providers send claims as text.
        return claim is True or (isinstance(claim, str) and claim.lower() == "true")

    def explain_refusal(self, account: Mapping[str, Any]) -> str | None:
        """Return the sentence for somebody who may not get in; None for somebody who may."""
        if not self.lists(account):
            return f"The account {account.get('email') or 'without an address'} may not use this dashboard."
        if self.trusts(account):
            return None
        return (
            f"The provider of the login does not confirm that {account['email']} is your address (email_verified). "
            f"Confirm it there, or ask the owner of this dashboard; SECURITY.md says when {SETTING} helps."
        )


def get_account_name() -> str | None:
    """Return the name or address of the account that signed in; None where no login is asked for."""
    if "auth" not in read_secrets() or not st.user.is_logged_in:
        return None
    account = st.user.to_dict()
    return next((str(account[key]) for key in ("name", "email") if account.get(key)), None)


def require_login() -> None:
    """Let the script go on only for people who may see the dashboard."""
    known = read_secrets()
    if "auth" not in known:
        return
    with widgets.catch_errors():
        if find_spec("authlib") is None:
            raise ConfigError("a login needs the package Authlib; install it with pip install 'xcwork[auth]'")
        rules = AccessRules.from_secrets(known)
        if not st.user.is_logged_in:
            st.title("xcwork", anchor=False)
            st.write("This dashboard is shared. Sign in to use it.")
            st.button("Sign in", type="primary", on_click=st.login, key="access.login")
        elif (refusal := rules.explain_refusal(st.user.to_dict())) is not None:
            st.error(widgets.escape_text(refusal))
            st.button("Sign out", on_click=st.logout, key="access.refused")
        else:
            st.sidebar.button("Sign out", on_click=st.logout, type="tertiary", key="access.logout")
            return
    st.stop()
