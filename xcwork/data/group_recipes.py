"""Groups by a short recipe, so that a command, a run and the dashboard can ask for aggregated labels alike.

    random:size=10            groups of ten training documents drawn at random
    clusters:depth=5          2^5 groups of similar documents; noise=0.5 makes them less alike
    names:level=module        pyseealso by class, module or package

`seed=N` draws other groups. `aggregate=true` also writes the labels of a group to all its members, which is all that a
method without a notion of groups can learn from. Only training documents are grouped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.groups import aggregate_labels, cluster_into_groups, collect_groups, draw_random_groups, group_by_name
from xcwork.errors import ConfigError
from xcwork.options import parse_pairs

GROUP_KINDS: dict[str, tuple[Callable[..., Split], dict[str, type]]] = {
    "random": (draw_random_groups, {"size": int, "seed": int}),
    "clusters": (cluster_into_groups, {"depth": int, "noise": float, "seed": int}),
    "names": (group_by_name, {"level": str}),
}


@dataclass(frozen=True)
class GroupFacts:
    """What aggregation does to a split."""

    groups: int
    members: float  # documents per group, on average
    labels: float  # different labels per group, on average
    dilution: float  # labels that a document seems to have, for each one it has


def parse_recipe(recipe: str) -> tuple[str, dict[str, Any], bool]:
    """Return kind, settings and whether labels are aggregated of a recipe; reject what it cannot mean."""
    kind, _, arguments = recipe.partition(":")
    if kind not in GROUP_KINDS:
        raise ConfigError(f"groups must be one of {', '.join(GROUP_KINDS)}, got {kind!r}; write random:size=10")
    _, types = GROUP_KINDS[kind]
    pairs = parse_pairs(filter(None, arguments.split(",")), "groups", example="random:size=10,seed=1")
    settings = {name: value.strip() for name, value in pairs.items()}
    aggregate = _parse_value("aggregate", settings.pop("aggregate", "false"), bool)
    for name in settings:
        if name not in types:
            raise ConfigError(f"groups of kind {kind} have no setting {name!r}; they have {', '.join(types)}")
    if kind != "names" and next(iter(types)) not in settings:
        raise ConfigError(f"groups of kind {kind} need {next(iter(types))}=NUMBER")
    return kind, {name: _parse_value(name, text, types[name]) for name, text in settings.items()}, aggregate


def regroup_dataset(dataset: Dataset, recipe: str) -> Dataset:
    """Return the dataset with its training split grouped as `recipe` says."""
    kind, settings, aggregate = parse_recipe(recipe)
    make, _ = GROUP_KINDS[kind]
    train = make(dataset.train, **settings)
    source = f"{dataset.source}; training documents grouped, {recipe}".removeprefix("; ")
    return replace(dataset, train=aggregate_labels(train) if aggregate else train, source=source)


def measure_groups(split: Split) -> GroupFacts:
    """Return how large the groups of a split are, and how much they blur its labels."""
    groups = collect_groups(split)
    sizes, labels = np.diff(groups.members.indptr), np.diff(groups.labels.indptr)
    dilution = groups.share_labels().nnz / max(split.Y.nnz, 1)
    return GroupFacts(len(groups), float(sizes.mean()), float(labels.mean()), dilution)


def _parse_value(name: str, text: str, kind: type) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigError(f"{name} must be true or false, got {text!r}")
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        raise ConfigError(f"{name} must be a number, got {text!r}") from None
