"""What a session looks at: a few ids and choices, mirrored to the address so that a link opens the same view.

    view = state.view()                # the current `View`
    state.update(run=run.id, k=10)     # changes it, here and in the address

The address is read once, when a session begins; after that the session decides. A choice that several pages share is
a field of `View`. For a widget of one page, such as a search, `state.link` is called before it is drawn, and the
address carries its value while that page is open. Ids only: data and models come from `app.caches`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import streamlit as st

KEY = "view"
OPENED, LINKED, PAGE = "view.opened", "view.linked", "view.page"
LONGEST_LINK = 2000  # characters of a value in the address; browsers and mail programs cut longer ones


@dataclass(frozen=True)
class View:
    """The shareable state of a session. Every field is a text, a whole number or a switch with a default."""

    data: str = "pyseealso"  # the id of a `catalog.Source`
    run: str = ""  # "": the best finished run on the dataset
    document: int = 0  # row of the test part
    label: str = ""
    band: str = ""
    k: int = 5
    method: str = ""
    guided: bool = False
    section: str = ""  # of a page that shows one of several; "": its first
    bands: str = ""  # how labels are put into bands
    runs: str = ""  # ids with commas between them; "": the best ones
    reference: str = ""  # the run that others are compared with
    scope: str = ""  # which labels count in a comparison
    layout: str = ""  # of the label map
    colour: str = ""


def view() -> View:
    """What this session looks at."""
    begin()
    return st.session_state[KEY]


def begin() -> None:
    """Take over the address at the first run of a session, and keep it true at every later one."""
    if KEY not in st.session_state:
        given = st.query_params.to_dict()
        st.session_state[KEY] = from_query(given)
        st.session_state[OPENED] = {name: text for name, text in given.items() if "." in name}
    _mirror()


def turn_to(page: str) -> None:
    """Forget the linked widgets of the page before, whose values mean nothing here."""
    before = st.session_state.get(PAGE)
    if before != page:
        st.session_state.update({PAGE: page, LINKED: {}})
        if before is not None:
            st.session_state[OPENED] = {}
        _mirror()


def link(key: str, usual: Any = "", options: Collection[Any] | None = None) -> None:
    """Let the address carry the value of the widget `key`, which is drawn after this call; left out where `usual`."""
    st.session_state.setdefault(LINKED, {})[key] = usual
    text = st.session_state.get(OPENED, {}).pop(key, None)
    if text is None or key in st.session_state:
        return
    try:
        value = type(usual)(text)
    except ValueError:
        return
    if options is None or value in options:
        st.session_state[key] = value


def share() -> None:
    """Bring the address up to date with the linked widgets, after a page has drawn them."""
    _mirror()


def update(**changes: Any) -> View:
    """Change some fields. Another dataset means another run, unless one is given."""
    before = view()
    if changes.get("data", before.data) != before.data:
        changes = {"run": "", "document": 0, "label": "", "band": "", "runs": "", "reference": ""} | changes
    st.session_state[KEY] = replace(before, **changes)
    _mirror()
    return st.session_state[KEY]


def to_query(shown: View) -> dict[str, str]:
    """The fields that differ from their defaults, as an address carries them."""
    default = asdict(View())
    return {
        name: str(int(value) if isinstance(value, bool) else value)
        for name, value in asdict(shown).items()
        if value != default[name]
    }


def from_query(query: Mapping[str, str]) -> View:
    """The view of an address; what cannot be is left at its default."""
    found: dict[str, Any] = {}
    for field in fields(View):
        text, kind = query.get(field.name), type(field.default)
        if text is None:
            continue
        if kind is str:
            found[field.name] = text
        elif text.isdecimal() and text.isascii():
            found[field.name] = kind(int(text))
    shown = View(**found)
    return replace(shown, k=max(1, min(shown.k, 100)))


def _mirror() -> None:
    wanted = to_query(st.session_state[KEY]) | _linked()
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def _linked() -> dict[str, str]:
    """What the linked widgets of the page hold; before they are drawn for the first time, what the link said."""
    waiting = st.session_state.get(OPENED, {})
    held = {key: st.session_state.get(key, usual) for key, usual in st.session_state.get(LINKED, {}).items()}
    changed = {
        key: str(value)
        for key, value in held.items()
        if value is not None and value != st.session_state[LINKED][key] and len(str(value)) <= LONGEST_LINK
    }
    return waiting | changed
