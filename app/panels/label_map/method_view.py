"""What a method makes of the labels, where it has a structure of its own: landmark graph, label tree, head grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from xcwork_app import caches, state, widgets
from xcwork_app.panels.shared import label_choice
from xcwork_app.views.run_findings import Findings

from xcwork.runs import Run

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.label_tree.model import LabelTreeModel
    from xcwork.methods.landmarks.graph import LandmarkGraph

METHOD_VIEWS = {
    "landmarks": "Landmark graph",
    "label_tree": "Label tree",
    "mhc": "Head grid",
    "mhs": "Head grid",
    "mhp": "Head grid",
}
BOXES = {"icicle": "Icicle", "treemap": "Treemap"}
CELLS = {"documents": "Training documents", "recall": "Recall"}
NAME_TERMS = 3  # terms that name a node of the tree


def get_title(run: Run) -> str | None:
    """Return what the method of a run offers; None for most methods."""
    return METHOD_VIEWS.get(caches.get_record(run).get("method", ""))


def show(found: Findings) -> None:
    """Show the view of the run's method."""
    kind = get_title(found.run)
    if kind == "Landmark graph":
        _show_landmarks(found)
    elif kind == "Label tree":
        _show_tree(found.run)
    else:
        _show_grid(found)


def _show_landmarks(found: Findings) -> None:
    from xcwork.viz.structures import landmark_graph_figure

    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=320):
            label = label_choice.choose_label(found.dataset.labels, key="label_map.around")
        state.link("label_map.landmarks", 60, range(10, 201, 10))
        most = st.slider("Landmarks drawn", 10, 200, step=10, key="label_map.landmarks", width=300)
    folder = found.run.folder
    graph = _make_graph(str(folder), caches.get_stamp(folder / "model"), most, label)
    if label is not None and not len(graph.edges):
        widgets.show_empty("No landmark takes part in this label. Clear the choice to see all landmarks.")
        return
    widgets.show_figure(landmark_graph_figure(graph), key="label_map.graph", name="landmark-graph")
    if label is None:
        st.caption("Choose a label to see only its landmarks, and what else hangs on them.")


@st.cache_resource(max_entries=8, show_spinner="Drawing the landmarks.")
def _make_graph(folder: str, stamp: int, most: int, around: int | None) -> LandmarkGraph:
    from xcwork.methods.landmarks.graph import build_landmark_graph
    from xcwork.methods.landmarks.model import LandmarksModel

    model = caches.get_model(Run(folder)).model_
    assert isinstance(model, LandmarksModel)  # by the name of the method, see `METHOD_VIEWS`
    return build_landmark_graph(model, max_landmarks=most, around=around)


def _show_tree(run: Run) -> None:
    from xcwork.viz.structures import label_tree_figure

    n_trees = _get_tree_model(run).forest.n_trees
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.link("label_map.tree", 1, range(1, n_trees + 1))
        tree = st.number_input("Tree", 1, n_trees, key="label_map.tree", width=140) if n_trees > 1 else 1
        kind = widgets.choose_option("Drawn as", BOXES, key="label_map.boxes")
    nodes = _list_nodes(str(run.folder), caches.get_stamp(run.folder / "model"), tree - 1)
    widgets.show_figure(label_tree_figure(nodes, kind=kind), key="label_map.boxes.chart", name="label-tree")
    st.caption(
        "A box is a node, as wide as the labels below it and named by the terms that lead there. Click to enter."
    )


def _get_tree_model(run: Run) -> LabelTreeModel:
    from xcwork.methods.label_tree.model import LabelTreeModel

    model = caches.get_model(run).model_
    assert isinstance(model, LabelTreeModel)
    return model


@st.cache_resource(max_entries=8, show_spinner="Reading the tree.")
def _list_nodes(folder: str, stamp: int, tree: int) -> pd.DataFrame:
    from xcwork.methods.label_tree.node_table import tabulate_nodes

    frame = tabulate_nodes(_get_tree_model(Run(folder)), tree, n_terms=NAME_TERMS, n_names=NAME_TERMS)
    terms = [", ".join(row.terms or row.some_labels) if row.level else "all" for row in frame.itertuples()]
    parents = frame["parent"].where(frame["parent"] >= 0).astype("Int64")
    return frame.rename(columns={"node": "id"}).assign(name=terms, parent=parents)[["id", "parent", "name", "labels"]]


def _show_grid(found: Findings) -> None:
    from xcwork.analysis.head_grid import place_in_grid
    from xcwork.methods.multihead.model import MultiHeadModel
    from xcwork.viz.structures import head_grid_figure

    cells = widgets.choose_option("Colour", CELLS, key="label_map.cells")
    values = found.labels["train_documents" if cells == "documents" else f"recall@{found.k}"].to_numpy(float)
    name = "training documents" if cells == "documents" else f"recall@{found.k}, %"
    if cells == "documents":  # a few frequent labels would leave all others in one colour
        values, name = np.log10(1 + values), "log10 (1 + training documents)"
    model = caches.get_model(found.run).model_
    assert isinstance(model, MultiHeadModel)
    grid = place_in_grid(model, values)
    widgets.show_figure(
        head_grid_figure(grid, value=name, rows="first head", columns="other heads"),
        key="label_map.grid",
        name="head-grid",
    )
