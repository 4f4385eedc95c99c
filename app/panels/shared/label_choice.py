"""Which label a page looks at: type a part of its name; the other labels with that part are then one click away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xcwork_app import state

if TYPE_CHECKING:
    from xcwork.core.labels import LabelSpace


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
