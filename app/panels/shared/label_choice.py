"""Which label a page looks at: type a part of its name; the other labels with that part are then one click away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import state, widgets

if TYPE_CHECKING:
    from xcwork.core.labels import LabelSpace

MAX_MATCHES = 50


def choose_label(labels: LabelSpace, *, key: str) -> int | None:
    """Return the id of the label of the session; None while there is none."""
    from xcwork.analysis.paging import find_labels

    wanted, searched = get_wanted_label(labels), f"{key}.searched"
    known = find_label_id(labels, wanted)
    matches = [
        labels.names[i] for i in find_labels(labels, st.session_state.get(searched) or wanted, limit=MAX_MATCHES)
    ]
    st.session_state[key] = wanted or None

    def take() -> None:
        typed = st.session_state[key] or ""
        if typed not in matches:
            st.session_state[searched] = typed
        found = find_label_id(labels, typed)
        state.update(label=typed if found is None else labels.names[found])

    st.selectbox(
        "Label",
        list(dict.fromkeys([*([wanted] if wanted else []), *matches])),
        key=key,
        index=None,
        on_change=take,
        accept_new_options=True,
        placeholder="type a part of its name",
    )
    if wanted and known is None:
        st.warning(f"There is no label with “{widgets.escape_text(wanted)}” in its name.", icon=":material/warning:")
    return known


def get_wanted_label(labels: LabelSpace) -> str:
    """Return the label that the view names; none, with a note, where the address asks for one that does not exist."""
    wanted = state.view().label
    if wanted and state.asks_for("label", wanted) and find_label_id(labels, wanted) is None:
        state.fall_back("label", "", f"There is no label with {state.quote(wanted)} in its name.")
    return state.view().label


def find_label_id(labels: LabelSpace, name: str) -> int | None:
    """Return the label with this name, or the first with it as a part of its name."""
    from xcwork.analysis.paging import find_labels

    if name in labels.names:  # `find_labels` does not tell apart names that differ in case alone
        return labels.names.index(name)
    return next(iter(find_labels(labels, name, limit=1)), None)
