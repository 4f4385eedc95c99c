"""Which labels are chosen on the map: one label, a region or a lasso, as the address names them."""

from __future__ import annotations

import numpy as np
from xcwork_app import state
from xcwork_app.components.label_map import MapEvent
from xcwork_app.panels.shared.label_choice import find_label_id, get_wanted_label
from xcwork_app.views import chosen_labels
from xcwork_app.views.chosen_labels import MapChoice
from xcwork_app.views.map_content import MapContent


def read_choice(content: MapContent) -> MapChoice:
    """Return what the view chooses on the map of a run; what is not there is forgotten, with a note if asked for."""
    labels = content.found.dataset.labels
    label = find_label_id(labels, wanted) if (wanted := get_wanted_label(labels)) else None
    if label is not None:
        return MapChoice(np.array([label]), labels.names[label], label=label)
    return chosen_labels.read_area(content)


def take_event(event: MapEvent, content: MapContent) -> None:
    """Remember what a person did on the map."""
    names = content.found.dataset.labels.names
    if event.kind == "label" and event.label is not None and 0 <= event.label < len(names):
        choose(label=names[event.label])
    elif event.kind == "region" and event.region is not None and 0 <= event.region < len(content.names):
        choose(region=content.names[event.region])
    elif event.kind == "lasso" and event.polygon:
        choose(lasso=chosen_labels.write_polygon(event.polygon))
    elif event.kind == "clear":
        choose()


def choose(*, label: str = "", region: str = "", lasso: str = "") -> None:
    """Choose a label, a region or a lasso; nothing clears the choice."""
    state.update(label=label, region=region, lasso=lasso)
