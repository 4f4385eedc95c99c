"""Datasets that never were in memory: written block by block, and read as a folder that training streams from.

    with DatasetWriter("big", n_features=1_000_000, label_names=names) as writer:
        for X, Y in blocks:          # CSR blocks of documents × features and documents × labels
            writer.train.add(X, Y)
        writer.test.add(X_test, Y_test)

    xcwork train flat --data big     # or load_dataset("big"): the matrices are mapped, not read

Such a folder is what `Dataset.save` writes, so a dataset in memory becomes one with `dataset.save(folder)`.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.storage.mapped_arrays import RowFiles


class SplitWriter:
    """Collects the documents of one split."""

    def __init__(self, folder: Path, n_features: int, n_labels: int) -> None:
        self._X, self._Y = RowFiles(folder / "X", n_features), RowFiles(folder / "Y", n_labels)

    def add(self, X: sparse.csr_array, Y: sparse.csr_array) -> None:
        """Append the next documents with their labels."""
        for what, rows, width in (("X", X, self._X.n_columns), ("Y", Y, self._Y.n_columns)):
            if rows.shape[1] != width:
                raise DataError(f"a block of {what} has {rows.shape[1]} columns, but the dataset has {width}")
        if X.shape[0] != Y.shape[0]:
            raise DataError(f"a block has {X.shape[0]} documents in X but {Y.shape[0]} in Y")
        self._X.add(X)
        self._Y.add(Y)

    def make_split(self, labels: LabelSpace, features: Features) -> Split:
        """Return all documents, mapped from their files."""
        return Split(self._X.map_matrix(), self._Y.map_matrix(), labels, features)


class DatasetWriter:
    """Writes a dataset folder with the memory of one block; it appears when everything is in it."""

    def __init__(
        self,
        folder: str | Path,
        *,
        n_features: int,
        label_names: Sequence[str],
        feature_names: Sequence[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        if self.folder.exists():
            raise DataError("this folder exists already", file=folder, remedy="choose a new one")
        self._name = name or self.folder.name
        self._labels = LabelSpace(list(label_names))
        self._features = Features(n_features, None if feature_names is None else list(feature_names))
        self._scratch = self.folder.parent / f".{self.folder.name}.{uuid.uuid4().hex[:8]}.tmp"
        self.train, self.test = (
            SplitWriter(self._scratch / part, n_features, len(self._labels)) for part in ("train", "test")
        )

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                train, test = (part.make_split(self._labels, self._features) for part in (self.train, self.test))
                Dataset(self._name, train, test, source="xcwork dataset folder").save(self.folder)
        finally:
            shutil.rmtree(self._scratch, ignore_errors=True)
