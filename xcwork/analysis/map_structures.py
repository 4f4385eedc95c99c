"""What a method made of the labels, as layers of the label map: landmark graph, label tree, head grid.

*Landmark graph.* Lines from a landmark to the labels that it weighs on most.
*Label tree.* Nested hulls around the labels of a node, on up to three levels of the first tree: the first that has at
least six nodes, and then those with three times as many, so that a tree that divides in two says as much as one that
divides in a hundred. Labels of a node may lie in several parts of the map, and a hull around all of them would cover
what belongs to others. So a hull is around a patch: cells side by side in which the node has a large share of the
labels, inside a patch of the node above; hence hulls are nested.
*Head grid.* Places of its own: a label stands in the row of its first head and the column of all other heads.

Each is bounded, however many labels there are. Which colour a class gets is decided where it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from scipy import sparse

from xcwork.analysis.head_grid import count_grid_columns
from xcwork.analysis.map_colours import LabelClasses
from xcwork.analysis.tree_levels import find_nodes_by_level
from xcwork.layout.label_layout import LabelLayout
from xcwork.layout.region_names import find_path_roots
from xcwork.methods.names import METHODS
from xcwork.search import top_k_rows

if TYPE_CHECKING:
    from xcwork.methods.base import Method
    from xcwork.methods.label_tree.model import LabelTreeModel
    from xcwork.methods.landmarks.model import LandmarksModel
    from xcwork.methods.multihead.model import MultiHeadModel

MAX_EDGES = 2_000
EDGES_PER_LANDMARK = 8
MAX_TREE_LEVELS = 3
MAX_TREE_DEPTH = 16
MIN_OUTER_NODES = 6
LEVEL_GROWTH = 3  # how many times more nodes the next level has
MAX_HULLS_PER_LEVEL = 100
MIN_LABELS_PER_HULL = 3
MAX_PATCHES_PER_NODE = 4
MIN_PATCH_SHARE = 0.04  # of the labels of the node
MIN_CELL_SHARE = 0.4  # of the labels in and around a cell of a patch
MIN_CELL_LABELS = 0.15  # in and around it, blurred: an empty cell joins no patches
LABELS_PER_CELL = 4
MIN_CELLS_ACROSS = 6
MAX_CELLS_ACROSS = 64
BLUR_CELLS = 0.8  # so that a stray label does not decide about its cell
NAME_TERMS = 2
TERMS_TO_NAME_FROM = 8
MAX_GRID_LINES = 24
GRID_HALF_WIDTH = 0.95
MAX_CLASSES = 250  # that have a colour; colours repeat, names do not
GRID_METHODS = ("mhc", "mhs", "mhp")


@dataclass(frozen=True, eq=False)
class StructureEdges:
    """Pairs of labels that a method connects."""

    pairs: np.ndarray  # (m, 2) label ids: landmark, label
    weights: np.ndarray  # (m,) float32 in 0..1, descending


@dataclass(frozen=True, eq=False)
class StructureHull:
    """A polygon around labels of a node that lie together."""

    name: str  # empty where a larger hull of the node has it
    points: np.ndarray  # (m, 2) float32, counter-clockwise
    level: int  # 0 is the outermost
    node: int
    family: int  # the place of the outermost node above among its level, the one with most labels first


@dataclass(frozen=True, eq=False)
class StructureGrid:
    """The labels in rows and columns, and the lines between them with captions."""

    positions: np.ndarray  # (n, 2) float32 in [-1, 1], of the labels with a place
    columns: tuple[tuple[float, str], ...]
    rows: tuple[tuple[float, str], ...]


@dataclass(frozen=True, eq=False)
class StructureLayers:
    """The layers of one method; only one kind is there."""

    title: str
    edges: StructureEdges | None = None
    hulls: tuple[StructureHull, ...] = ()
    grid: StructureGrid | None = None


def find_structure_layers(method: Method, layout: LabelLayout) -> StructureLayers | None:
    """Return the layers of a trained method; None for one that has no structure of its own."""
    name = _find_structure(method)
    if name == "landmarks":
        return StructureLayers(
            "Landmark graph", edges=find_landmark_edges(cast("LandmarksModel", method.model_), layout)
        )
    if name == "label_tree":
        return StructureLayers("Label tree", hulls=find_tree_hulls(cast("LabelTreeModel", method.model_), layout))
    if name in GRID_METHODS:
        return StructureLayers("Head grid", grid=place_in_head_grid(cast("MultiHeadModel", method.model_), layout))
    return None


def colour_by_structure(method: Method, ids: np.ndarray) -> LabelClasses | None:
    """Return the landmark, tree node or head of each label; None for a method that has none of these."""
    name = _find_structure(method)
    if name == "landmarks":
        model = cast("LandmarksModel", method.model_)
        weights = top_k_rows(abs(sparse.csr_array(model.combinations.T)), 1).ids[ids]  # (n, 1)
        best = weights[:, 0] if weights.shape[1] else np.full(len(ids), -1)
        names = model.labels.names
        return _name_classes("Landmark", best, lambda at: names[int(model.landmarks[at])], "other or none")
    if name == "label_tree":
        tree = cast("LabelTreeModel", method.model_)
        nodes = find_tree_levels(tree)[0, ids]
        roots = find_path_roots(tree.labels, ids)
        return _name_classes("Tree node", nodes, lambda node: _name_node(tree, node, roots), "other or none")
    if name in GRID_METHODS:
        heads = cast("MultiHeadModel", method.model_)
        rows = np.argsort(heads.label_of_code)[ids] // count_grid_columns(heads)
        return _name_classes("Head", rows, lambda row: f"row {row + 1}", "other rows")
    return None


def find_landmark_edges(model: LandmarksModel, layout: LabelLayout) -> StructureEdges:
    """Return the strongest connections of landmarks to other labels, of those that have a place."""
    cells = sparse.coo_array(model.combinations)
    landmark, label = cells.coords
    placed = np.zeros(model.n_labels, bool)
    placed[layout.ids] = True
    source = model.landmarks[landmark]
    kept = (source != label) & placed[source] & placed[label]
    others = sparse.csr_array((np.abs(cells.data[kept]), (landmark[kept], label[kept])), shape=cells.shape)
    best = top_k_rows(others, EDGES_PER_LANDMARK)
    rows, slots = np.nonzero(best.scores > 0)
    weights = best.scores[rows, slots]
    order = np.argsort(-weights, kind="stable")[:MAX_EDGES]
    pairs = np.column_stack([model.landmarks[rows], best.ids[rows, slots]]).astype(np.int64)[order]
    largest = float(weights.max(initial=0)) or 1.0
    return StructureEdges(pairs, (weights[order] / largest).astype(np.float32))


def find_tree_levels(model: LabelTreeModel) -> np.ndarray:
    """Return the node of each label on the levels that are shown, or NO_NODE; (one to three, n_labels) int32."""
    levels = find_nodes_by_level(model.forest, model.n_labels, MAX_TREE_DEPTH)
    counts = [len(np.unique(level[level >= 0])) for level in levels]
    chosen: list[int] = []
    for at, count in enumerate(counts):
        wanted = LEVEL_GROWTH * counts[chosen[-1]] if chosen else MIN_OUTER_NODES
        if count >= wanted and len(chosen) < MAX_TREE_LEVELS:
            chosen.append(at)
    return levels[chosen or [int(np.argmax(counts))]]


def find_tree_hulls(model: LabelTreeModel, layout: LabelLayout) -> tuple[StructureHull, ...]:
    """Return hulls around the labels of the largest nodes, outer levels first."""
    levels = find_tree_levels(model)[:, layout.ids]
    raster = _Raster(layout.positions)
    families: dict[int, int] = {}  # of the outermost nodes
    held: dict[int, np.ndarray] = {}  # the cells inside the hulls of each node
    hulls = []
    roots = find_path_roots(model.labels, layout.ids)
    for level, nodes in enumerate(levels):
        groups = sorted(_group_by_node(nodes).items(), key=lambda group: (-len(group[1]), group[0]))
        families = families or {node: at for at, (node, _) in enumerate(groups)}
        for node, members in groups[:MAX_HULLS_PER_LEVEL]:
            above = None if level == 0 else held.get(int(levels[level - 1][members[0]]))
            if level and above is None:
                continue
            patches, held[node] = raster.find_patches(members, above)
            family = families[int(levels[0][members[0]])]
            for at, patch in enumerate(patches):
                points = find_hull(layout.positions[patch])
                if len(points):
                    name = "" if at else _name_node(model, node, roots)
                    hulls.append(StructureHull(name, points, level, node, family))
    return tuple(hulls)


class _Raster:
    """Cells of equal size over the map, and how many labels are in each of them."""

    def __init__(self, positions: np.ndarray) -> None:
        across = math.isqrt(len(positions) // LABELS_PER_CELL)
        self._n = min(MAX_CELLS_ACROSS, max(MIN_CELLS_ACROSS, across))
        self._cells = np.minimum((positions + 1) * (self._n / 2), self._n - 1).astype(int)  # (n, 2)
        self._counts = self._count_labels(np.arange(len(positions)))

    def find_patches(self, members: np.ndarray, within: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the labels of each patch, the largest first, and the cells of all; `within` limits the cells."""
        from scipy import ndimage

        is_theirs = (self._count_labels(members) > MIN_CELL_SHARE * self._counts) & (self._counts > MIN_CELL_LABELS)
        if within is not None:
            is_theirs &= within
        numbers, n_patches = ndimage.label(is_theirs, np.ones((3, 3)))  # 0 is outside of all
        own = numbers[tuple(self._cells[members].T)]
        sizes = np.bincount(own, minlength=n_patches + 1)
        largest = [at for at in np.argsort(-sizes, kind="stable").tolist() if at][:MAX_PATCHES_PER_NODE]
        least = max(MIN_LABELS_PER_HULL, MIN_PATCH_SHARE * len(members))
        kept = [at for at in largest if sizes[at] >= least]
        return [members[own == at] for at in kept], np.isin(numbers, kept)

    def _count_labels(self, members: np.ndarray) -> np.ndarray:
        """Return how many of some labels are in and around each cell, (cells, cells)."""
        from scipy import ndimage

        columns, rows = self._cells[members].T
        counts = np.bincount(columns * self._n + rows, minlength=self._n**2).reshape(self._n, self._n)
        return ndimage.gaussian_filter(counts.astype(float), BLUR_CELLS, mode="constant")


