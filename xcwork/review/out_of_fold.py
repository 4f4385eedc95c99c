"""Predictions for training documents by models that did not see them.

A model knows the labels it was trained on by heart, also the wrong ones, so its predictions for its own training split
hide the errors in it. Each fold is therefore predicted by a model of the other folds:

    documents → n_folds parts, groups kept whole;  part f ← predict(fit(all parts but f))

Cost: `n_folds` trainings on a share of (n_folds - 1) / n_folds of the documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from xcwork.core.held_out import number_groups
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError
from xcwork.methods.base import Method
from xcwork.progress import track
from xcwork.runs.evaluation import PREDICTIONS_FILE, read_topk
from xcwork.runs.store import Run, refuse_links
from xcwork.storage.atomic import create_folder

OUT_OF_FOLD = "out_of_fold"  # folder of a run


def assign_folds(split: Split, n_folds: int, seed: int = 0) -> np.ndarray:
    """Return the fold of each document, (n_documents,); members of a group share theirs."""
    group_of = np.arange(len(split)) if split.groups is None else number_groups(split.groups)
    n_groups = int(group_of.max(initial=-1)) + 1
    if not 2 <= n_folds <= n_groups:
        raise ConfigError(
            f"the number of folds must lie between 2 and the {n_groups:,} documents (or groups of them), got {n_folds}"
        )
    return np.random.default_rng(seed).permutation(np.arange(n_groups) % n_folds)[group_of]


def predict_out_of_fold(
    make_method: Callable[[], Method], split: Split, *, n_folds: int = 3, k: int = 100, seed: int = 0
) -> TopK:
    """Return the k best labels of every document of `split`, each by a method that was trained without its fold."""
    folds = assign_folds(split, n_folds, seed)
    width = min(k, split.n_labels)
    found = replace(TopK.make_empty(len(split), width), labels=split.labels)
    for fold in track(range(n_folds), "folds"):
        rows = np.flatnonzero(folds == fold)
        method = make_method().fit(split.take(folds != fold))
        part = method.predict(split.take(rows), width)
        found.ids[rows], found.scores[rows] = part.ids, part.scores
    return found


def store_out_of_fold(run: Run, topk: TopK) -> None:
    """Keep predictions for the training split with a run."""
    refuse_links(run.folder)
    with create_folder(run.folder / OUT_OF_FOLD) as temporary:
        np.savez_compressed(temporary / PREDICTIONS_FILE, ids=topk.ids, scores=topk.scores)


def read_out_of_fold(run: Run) -> TopK | None:
    """Return the stored predictions for the training split; None if there are none."""
    refuse_links(run.folder)
    folder = run.folder / OUT_OF_FOLD
    return read_topk(folder) if folder.is_dir() else None
