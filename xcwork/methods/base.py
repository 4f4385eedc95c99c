"""The contract every method fulfils: declared once as a dataclass, used everywhere.

    @dataclass(kw_only=True, eq=False)
    class NearestDocuments(Method):
        \"\"\"Vote of the nearest training documents.\"\"\"
        neighbours: int = param(20, "number of training documents that vote", low=1, high=10_000)

        model_type = NearestDocumentsModel

The fields are the hyper-parameters. The constructor, `get_params`, the command line, the form of the dashboard and the
saved `config.json` all follow from that declaration. A method implements `_fit`, which returns a `FittedModel`: frozen,
with the parameters it was trained with, its arrays and the verbs `predict` and `explain`. What is common to all methods
(validation, text input, filter pairs, label names, saving) happens here.

As in scikit-learn, the attributes of a method are for the next `fit`. Predictions, explanations and saved models follow
`model_.params`; only parameters declared with `at_prediction`, such as `beam` and `device`, take effect immediately.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from xcwork.compute.device import is_available, limit_threads
from xcwork.compute.device_memory import explain_lack_of_memory
from xcwork.core.data_sizes import DataSizes
from xcwork.core.explanation import Explanation, Part
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.decisions.calibration import Calibration
from xcwork.decisions.stored_calibration import read_calibration, write_calibration
from xcwork.errors import ConfigError, DataError, NotFittedError, XcworkError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.common.model_calls import predict_in_parts, predict_row
from xcwork.methods.inputs import (
    Candidates,
    Documents,
    check_width,
    read_candidates,
    read_documents,
    read_one_row,
    read_split,
    read_texts,
)
from xcwork.methods.model import FittedModel, Misfit, Params
from xcwork.methods.names import find_class, find_name, list_usable_methods
from xcwork.methods.params import Parameter, Parametrised, Preset, device_param, param
from xcwork.progress import Callback, listen
from xcwork.storage.state import read_state, register_storable, write_state

__all__ = ["Capabilities", "Explanation", "Method", "Parameter", "Part", "Preset", "TopK", "device_param", "param"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Capabilities:
    """What a method can do. Pages and commands read this instead of trying and failing."""

    zero_shot: bool = False
    exact_explanations: bool = False
    aggregated_labels: bool = False
    gpu: bool = False  # some of it runs on a device; the next two say what, in a few words
    gpu_training: str = ""
    gpu_prediction: str = ""
    resumable: bool = False
    needs_label_text: bool = False
    reads_text: bool = False  # the text itself rather than features made of it
    ranks: bool = False  # several processes can share its labels, see `xcwork.compute.ranks`


@register_storable
@dataclass(kw_only=True, eq=False)
class Method(Parametrised, ABC):
    """Base of every method."""

    seed: int = param(0, "seed of everything random", low=0)
    model_: FittedModel = field(init=False, repr=False)  # there after `fit`

    title: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    capabilities: ClassVar[Capabilities] = Capabilities()
    model_type: ClassVar[type[FittedModel]]
    learns_from_labels: ClassVar[bool] = True  # False: it can be trained where no document has a label

    @abstractmethod
    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> FittedModel:
        """Learn from `train`, resuming from `checkpoint`; `self._collect_facts(train)` are the common fields."""

    def estimate_device_bytes(self, sizes: DataSizes) -> int | None:
        """Return about how much memory of a device a training takes; None: not known, or nothing of it runs there."""
        return None

    # ---- the verbs

    def fit(self, train: Split, *, callbacks: Iterable[Callback] = (), checkpoint: Checkpoint | None = None) -> Self:
        """Train on a split; what was learned before is replaced.

        Parameters
        ----------
        train : Split
            Documents with their labels, such as `dataset.train`.
        callbacks : iterable of Callback
            Informed of progress; one that returns True from `on_step` stops the training.
        checkpoint : Checkpoint, optional
            Where a resumable method keeps its state, and what it resumes from.
        """
        self.validate()  # while nothing is forgotten yet
        vars(self).pop("model_", None)
        train = read_split(train)
        if train.n_documents == 0 or train.n_labels == 0:
            raise DataError("there are no documents or no labels to train on")
        if self.capabilities.needs_label_text and train.labels.Z is None:
            without = [n for n in list_usable_methods() if not find_class(n).capabilities.needs_label_text]
            raise DataError(
                f"{type(self).__name__} needs label text or label features, and this dataset has neither",
                remedy=f"add a labels file, or use one of {', '.join(without)}",
            )
        if self.learns_from_labels and train.Y.nnz == 0:
            raise DataError("no training document has a label", remedy="check the label column or the label file")
        with listen(callbacks), explain_lack_of_memory(getattr(self, "device", "cpu")):
            model = self._fit(train, checkpoint).compact()
        try:
            model.check_finite()
        except Misfit as problem:
            raise ConfigError(
                f"the training of {type(self).__name__} diverged: {problem}; use a smaller step size or stronger "
                "regularisation, and look for extreme values among the features"
            ) from None
        self.model_ = model
        return self

    def predict(
        self,
        documents: Documents,
        k: int = 5,
        *,
        among: Candidates | None = None,
        proba: bool = False,
        callbacks: Iterable[Callback] = (),
    ) -> TopK:
        """Return the k best labels of every document.

        Parameters
        ----------
        documents : Split, csr_array, str or sequence of str
            A split (whose filter pairs never appear), feature rows, a text, or several texts.
        k : int
            Labels per document.
        among : array of int or bool, optional
            Candidates: label ids, or a mask with one bool per label. They change neither scores nor probabilities.
        proba : bool
            Whether to add the probability that each label is right; needs a calibration.

        Returns
        -------
        TopK
            Ids, scores and, where asked for, probabilities, ordered by score, then by id.
        """
        model = self._get_current_model()
        if isinstance(k, bool) or not isinstance(k, int | np.integer):
            raise ConfigError(f"k must be a whole number, got {k!r}")
        if k < 1:
            raise ConfigError(f"k must be at least 1, got {k}")
        callbacks = tuple(callbacks)
        is_plain = among is None and not (proba or callbacks) and type(self).read_matrix is Method.read_matrix
        if is_plain and (x := read_one_row(documents)) is not None:
            return predict_row(model, x, min(int(k), model.n_labels), getattr(self, "device", "cpu"))
        with listen(callbacks):  # a sentence encoder takes its time over texts
            X = self.read_matrix(documents)
        n_shown = min(int(k), model.n_labels)
        pairs = documents.filter_pairs if isinstance(documents, Split) else None
        spare = 0 if pairs is None or len(pairs) == 0 else int(np.bincount(pairs[:, 0]).max())
        candidates = read_candidates(among, model.n_labels)
        wanted = min(int(k) + spare, model.n_labels if candidates is None else len(candidates))
        calibration = self._require_calibration() if proba else None
        if X.shape[0] == 0 or wanted == 0:
            nothing = np.zeros((X.shape[0], n_shown), np.float32) if proba else None
            return replace(TopK.make_empty(X.shape[0], n_shown), labels=model.labels, probabilities=nothing)
        with listen(callbacks), limit_threads(X.shape[0]):
            found = predict_in_parts(model, X, wanted, candidates, getattr(self, "device", "cpu"))
        if pairs is not None and spare:
            found = found.drop_pairs(pairs)
        found = found.head(n_shown).name_labels(model.labels)
        if calibration is None:
            return found
        if candidates is None:
            return calibration.apply(found, model.label_frequencies)
        best = self.predict(documents, calibration.depth, callbacks=callbacks)
        return calibration.apply_among(found, model.label_frequencies, best)

    def explain(self, document: Documents, label: int | str) -> Explanation:
        """Return why a label has its score for one document.

        Parameters
        ----------
        document : Split, csr_array or str
            One document in any form that `predict` takes.
        label : int or str
            Its id, name or uid.

        Returns
        -------
        Explanation
            Parts that add up to the score where `exact` is true; `group()` puts them into families and words.
        """
        model = self._get_current_model()
        x = self.read_matrix(document)
        if x.shape[0] != 1:
            raise DataError(f"explain takes one document, got {x.shape[0]}")
        label = model.labels.find_id(label)
        is_filtered = isinstance(document, Split) and label in document.list_filtered_labels(0)
        with limit_threads(1):
            found = self._explain(document, x, label)
            best = model.predict(x, 1, np.array([label]))
        predicted = float(best.scores[0, 0]) if best.get_row(0) else None
        vectorizer = model.features.vectorizer
        return replace(
            found.compare_with(predicted),
            label=model.labels.names[label],
            is_filtered=is_filtered,
            has_words=vectorizer is not None and vectorizer.tokens != "subwords",
        )

    def _explain(self, document: Documents, x: sparse.csr_array, label: int) -> Explanation:
        """Return what the model says; a method that needs the text itself finds it in `document`."""
        return self._get_current_model().explain(x, label)

    def add_labels(self, texts: Sequence[str], names: Sequence[str] | None = None) -> np.ndarray:
        """Add labels by their texts, without training. Zero-shot methods only.

        Parameters
        ----------
        texts : sequence of str
            What describes each label.
        names : sequence of str, optional
            What each label is called; by default its text.

        Returns
        -------
        array of int
            The ids of the new labels.
        """
        model = self._get_current_model()
        if not self.capabilities.zero_shot:
            able = [n for n in list_usable_methods() if find_class(n).capabilities.zero_shot]
            raise ConfigError(
                f"{type(self).__name__} cannot predict labels it was not trained on; {', '.join(able)} can"
            )
        if isinstance(texts, str):
            raise ConfigError("add_labels takes a list of texts; put the one text into a list")
        texts = read_texts(texts, "label")
        names = texts if names is None else read_texts(names, "name")
        if len(names) != len(texts):
            raise ConfigError(f"there are {len(texts)} texts but {len(names)} names")
        features = model.labels.features or model.features
        Z = features.transform(texts)
        self.model_ = model.add_labels(model.labels.extend(names, texts, Z), Z)
        return np.arange(model.n_labels, self.model_.n_labels)

    def label_embeddings(self) -> np.ndarray | sparse.csr_array | None:
        """Return one row per label, for neighbours and the map; None when the method has none."""
        return self._get_current_model().label_embeddings()

    def diagnose(self, split: Split) -> dict[str, float]:
        """Return numbers about the model on `split` that metrics do not show, such as the recall of a shortlist."""
        return self._get_current_model().diagnose(split)

    def read_matrix(self, documents: Documents) -> sparse.csr_array:
        """Return documents in any accepted form as rows of the features this model was trained on."""
        given = read_documents(documents)
        features = self._get_current_model().features
        X = features.transform(given) if isinstance(given, list) else given
        check_width(X, features.size)
        return X

    # ---- what was learned

    @property
    def labels_(self) -> LabelSpace:
        """The labels that can be predicted."""
        return self._get_current_model().labels

    @property
    def features_(self) -> Features:
        """The features of the documents."""
        return self._get_current_model().features

    @property
    def label_frequencies_(self) -> np.ndarray:
        """The number of training documents of each label, (n_labels,)."""
        return self._get_current_model().label_frequencies

    @property
    def calibration_(self) -> Calibration | None:
        """What turns scores into probabilities; None until `set_calibration`."""
        return self._get_current_model().calibration

    def set_calibration(self, calibration: Calibration | None) -> None:
        """Use another calibration for the same model (`xcwork.methods.calibrating` learns one), or none."""
        self.model_ = self._get_current_model().attach_calibration(calibration)

    def _require_calibration(self) -> Calibration:
        if self.calibration_ is None:
            raise ConfigError(
                "this model has no calibration, so it gives no probabilities; train again or run "
                "`xcwork calibrate RUN DATA`"
            )
        return self.calibration_

    def _get_current_model(self) -> FittedModel:
        """Return what was learned, with the parameters for predicting as they are now."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"{type(self).__name__} has not been trained; call fit first")
        params = self.model_.params
        changed = {
            name: declared.check(getattr(self, name))
            for name, declared in self.list_prediction_parameters()
            if getattr(self, name) != params[name]
        }
        if changed:
            self.model_ = replace(self.model_, params=params | changed)
        return self.model_

    def _collect_facts(self, train: Split) -> dict[str, Any]:
        """Return the fields that every model has."""
        return {
            "params": Params(self.get_params()),
            "labels": train.labels,
            "features": train.features,
            "label_frequencies": train.label_frequencies,
        }

    # ---- saving

    def to_state(self) -> dict[str, Any]:
        """Return name, parameters and everything learned."""
        model = self._get_current_model()
        return {"method": find_name(type(self)), "params": dict(model.params), "learned": model.to_state()}

    @staticmethod
    def from_state(state: dict[str, Any]) -> Method:
        """Return the method that `to_state` described."""
        method: Method = find_class(state["method"]).from_params(state["params"])
        try:
            method.model_ = method.model_type.from_state(Params(method.get_params()), state["learned"])
        except Misfit as problem:
            raise DataError(
                f"this version of {state['method']} cannot use the stored model: {problem}",
                remedy="train it again, or use the version of xcwork that saved it",
            ) from None
        return method

    def save(self, folder: str | Path) -> None:
        """Store the trained method below `folder`, with its calibration."""
        self._get_current_model()
        write_state(folder, {"model": self})
        if self.calibration_ is not None:
            self.save_calibration(folder)

    def save_calibration(self, folder: str | Path) -> None:
        """Store only the calibration, in the folder of the same model."""
        write_calibration(folder, self._require_calibration())

    @staticmethod
    def load(folder: str | Path) -> Method:
        """Return the trained method that `save` stored. Nothing in the folder is executed.

        A damaged calibration is left out, with a note in the log: no probability is better than a wrong one.
        """
        try:
            model = read_state(folder).get("model")
        except DataError as refusal:
            raise DataError(refusal.problem, file=folder, remedy=refusal.remedy) from None
        if not isinstance(model, Method):
            raise DataError("this folder does not hold a model", file=folder)
        device = getattr(model, "device", "auto")
        if not is_available(device):
            log.warning("there is no %s here, where the model was last used; device is auto now", device)
            model.set_params(device="auto")
        try:
            model.set_calibration(read_calibration(folder))
        except XcworkError as damage:
            log.warning("the model is used without its calibration: %s", damage)
        return model
