"""Documents about topics that name their labels, with predictions of any quality: a dataset to review."""

from __future__ import annotations

import numpy as np

from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit

N_TOPICS = 6


def make_topics(n_train: int = 60, n_test: int = 30, *, uids: bool = True, seed: int = 0, tag: str = "") -> Dataset:
    """Return documents with two of six topics each; each text names its topics."""
    rng = np.random.default_rng(seed)

    def make_split(prefix: str, size: int) -> RawSplit:
        topics = [sorted(rng.choice(N_TOPICS, 2, replace=False).tolist()) for _ in range(size)]
        return RawSplit(
            texts=[f"{prefix}{tag} number{i} about topic{a} and topic{b}" for i, (a, b) in enumerate(topics)],
            labels=[[f"L{a}", f"L{b}"] for a, b in topics],
            uids=[f"{prefix}{i}" for i in range(size)] if uids else None,
        )

    names = [f"L{topic}" for topic in range(N_TOPICS)]
    return build_dataset(
        RawDataset(train=make_split("train", n_train), test=make_split("test", n_test), labels=RawLabels(names=names)),
        name="topics",
    )


def predict_by_name(dataset: Dataset, split: str = "test", seed: int = 0) -> TopK:
    """Return all labels of every document, those that its text names first; the scores have some noise."""
    part = dataset.train if split == "train" else dataset.test
    assert part.texts is not None
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=0.1, size=(len(part), N_TOPICS)).astype(np.float32)
    for row, text in enumerate(part.texts):
        scores[row] += [f"topic{name.removeprefix('L')}" in text.split() for name in dataset.labels.names]
    order = np.argsort(-scores, axis=1, kind="stable").astype(np.int32)
    return TopK(order, np.take_along_axis(scores, order, axis=1), dataset.labels)