def find_hull(positions: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull, counter-clockwise; none where the places have no area."""
    from scipy.spatial import ConvexHull, QhullError

    if len(positions) < MIN_LABELS_PER_HULL:
        return np.empty((0, 2), np.float32)
    try:
        return positions[ConvexHull(positions.astype(np.float64)).vertices]
    except QhullError:  # all on one line
        return np.empty((0, 2), np.float32)


def place_in_head_grid(model: MultiHeadModel, layout: LabelLayout) -> StructureGrid:
    """Return where the labels of the layout stand by their codes, the first row on top, and lines between cells."""
    n_columns = count_grid_columns(model)
    n_rows = -(-len(model.label_of_code) // n_columns)
    rows, columns = np.divmod(np.argsort(model.label_of_code)[layout.ids], n_columns)
    x, y = _space_cells(columns, n_columns), -_space_cells(rows, n_rows)
    lines_across, lines_down = _choose_lines(n_columns), _choose_lines(n_rows)
    return StructureGrid(
        np.column_stack([x, y]).astype(np.float32),
        tuple((float(_space_cells(at - 0.5, n_columns)), _name_line("other heads", at)) for at in lines_across),
        tuple((-float(_space_cells(at - 0.5, n_rows)), _name_line("first head", at)) for at in lines_down),
    )


def _space_cells(cells: np.ndarray | float, n: int) -> np.ndarray:
    """Return the middles of cells along an axis."""
    return GRID_HALF_WIDTH * ((2 * np.asarray(cells) + 1) / n - 1)


def _choose_lines(n: int) -> range:
    """Return the cells that a line stands before, evenly."""
    return range(0, n, -(-n // MAX_GRID_LINES))


def _name_line(axis: str, at: int) -> str:
    """Return the number of a row or column; the first one says what is counted."""
    return f"{at + 1:,}" if at else f"{axis}: 1"


def _find_structure(method: Method) -> str:
    """Return the registered name of the method, as far as it is one with a structure."""
    own = f"{type(method).__module__}:{type(method).__name__}"
    return next((name for name in ("landmarks", "label_tree", *GRID_METHODS) if METHODS[name] == own), "")


def _group_by_node(nodes: np.ndarray) -> dict[int, np.ndarray]:
    """Return the positions of the labels of each node."""
    order = np.argsort(nodes, kind="stable")
    found, starts = np.unique(nodes[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(found) else []
    return {node: part for node, part in zip(found.tolist(), parts, strict=True) if node >= 0}


def _name_node(model: LabelTreeModel, node: int, roots: set[str]) -> str:
    """Return two terms without a word in common that lead to a node, or its number where there are none.

    `roots` are words that say little, such as `numpy` in `numpy.linalg.qr`.
    """
    from xcwork.methods.label_tree.node_table import name_best_terms

    way_in = model.forest.find_slot_into(node)
    terms = [] if way_in is None else name_best_terms(model.forest, way_in, model.features, TERMS_TO_NAME_FROM)
    terms = [term for term in terms if not set(term.lower().split()) & roots] or terms
    named: list[str] = []
    for term in terms:
        if len(named) < NAME_TERMS and not set(term.split()) & set(" ".join(named).split()):
            named.append(term)
    return " · ".join(named) or f"node {node}"


def _name_classes(title: str, groups: np.ndarray, name_group: Callable[[int], str], rest: str) -> LabelClasses:
    """Return the groups with most labels as classes, and everything else, such as group -1, as background."""
    found, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    largest = [at for at in np.argsort(-counts, kind="stable").tolist() if found[at] >= 0][:MAX_CLASSES]
    numbers = np.full(len(found), len(largest))
    numbers[largest] = np.arange(len(largest))
    names = tuple(name_group(int(found[at])) for at in largest)
    return LabelClasses(title, numbers[codes].astype(np.uint16), (*names, rest), len(largest))
