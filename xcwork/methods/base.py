"""The contract every method fulfils: declared once as a dataclass, used everywhere.

    @dataclass(kw_only=True, eq=False)
    class NearestDocuments(Method):
        \"\"\"Vote of the nearest training documents.\"\"\"
        neighbours: int = param(20, "training documents that vote", low=1, high=10_000)

The fields are the hyper-parameters. The constructor, `get_params`, the command line, the form of the dashboard and the
saved `config.json` all follow from that declaration. A method implements `_fit`, `_predict` and `_explain`; what is
common to all (validation, text input, filter pairs, label names, saving) happens here. Learned attributes end in an
underscore: they are what `save` stores and what a new `fit` forgets. The hyper-parameters of a trained method are those
it was trained with; `set_params` is for the next `fit`.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from xcwork.compute.device import threads_for
from xcwork.core.explanation import Explanation, Part
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError, NotFittedError
from xcwork.methods import registry
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.inputs import Candidates, Documents, read_candidates, read_documents, read_split, read_texts
from xcwork.methods.layout import Check, Misfit, check_finite, check_stored, compact
from xcwork.methods.params import Parameter, param
from xcwork.progress import Callback, listening
from xcwork.storage.state import read_state, storable, write_state

__all__ = ["Capabilities", "Explanation", "Method", "Parameter", "Part", "TopK", "param"]


@dataclass(frozen=True)
class Capabilities:
    """What a method can do. Pages and commands read this instead of trying and failing."""

    zero_shot: bool = False
    exact_explanations: bool = False
    aggregated_labels: bool = False
    gpu: bool = False
    resumable: bool = False
    needs_label_text: bool = False
    ranks: bool = False  # several processes can share its labels, see `xcwork.compute.ranks`


@storable
@dataclass(kw_only=True, eq=False)
class Method(ABC):
    """Base of every method."""

    seed: int = param(0, "seed of everything random", low=0)

    title: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    capabilities: ClassVar[Capabilities] = Capabilities()
    layout: ClassVar[Mapping[str, Check]] = {}  # what it learns, beyond what all methods keep; see `layout.py`

    # ---- the three things a method implements

    @abstractmethod
    def _fit(self, train: Split) -> None:
        """Learn from `train`. `labels_`, `features_` and `label_frequencies_` are already set."""

    @abstractmethod
    def _predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """Return the k best labels of each row of `X`; `among` (ascending ids) limits the candidates, None means all.

        A limit changes no score: the answer is the full ranking without the other labels.
        """

    @abstractmethod
    def _explain(self, x: sparse.csr_array, label: int) -> Explanation:
        """Why `label` has its score for the one document `x` (1, n_features); `explain` finds out if that is exact."""

    # ---- what a method may refine

    def _add_labels(self, Z: sparse.csr_array) -> None:
        """Make the new labels, already at the end of `labels_`, take part in predictions."""

    def label_embeddings(self) -> np.ndarray | sparse.csr_array | None:
        """One row a label, for neighbours and the map; None when the method has none."""
        return None

    def diagnostics(self, split: Split) -> dict[str, float]:
        """Numbers about this model on `split` that metrics do not show, such as the recall of a shortlist."""
        return {}

    # ---- parameters

    @classmethod
    @cache
    def parameters(cls) -> Mapping[str, Parameter]:
        """The declared hyper-parameters by name."""
        hints = typing.get_type_hints(cls)
        return MappingProxyType({field.name: Parameter.from_field(field, hints[field.name]) for field in fields(cls)})

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        """An instance with `params`, refusing names and values it does not know."""
        known = cls.parameters()
        for name in params:
            if name not in known:
                raise ConfigError(f"{cls.__name__} has no parameter {name!r}; it has {', '.join(known)}")
        method = cls(**params)
        method.validate()
        return method

    def get_params(self) -> dict[str, Any]:
        """Return the hyper-parameters that the next `fit` uses."""
        return self._own_params() | self._requested

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters for the next `fit`.

        A trained method keeps those it was trained with: they remain its attributes, and predictions, explanations and
        saved models follow them until the next `fit`. Only parameters declared with `at_prediction`, such as `beam` and
        `device`, say nothing about what was learned; they take effect immediately.
        """
        wanted = self.from_params(self.get_params() | params)
        changed = {name: getattr(wanted, name) for name in params}
        requested = {name: value for name, value in changed.items() if self._keeps(name)}
        for name in changed.keys() - requested.keys():
            setattr(self, name, changed[name])
        if requested:
            self._requested = {**self._requested, **requested}
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if self._keeps(name):
            raise ConfigError(
                f"this {type(self).__name__} is trained and keeps its {name}; use set_params for the next fit"
            )
        if name in self.parameters():
            self._drop_caches()
        super().__setattr__(name, value)

    def _keeps(self, name: str) -> bool:
        """Tell whether `name` is a hyper-parameter that what was learned depends on."""
        return "labels_" in vars(self) and name in (known := self.parameters()) and not known[name].at_prediction

    def _drop_caches(self) -> None:
        """Drop what was only prepared for predicting: attributes that start with an underscore."""
        for name in [name for name in vars(self) if name.startswith("_") and name != "_requested"]:
            delattr(self, name)

    def _own_params(self) -> dict[str, Any]:
        """Return the hyper-parameters that the learned attributes, if there are some, were learned with."""
        return {name: getattr(self, name) for name in self.parameters()}

    def validate(self) -> None:
        """Check every hyper-parameter against its declaration."""
        for name, declared in self.parameters().items():
            setattr(self, name, declared.check(getattr(self, name)))

    # ---- the verbs

    def fit(self, train: Split, *, callbacks: Iterable[Callback] = (), checkpoint: Checkpoint | None = None) -> Self:
        """Train on `train`, forgetting any earlier training. A resumable method goes on from `checkpoint`."""
        wanted = self.from_params(self.get_params())  # refuses them while nothing is forgotten yet
        self._forget()
        vars(self).update(wanted._own_params())
        train = read_split(train)
        if train.n_documents == 0 or train.n_labels == 0:
            raise DataError("there are no documents or no labels to train on")
        if self.capabilities.needs_label_text and train.labels.Z is None:
            without = [n for n in registry.METHODS if not registry.method_class(n).capabilities.needs_label_text]
            raise DataError(
                f"{type(self).__name__} needs label text or label features, and this dataset has neither",
                remedy=f"add a labels file, or use one of {', '.join(without)}",
            )
        self.labels_, self.features_ = train.labels, train.features
        self.label_frequencies_ = train.label_frequencies
        self._checkpoint = checkpoint
        try:
            with listening(callbacks):
                self._fit(train)
            for name in self.layout:
                if hasattr(self, name):
                    setattr(self, name, compact(getattr(self, name)))
            self._check_convergence()
        except BaseException:
            self._forget()
            raise
        finally:
            self._checkpoint = None
        return self

    def predict(
        self, documents: Documents, k: int = 5, *, among: Candidates | None = None, callbacks: Iterable[Callback] = ()
    ) -> TopK:
        """Return the k best labels of every document: a split, a feature matrix, a text, or a list or array of texts.

        `among` limits the candidates: label ids, or a mask with one bool per label. Filter pairs of a split never
        appear.
        """
        self._check_fitted()
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise ConfigError(f"k must be a whole number, got {k!r}")
        if k < 1:
            raise ConfigError(f"k must be at least 1, got {k}")
        X = self.matrix_of(documents)
        pairs = documents.filter_pairs if isinstance(documents, Split) else None
        spare = 0 if pairs is None or len(pairs) == 0 else int(np.bincount(pairs[:, 0]).max())
        candidates = read_candidates(among, len(self.labels_))
        wanted = min(k + spare, len(self.labels_) if candidates is None else len(candidates))
        if X.shape[0] == 0 or wanted == 0:
            return replace(TopK.empty(X.shape[0], min(k, len(self.labels_))), labels=self.labels_)
        with listening(callbacks), threads_for(X.shape[0]):
            found = self._predict(X, wanted, candidates)
        if spare:
            found = found.without(pairs)
        return replace(found.head(min(k, len(self.labels_))), labels=self.labels_)

    def explain(self, document: Documents, label: int | str) -> Explanation:
        """Why `label` (id, name or uid) has its score for one document."""
        self._check_fitted()
        x = self.matrix_of(document)
        if x.shape[0] != 1:
            raise DataError(f"explain takes one document, got {x.shape[0]}")
        label = self.labels_.id_of(label)
        is_filtered = isinstance(document, Split) and label in document.filtered_labels(0)
        with threads_for(1):
            found, best = self._explain(x, label), self._predict(x, 1, np.array([label]))
        predicted = float(best.scores[0, 0]) if best.row(0) else None
        name = self.labels_.names[label]
        return replace(found.compared_with(predicted), label=name, is_filtered=is_filtered)

    def add_labels(self, texts: Sequence[str], names: Sequence[str] | None = None) -> np.ndarray:
        """New labels from their texts, without training; returns their ids. Zero-shot methods only."""
        self._check_fitted()
        if not self.capabilities.zero_shot:
            able = [n for n in registry.METHODS if registry.method_class(n).capabilities.zero_shot]
            raise ConfigError(
                f"{type(self).__name__} cannot predict labels it was not trained on; {', '.join(able)} can"
            )
        if isinstance(texts, str):
            raise ConfigError("add_labels takes a list of texts; put the one text into a list")
        texts = read_texts(texts, "label")
        names = texts if names is None else read_texts(names, "name")
        if len(names) != len(texts):
            raise ConfigError(f"there are {len(texts)} texts but {len(names)} names")
        features = self.labels_.features or self.features_
        Z = features.transform(texts)
        first = len(self.labels_)
        self.labels_ = self.labels_.extended(names, texts, Z)
        self.label_frequencies_ = np.concatenate([self.label_frequencies_, np.zeros(len(names), np.int64)])
        self._add_labels(Z)
        return np.arange(first, len(self.labels_))

    def matrix_of(self, documents: Documents) -> sparse.csr_array:
        """Documents in any accepted form as rows of the features this model was trained on."""
        given = read_documents(documents)
        X = self.features_.transform(given) if isinstance(given, list) else given
        if X.shape[1] != self.features_.size:
            raise DataError(
                f"the documents have {X.shape[1]} features, but the model was trained on {self.features_.size}"
            )
        return X

    # ---- saving

    def to_state(self) -> dict[str, Any]:
        """Name, parameters and learned attributes."""
        return {"method": registry.name_of(type(self)), "params": self._own_params(), "learned": self._learned()}

    @staticmethod
    def from_state(state: dict[str, Any]) -> Method:
        """The method that `to_state` described."""
        method = registry.create(state["method"], **state["params"])
        try:
            check_stored(method, state["learned"])
            vars(method).update(state["learned"])
            method._check_learned()
        except Misfit as problem:
            raise DataError(
                f"this version of {state['method']} cannot use the stored model: {problem}",
                remedy="train it again, or use the version of xcwork that saved it",
            ) from None
        return method

    def save(self, folder: str | Path) -> None:
        """Store the trained method below `folder`."""
        self._check_fitted()
        write_state(folder, {"model": self})

    @staticmethod
    def load(folder: str | Path) -> Method:
        """The trained method that `save` stored. Nothing in the folder is executed."""
        try:
            model = read_state(folder).get("model")
        except DataError as refusal:
            raise DataError(refusal.problem, file=folder, remedy=refusal.remedy) from None
        if not isinstance(model, Method):
            raise DataError("this folder does not hold a model", file=folder)
        return model

    def _check_learned(self) -> None:
        """What `layout` cannot say about stored attributes; a `Misfit` refuses them."""

    def _check_convergence(self) -> None:
        """Refuse weights that a training ran away with."""
        try:
            check_finite(self._learned(), self.layout)
        except Misfit as problem:
            raise ConfigError(
                f"the training of {type(self).__name__} diverged: {problem}; use a smaller step size or stronger "
                "regularisation, and look for extreme values among the features"
            ) from None

    def _learned(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def _check_fitted(self) -> None:
        if not hasattr(self, "labels_"):
            raise NotFittedError(f"{type(self).__name__} has not been trained; call fit first")

    def _forget(self) -> None:
        """Drop everything but the hyper-parameters."""
        for name in vars(self).keys() - self.parameters().keys():
            delattr(self, name)

    labels_: ClassVar[LabelSpace]
    features_: ClassVar[Features]
    label_frequencies_: ClassVar[np.ndarray]
    _checkpoint: ClassVar[Checkpoint | None] = None
    _requested: ClassVar[Mapping[str, Any]] = MappingProxyType({})  # by set_params since the training
