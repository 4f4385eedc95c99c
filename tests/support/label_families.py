"""Data and measurements that the tests of landmark label selection share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.methods.landmarks.method import Landmarks
from xcwork.methods.landmarks.predictors import append_bias

N_GROUPS = 4


def split_of(X: np.ndarray, Y: np.ndarray) -> Split:
    features = Features(X.shape[1], [f"word{i}" for i in range(X.shape[1])])
    labels = LabelSpace([f"label{i}" for i in range(Y.shape[1])])
    return Split(sparse.csr_array(X.astype(np.float32)), sparse.csr_array(Y.astype(np.float32)), labels, features)


def make_families(n_documents: int = 240, seed: int = 0) -> Dataset:
    """Four words decide four labels; labels 4 … 7 are the same again, 8 is 0 or 1, 9 is a coin toss seen as a word."""
    rng = np.random.default_rng(seed)
    present = rng.random((n_documents, N_GROUPS)) < 0.4
    present[np.arange(n_documents), rng.integers(N_GROUPS, size=n_documents)] = True
    coin = rng.random(n_documents) < 0.3
    X = np.column_stack([present, coin, rng.random((n_documents, 6)) < 0.3]).astype(float)
    Y = np.column_stack([present, present, present[:, 0] | present[:, 1], coin])
    half = n_documents // 2
    train, test = split_of(X[:half], Y[:half]), split_of(X[half:], Y[half:])
    return Dataset("families", train, replace(test, labels=train.labels, features=train.features))


def every_score(model: Landmarks, X: sparse.csr_array) -> np.ndarray:
    return model.model_.scorer.score(append_bias(X), np.float64)
