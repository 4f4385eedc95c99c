"""A test split in the terms of a model that was trained on other data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import sparse

from xcwork.analysis.alignment import align_dataset
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.split import Split
from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.errors import DataError
from xcwork.methods.base import Capabilities, Explanation, Method, TopK
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.model import FittedModel
from xcwork.metrics import evaluate
from xcwork.search.exact import top_k_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchModel(FittedModel):
    """Scores a label by what its text shares with the document."""

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        found = top_k_rows(X @ self.labels.Z.T, self.n_labels)
        return (found if among is None else found.keep_labels(among)).head(k)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False)
class Match(Method):
    """Learns nothing: the texts of labels are all it needs."""

    capabilities = Capabilities(zero_shot=True)
    model_type = MatchModel

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> MatchModel:
        return MatchModel(**self._collect_facts(train))


@dataclass(kw_only=True, eq=False)
class Fixed(Match):
    """The same without new labels."""

    capabilities = Capabilities()


def dataset(name: str, *, uids: bool = False, **texts: str) -> Dataset:
    """One document a label, in train and test; `label="document text"`."""
    labels = [[f"id-{label}" if uids else label] for label in texts]
    split = RawSplit(texts=list(texts.values()), labels=labels)
    known = RawLabels(names=list(texts), uids=[f"id-{label}" for label in texts] if uids else None)
    return build_dataset(RawDataset(split, split, known), name=name)


HOME = dataset("home", apple="sweet apple pie", wine="red wine glass", bread="fresh bread crust")


def test_the_data_of_the_run_itself_stays_as_it_is() -> None:
    aligned, remarks = align_dataset(HOME, HOME, Fixed().fit(HOME.train))
    assert aligned is HOME
    assert remarks == []


def test_texts_and_labels_are_expressed_in_the_models_own_columns() -> None:
    other = dataset("other", wine="glass of wine", apple="apple harvest")  # another order, another vocabulary
    model = Fixed().fit(HOME.train)
    aligned, remarks = align_dataset(other, HOME, model)
    assert remarks == []
    assert aligned.name == "other"
    assert aligned.labels.names == ["apple", "wine", "bread"]
    assert aligned.test.Y.toarray().tolist() == [[0, 1, 0], [1, 0, 0]]
    assert aligned.test.X.shape[1] == HOME.features.size
    report = evaluate(model, aligned)
    assert report.metrics["P@1"] == pytest.approx(100.0)


def test_labels_are_matched_by_uid_where_both_sides_have_them() -> None:
    mine = dataset("home", uids=True, apple="apple pie", wine="red wine")
    renamed = dataset("other", uids=True, wine="wine", apple="apple")
    labels = replace(renamed.labels, names=["vin", "pomme"])
    renamed = replace(renamed, train=replace(renamed.train, labels=labels), test=replace(renamed.test, labels=labels))
    aligned, _ = align_dataset(renamed, mine, Fixed().fit(mine.train))
    assert aligned.test.Y.toarray().tolist() == [[0, 1], [1, 0]]


def test_unknown_labels_are_left_out_with_a_remark() -> None:
    other = dataset("other", apple="apple", cheese="old cheese")
    aligned, remarks = align_dataset(other, HOME, Fixed().fit(HOME.train))
    assert remarks == ["1 labels are unknown to the run; 1 of 2 test positives are left out"]
    assert aligned.test.Y.toarray().tolist() == [[1, 0, 0], [0, 0, 0]]


def test_a_zero_shot_model_takes_unknown_labels_by_their_text_as_unseen_ones() -> None:
    other = dataset("other", apple="apple", crust="bread with a crust")
    model = Match().fit(HOME.train)
    aligned, remarks = align_dataset(other, HOME, model)
    assert remarks == ["1 labels the run was not trained on take part through their text"]
    assert aligned.labels.names == ["apple", "wine", "bread", "crust"]
    assert aligned.train.label_frequencies.tolist() == [1, 1, 1, 0]
    assert aligned.test.Y.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]
    assert evaluate(model, aligned).unseen["P@1"] == pytest.approx(100.0)


def test_filter_pairs_follow_their_labels() -> None:
    other = dataset("other", wine="wine", cheese="cheese", apple="apple")
    pairs = np.array([[0, 2], [1, 1], [2, 0]])  # apple, cheese, wine
    other = replace(other, test=replace(other.test, filter_pairs=pairs))
    aligned, _ = align_dataset(other, HOME, Fixed().fit(HOME.train))
    assert aligned.test.filter_pairs.tolist() == [[0, 0], [2, 1]]


def _without_text(data: Dataset, size: int) -> Dataset:
    features = Features(size)
    X = sparse.csr_array(np.eye(len(data.test), size, dtype=np.float32))
    train, test = (replace(part, X=X, features=features, texts=None) for part in (data.train, data.test))
    return replace(data, train=train, test=test)


def test_ready_made_features_must_be_the_very_same_columns() -> None:
    mine = _without_text(HOME, 6)
    model = Fixed().fit(mine.train)
    same = _without_text(dataset("other", apple="a", wine="b", bread="c"), 6)
    same = replace(same, test=replace(same.test, X=same.test.X * 2))
    assert (align_dataset(same, mine, model)[0].test.X != same.test.X).nnz == 0
    for stranger in (_without_text(HOME, 7), dataset("text", apple="red apple")):
        with pytest.raises(DataError, match="cannot be expressed"):
            align_dataset(stranger, mine, model)


def test_data_without_a_common_label_is_refused() -> None:
    with pytest.raises(DataError, match="no label in common"):
        align_dataset(dataset("other", steel="steel beam"), HOME, Fixed().fit(HOME.train))
