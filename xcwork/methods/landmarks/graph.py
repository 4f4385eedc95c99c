"""The landmarks as a picture: which labels they are, what they say about each other, which labels hang on them.

`landmark_graph` is a view model: two plain tables with positions, ready to be drawn, without any drawing library. Big
label sets are cut down to what a picture can show; what was left out is counted in the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.methods.landmarks.method import Landmarks


@dataclass(frozen=True, eq=False)
class LandmarkGraph:
    """Nodes and edges of the drawn part of the graph.

    `nodes` has one row a label: label_id, name, kind (landmark, decoded or outlier), documents, residual (share of the
    label that landmarks do not reproduce), r2 (how well documents predict it), order (when a landmark was chosen, from
    1), labels (how many labels a landmark takes part in), x, y. `edges` has source (landmark), target (label), weight.
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


def landmark_graph(
    model: Landmarks, *, max_landmarks: int = 100, labels_each: int = 5, around: int | str | None = None, seed: int = 0
) -> LandmarkGraph:
    """The first `max_landmarks` landmarks with the `labels_each` labels each weighs on most.

    With `around` (a label) only the landmarks of that label, and what hangs on those.
    """
    model._check_fitted()
    decoder = model.combinations  # (k, n_labels)
    wanted = None if around is None else model.labels_.id_of(around)
    if wanted is None:
        shown = np.arange(min(max_landmarks, decoder.shape[0]))
    else:
        weights = np.abs(decoder[:, [wanted]].toarray().ravel())  # (k,)
        shown = np.argsort(-weights, kind="stable")[: min(max_landmarks, np.count_nonzero(weights))]
    edges = [edge for s in shown for edge in _edges_of(model, decoder, int(s), labels_each, wanted)]
    centre = [] if wanted is None else [wanted]
    labels = np.unique([*model.landmarks_[shown], *centre, *(edge[1] for edge in edges)]).astype(np.int64)
    n_edges = decoder.nnz - len(model.landmarks_)  # a landmark's weight on itself is no connection
    n_labels = int(np.count_nonzero(model.label_frequencies_))
    return LandmarkGraph(_nodes(model, labels, decoder, edges, seed), _frame(edges), n_labels, n_edges)


def _edges_of(
    model: Landmarks, decoder: sparse.csr_array, landmark: int, n: int, wanted: int | None
) -> list[tuple[int, int, float]]:
    """(landmark, label, weight) of the n largest weights of one landmark on other labels, and of the wanted label."""
    row = slice(decoder.indptr[landmark], decoder.indptr[landmark + 1])
    targets, weights, own = decoder.indices[row], decoder.data[row], int(model.landmarks_[landmark])
    others = np.flatnonzero(targets != own)
    best = others[np.argsort(-np.abs(weights[others]), kind="stable")[:n]]
    if wanted is not None:
        best = np.union1d(best, others[targets[others] == wanted])
    return [(own, int(targets[i]), float(weights[i])) for i in best]


def _frame(edges: list[tuple[int, int, float]]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(edges, columns=["source", "target", "weight"])
    return frame.astype({"source": np.int64, "target": np.int64, "weight": float})


def _nodes(
    model: Landmarks, labels: np.ndarray, decoder: sparse.csr_array, edges: list[tuple[int, int, float]], seed: int
) -> pd.DataFrame:
    import networkx as nx
    import pandas as pd

    order = {int(label): place for place, label in enumerate(model.landmarks_, start=1)}
    strays = set(model.outliers_.tolist())
    kinds = ["landmark" if label in order else "outlier" if label in strays else "decoded" for label in labels.tolist()]
    takes_part = np.diff(decoder.indptr)
    graph = nx.Graph()
    graph.add_nodes_from(labels.tolist())
    graph.add_weighted_edges_from((source, target, abs(weight)) for source, target, weight in edges)
    positions = nx.spring_layout(graph, seed=seed)
    return pd.DataFrame(
        {
            "label_id": labels,
            "name": [model.labels_.names[label] for label in labels],
            "kind": kinds,
            "documents": model.label_frequencies_[labels],
            "residual": model.residuals_[labels],
            "r2": model.r2_[labels],
            "order": [order.get(label, 0) for label in labels.tolist()],
            "labels": [takes_part[order[label] - 1] if label in order else 0 for label in labels.tolist()],
            "x": [float(positions[label][0]) for label in labels.tolist()],
            "y": [float(positions[label][1]) for label in labels.tolist()],
        }
    )
