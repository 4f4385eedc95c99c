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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

from xcwork.errors import ConfigError


def secrets() -> dict[str, Any]:
    """What `secrets.toml` holds; nothing where there is none."""
    try:
        return st.secrets.to_dict()
    except StreamlitSecretNotFoundError:
        return {}


def listed(account: Mapping[str, Any], users: Sequence[str]) -> bool:
    """Whether the provider vouches for an address that one of `users` (`*` stands for anything) describes."""
    address = account.get("email")
    if not isinstance(address, str) or account.get("email_verified") is False:
        return False
    return any(fnmatchcase(address.lower(), pattern.lower()) for pattern in users)


def gate() -> None:
    """Let the script go on only for people who may see the dashboard."""
    known = secrets()
    if "auth" not in known:
        return
    from app import ui

    with ui.guarded():
        users = _users(known)
        if not st.user.is_logged_in:
            st.title("xcwork", anchor=False)
            st.write("This dashboard is shared. Sign in to use it.")
            st.button("Sign in", type="primary", on_click=st.login, key="access.login")
        elif not listed(st.user.to_dict(), users):
            st.error(f"The account {ui.plain(st.user.get('email', 'without an address'))} may not use this dashboard.")
            st.button("Sign out", on_click=st.logout, key="access.refused")
        else:
            st.sidebar.button("Sign out", on_click=st.logout, type="tertiary", key="access.logout")
            return
    st.stop()


def _users(known: Mapping[str, Any]) -> list[str]:
    """The accounts of the owner's list. Without a list everybody with any account would get in, so that is refused."""
    section = known.get("xcwork")
    users = section.get("users") if isinstance(section, Mapping) else None
    if not isinstance(users, list) or not users or not all(isinstance(user, str) for user in users):
        raise ConfigError("secrets.toml asks for a login but lists nobody; add users = ['you@example.org'] to [xcwork]")
    if find_spec("authlib") is None:
        raise ConfigError("a login needs the package Authlib; install it with pip install 'xcwork[auth]'")
    return users
