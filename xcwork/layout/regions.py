"""Regions of a label map: where labels lie close together, at up to three levels, each inside the one above.

Level 0 are the dense places of the whole map (the stable clusters of HDBSCAN, or its leaves where one of those would be
half the map), level 1 the dense places within each of them, and
so on. Labels beside a dense place belong to it when they lie within its reach; labels far from all belong to none. Of
a large map HDBSCAN looks at a sample of twenty thousand labels, since its cost grows with the square, and the others
follow the nearest of these.

Reference: Campello, Moulavi and Sander, Density-based clustering based on hierarchical density estimates, PAKDD 2013.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.errors import DataError
from xcwork.layout.label_layout import LabelLayout
from xcwork.layout.region_names import name_regions
from xcwork.layout.sampling import sample_labels
from xcwork.progress import track

MAX_LEVELS = 3
MAX_CLUSTERED_LABELS = 20_000
MIN_LABELS_PER_REGION = 8
REGIONS_PER_MAP = 60  # a region of level 0 has at least the sixtieth part of the labels
REGIONS_PER_REGION = 8
MIN_PLACES = 3  # that the stable clusters of HDBSCAN must be, and
MAX_PLACE_SHARE = 0.3  # of the labels that the largest of them may have; else its leaves are taken
MIN_PROBABILITY = 0.1  # of a label; HDBSCAN counts stray labels to the cluster they would join first
REACH = 0.6  # how far beside a region labels still belong to it, in its radius
NO_REGION = -1


@dataclass(frozen=True)
class LabelRegion:
    """A dense place of the map with a name."""

    level: int  # 0 is the coarsest
    name: str
    x: float  # where the name stands: the middle of its labels
    y: float
    n_labels: int
    parent: int = NO_REGION  # index of the region that it is part of


@dataclass(frozen=True, eq=False)
class LabelRegions:
    """All regions of a layout, and those of each label."""

    regions: tuple[LabelRegion, ...]  # parents before their parts
    of_label: np.ndarray  # (n_levels, n) int32, places as in the layout; NO_REGION outside of all

    @property
    def n_levels(self) -> int:
        return len(self.of_label)

    def find_labels(self, region: int, layout: LabelLayout) -> np.ndarray:
        """Return the ids of the labels in a region."""
        if not 0 <= region < len(self.regions):
            raise DataError(f"there is no region {region}; they go from 0 to {len(self.regions) - 1}")
        return layout.ids[self.of_label[self.regions[region].level] == region]

    def to_state(self) -> dict[str, Any]:
        """Return plain values and arrays to store."""
        columns = {name: [getattr(region, name) for region in self.regions] for name in LabelRegion.__annotations__}
        arrays = {name: np.array(columns[name], np.float64) for name in columns if name != "name"}
        return {"names": columns["name"], "of_label": self.of_label, **arrays}

    @classmethod
    def from_state(cls, state: dict[str, Any], n: int) -> LabelRegions:
        """Return the regions that `to_state` described, or a DataError when they do not fit `n` labels."""
        of_label, names = state["of_label"], state["names"]
        numbers = [state[name] for name in ("level", "x", "y", "n_labels", "parent")]
        if of_label.ndim != 2 or of_label.shape[1] != n or any(each.shape != (len(names),) for each in numbers):
            raise DataError("the stored regions of the map do not fit its labels", remedy="make the map again")
        if of_label.size and not -1 <= of_label.min() <= of_label.max() < len(names):
            raise DataError("the stored regions of the map name a region that is not there", remedy="make it again")
        rows = zip(names, *(each.tolist() for each in numbers), strict=True)
        regions = tuple(LabelRegion(int(level), name, x, y, int(n), int(up)) for name, level, x, y, n, up in rows)
        return cls(regions, of_label)


def find_regions(layout: LabelLayout, dataset: Dataset, *, seed: int = 0) -> LabelRegions:
    """Return the regions of a layout, named by what sets their labels apart."""
    of_label = np.full((MAX_LEVELS, len(layout.ids)), NO_REGION, np.int32)
    regions: list[LabelRegion] = []
    frequencies = dataset.train.label_frequencies[layout.ids]
    insides = [(NO_REGION, np.arange(len(layout.ids)))]
    for level in range(MAX_LEVELS):
        below: list[tuple[int, np.ndarray]] = []
        for parent, inside in track(insides, f"finding regions, level {level + 1}"):
            parts = REGIONS_PER_REGION if level else REGIONS_PER_MAP
            found = find_dense_places(layout.positions[inside], frequencies[inside], parts, seed=seed)
            if found.max(initial=NO_REGION) < 1 and level:
                continue  # a region with one part is that part
            for place in range(found.max(initial=NO_REGION) + 1):
                members = inside[found == place]
                x, y = layout.positions[members].mean(axis=0).tolist()
                of_label[level, members] = len(regions)
                below.append((len(regions), members))
                regions.append(LabelRegion(level, "", x, y, len(members), parent))
        insides = below
    used = max((region.level + 1 for region in regions), default=0)
    found_regions = LabelRegions(tuple(regions), of_label[:used])
    names = name_regions(found_regions.of_label, [region.parent for region in regions], layout.ids, dataset)
    named = (replace(region, name=name) for region, name in zip(regions, names, strict=True))
    return replace(found_regions, regions=tuple(named))


def find_dense_places(positions: np.ndarray, frequencies: np.ndarray, parts: int, *, seed: int = 0) -> np.ndarray:
    """Return the dense place of each label, numbered from the largest, or NO_REGION; (n,) int32."""
    sample = sample_labels(frequencies, MAX_CLUSTERED_LABELS, seed=seed)
    smallest = max(MIN_LABELS_PER_REGION, len(sample) // parts)
    places = np.full(len(positions), NO_REGION, np.int32)
    if len(sample) < 2 * smallest:
        return places
    from sklearn.cluster import HDBSCAN  # not for a small dataset, which takes less than the import

    for selection in ("eom", "leaf"):
        clusters = HDBSCAN(min_cluster_size=smallest, min_samples=5, cluster_selection_method=selection, copy=True)
        found = clusters.fit_predict(positions[sample].astype(np.float64))
        places[sample] = np.where(clusters.probabilities_ >= MIN_PROBABILITY, found, NO_REGION)
        sizes = np.bincount(places[sample][places[sample] >= 0], minlength=1)
        # One cloud of many topics, as UMAP likes to make, is divided at its dense places.
        if len(sizes) >= MIN_PLACES and sizes.max() <= MAX_PLACE_SHARE * len(sample):
            break
    return _number_by_size(_add_nearby_labels(positions, places))


def _add_nearby_labels(positions: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the places with every label that lies within the reach of one."""
    from scipy.spatial import cKDTree

    inside = np.flatnonzero(places >= 0)
    outside = np.flatnonzero(places < 0)
    if not len(inside) or not len(outside):
        return places
    reaches = np.zeros(places.max() + 1)
    for place in range(len(reaches)):
        members = positions[places == place]
        reaches[place] = REACH * np.median(np.linalg.norm(members - members.mean(axis=0), axis=1))
    distances, nearest = cKDTree(positions[inside]).query(positions[outside])
    places = places.copy()
    theirs = places[inside[nearest]]
    near = distances <= reaches[theirs]
    places[outside[near]] = theirs[near]
    return places


def _number_by_size(places: np.ndarray) -> np.ndarray:
    """Return the same places numbered from the one with most labels on."""
    if not (places >= 0).any():
        return places
    order = np.argsort(-np.bincount(places[places >= 0]), kind="stable")
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order))
    return np.where(places >= 0, numbers[places], NO_REGION).astype(np.int32)
