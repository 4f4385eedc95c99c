"""The landmarks as a picture: which labels they are, what they say about each other, which labels hang on them.

`build_landmark_graph` gives a view model: two plain tables with positions, ready to be drawn, without any drawing
library. Big label sets are cut down to what a picture can show; what was left out is counted in the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from xcwork.methods.landmarks.model import LandmarksModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LandmarkGraph:
    """Nodes and edges of the drawn part of the graph.

    `nodes` has one row per label: label_id, name, kind (landmark, decoded or outlier), documents, residual (share of
    the label that landmarks do not reproduce), r2 (how well documents predict it), order (when a landmark was chosen,
    from 1), labels (how many labels a landmark takes part in), x, y. `edges` has source (landmark), target (label),
    weight.
    """

    nodes: pd.DataFrame
    edges: pd.DataFrame
    n_labels: int  # of the model, with at least one document
    n_edges: int  # of the model

    @property
    def caption(self) -> str:
        """What is shown, in a sentence."""
        return (
            f"{len(self.nodes):,} of {self.n_labels:,} labels and {len(self.edges):,} of {self.n_edges:,} connections; "
            f"{int((self.nodes['kind'] == 'landmark').sum())} landmarks"
        )


class LandmarkEdge(NamedTuple):
    """A landmark takes part in a label."""

    source: int  # the landmark's label id
    target: int  # the label's id
    weight: float


def build_landmark_graph(
    model: LandmarksModel,
    *,
    max_landmarks: int = 100,
    labels_each: int = 5,
    around: int | str | None = None,
    seed: int = 0,
) -> LandmarkGraph:
    """Return the first `max_landmarks` landmarks with the `labels_each` labels each weighs on most.

    With `around` (a label) only the landmarks of that label, and what hangs on those.
    """
    import pandas as pd

    decoder = model.combinations  # (k, n_labels)
    wanted = None if around is None else model.labels.find_id(around)
    if wanted is None:
        shown = np.arange(min(max_landmarks, decoder.shape[0]))
    else:
        weights = np.abs(decoder[:, [wanted]].toarray().ravel())  # (k,)
        shown = np.argsort(-weights, kind="stable")[: min(max_landmarks, np.count_nonzero(weights))]
    edges = [edge for s in shown for edge in find_edges(model, decoder, int(s), labels_each, wanted)]
    centre = [] if wanted is None else [wanted]
    labels = np.unique([*model.landmarks[shown], *centre, *(edge.target for edge in edges)]).astype(np.int64)
    frame = pd.DataFrame(edges, columns=list(LandmarkEdge._fields))
    return LandmarkGraph(
        nodes=place_nodes(model, labels, decoder, edges, seed),
        edges=frame.astype({"source": np.int64, "target": np.int64, "weight": float}),
        n_labels=int(np.count_nonzero(model.label_frequencies)),
        n_edges=decoder.nnz - len(model.landmarks),  # a landmark's weight on itself is no connection
    )


def find_edges(
    model: LandmarksModel, decoder: sparse.csr_array, landmark: int, n: int, wanted: int | None
) -> list[LandmarkEdge]:
    """Return the n largest weights of one landmark on other labels, and the weight on the wanted label."""
    row = slice(decoder.indptr[landmark], decoder.indptr[landmark + 1])
    targets = decoder.indices[row]
    weights = decoder.data[row]
    own = int(model.landmarks[landmark])
    others = np.flatnonzero(targets != own)
    best = others[np.argsort(-np.abs(weights[others]), kind="stable")[:n]]
    if wanted is not None:
        best = np.union1d(best, others[targets[others] == wanted])
    return [LandmarkEdge(own, int(targets[i]), float(weights[i])) for i in best]


def place_nodes(
    model: LandmarksModel, labels: np.ndarray, decoder: sparse.csr_array, edges: list[LandmarkEdge], seed: int
) -> pd.DataFrame:
    """Return the table of nodes, placed by springs along the edges."""
    import networkx as nx
    import pandas as pd

    order = {int(label): place for place, label in enumerate(model.landmarks, start=1)}
    outliers = set(model.outliers.tolist())
    ids = labels.tolist()
    n_labels = np.diff(decoder.indptr)  # (k,)
    graph = nx.Graph()
    graph.add_nodes_from(ids)
    graph.add_weighted_edges_from((edge.source, edge.target, abs(edge.weight)) for edge in edges)
    positions = nx.spring_layout(graph, seed=seed)
    return pd.DataFrame(
        {
            "label_id": labels,
            "name": [model.labels.names[label] for label in ids],
            "kind": ["landmark" if label in order else "outlier" if label in outliers else "decoded" for label in ids],
            "documents": model.label_frequencies[labels],
            "residual": model.residuals[labels],
            "r2": model.r2[labels],
            "order": [order.get(label, 0) for label in ids],
            "labels": [n_labels[order[label] - 1] if label in order else 0 for label in ids],
            "x": [float(positions[label][0]) for label in ids],
            "y": [float(positions[label][1]) for label in ids],
        }
    )
