"""What a session looks at: a few ids and choices, mirrored to the address so that a link opens the same view.

    view = state.view()                # the current `View`
    state.update(run=run.id, k=10)     # changes it, here and in the address

The address is read once, when a session begins; after that the session decides. A page that needs another shareable
choice adds a field to `View`. Ids only: data and models come from `app.caches`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import streamlit as st

KEY = "view"


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
        st.session_state[KEY] = from_query(st.query_params)
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
    wanted = to_query(st.session_state[KEY])
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)
