"""What a training gives: a frozen model whose parameters and arrays belong together.

    @dataclass(frozen=True, kw_only=True, eq=False)
    class OneVsAllModel(FittedModel):
        weights: sparse.csr_array  # (n_features, n_labels)
        bias: np.ndarray = with_gaps()  # (n_labels,), NaN for a label without a classifier

        def check(self) -> None:
            check_csr("weights", self.weights, (self.n_features, self.n_labels))
            check_array("bias", self.bias, (self.n_labels,))

The fields are all that is learned and all that is stored. A change makes a new object, so whatever a model prepares for
predicting (a `cached_property`) belongs to exactly these fields and is dropped with them.

`check` rejects a file of another version, a damaged one or an untrusted one with a clear message. Kernels index without
bounds checks, so whatever they index with says what it must stay `below`. All numbers are finite, because a single
NaN would spread to every score; an array in which NaN means that something does not exist is declared `with_gaps`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from xcwork.core.explanation import Explanation
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.decisions.calibration import Calibration
from xcwork.sparse import narrow_indices
from xcwork.storage.mapped_arrays import is_finite

GAPS = "gaps"  # NaN stands for what does not exist
ANYTHING = "anything"  # nothing is computed from these numbers


class Misfit(ValueError):
    """A stored value is not what the method would have stored."""


class Params(Mapping[str, Any]):
    """Hyper-parameters that do not change any more, by name or as attributes: `params["C"]`, `params.C`."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __len__(self) -> int:
        return len(self.__dict__)

    def __getattr__(self, name: str) -> Any:  # only for names that are not there
        raise AttributeError(f"there is no parameter {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{name} cannot change; make new parameters with `params | {{{name!r}: …}}`")

    def __or__(self, others: Mapping[str, Any]) -> Params:
        return Params({**self, **others})

    def __repr__(self) -> str:
        return f"Params({', '.join(f'{name}={value!r}' for name, value in self.items())})"


def with_gaps() -> Any:
    """Declare a learned array in which NaN stands for what does not exist."""
    return field(metadata={"may_hold": GAPS})


def for_display() -> Any:
    """Declare figures for a diagram, from which nothing is computed."""
    return field(metadata={"may_hold": ANYTHING})


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel(ABC):
    """Base of every trained model: what it was trained with, and the verbs."""

    params: Params
    labels: LabelSpace
    features: Features
    label_frequencies: np.ndarray  # (n_labels,) training documents of each label
    calibration: Calibration | None = None  # from scores to probabilities; stored beside the model, see `Method.save`

    @property
    def n_labels(self) -> int:
        return len(self.labels)

    @property
    def n_features(self) -> int:
        return self.features.size

    # ---- what a model implements

    @abstractmethod
    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        """Return the k best labels of each row of `X`; `among` (ascending ids) limits the candidates, None means all.

        A limit changes no score: the answer is the full ranking without the other labels.
        """

    @abstractmethod
    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        """Return why `label` has its score for the one document `x` (1, n_features)."""

    # ---- what a model may refine

    def check(self) -> None:
        """Raise `Misfit` where a field is not what a training would have given."""

    def extend(self, Z: sparse.csr_array) -> dict[str, Any]:
        """Return the fields that change when labels with the features `Z` join at the end of `labels`."""
        return {}

    def label_embeddings(self) -> np.ndarray | sparse.csr_array | None:
        """Return one row per label, for neighbours and the map; None when the method has none."""
        return None

    def diagnose(self, split: Split) -> dict[str, float]:
        """Return numbers about this model on `split` that metrics do not show, such as the recall of a shortlist."""
        return {}

    # ---- what all models share

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: what another process needs of the rest it prepares itself."""
        return {declared.name: getattr(self, declared.name) for declared in fields(self)}

    def add_labels(self, labels: LabelSpace, Z: sparse.csr_array) -> Self:
        """Return a model of `labels`, whose last ones are new and have the features `Z`."""
        new = np.zeros(len(labels) - self.n_labels, np.int64)
        frequencies = np.concatenate([self.label_frequencies, new])
        return replace(self, labels=labels, label_frequencies=frequencies, **self.extend(Z))

    def attach_calibration(self, calibration: Calibration | None) -> Self:
        """Return this model with another calibration, and with what it has prepared for predicting."""
        names = {declared.name for declared in fields(self)}
        calibrated = replace(self, calibration=calibration)
        vars(calibrated).update({name: value for name, value in vars(self).items() if name not in names})
        return calibrated

    def to_state(self) -> dict[str, Any]:
        """Return the learned fields in a form that `xcwork.storage.state` can store."""
        return {name: getattr(self, name) for name in self.list_learned_fields()}

    @classmethod
    def from_state(cls, params: Params, state: Mapping[str, Any]) -> Self:
        """Return the model that `to_state` described; `Misfit` where it is none."""
        names = cls.list_learned_fields()
        for name in names:
            if name not in state:
                raise Misfit(f"{name} is missing")
        for name in state:
            if name not in names:
                raise Misfit(f"{name} is unknown here")
        labels = state["labels"]
        features = state["features"]
        if not isinstance(labels, LabelSpace) or not isinstance(features, Features):
            raise Misfit("its labels or features are missing")
        model = cls(params=params, **cls.restore_fields(state))
        check_array("label_frequencies", model.label_frequencies, (len(labels),), kind="i")
        model.check_finite()
        if labels.Z is not None and labels.features is not None and labels.Z.shape[1] != labels.features.size:
            raise Misfit("its label features do not fit their names")
        if labels.Z is not None and not is_finite(labels.Z.data):
            raise Misfit("its label features are not finite")
        model.check()
        return model

    @classmethod
    def restore_fields(cls, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields from their stored forms; for a model that stores one in another form than it keeps."""
        return dict(state)

    @classmethod
    def list_learned_fields(cls) -> tuple[str, ...]:
        """Return the names of all fields but the parameters and the calibration."""
        return tuple(declared.name for declared in fields(cls) if declared.name not in ("params", "calibration"))

    def list_numbers(self) -> Mapping[str, Any]:
        """Return the fields in a form in which their numbers can be looked at."""
        return self.to_state()

    def check_finite(self) -> None:
        """Raise `Misfit` at NaN and infinite numbers wherever they are not expected."""
        may_hold = {declared.name: declared.metadata.get("may_hold") for declared in fields(self)}
        for name, value in self.list_numbers().items():
            if may_hold[name] == ANYTHING:
                continue
            if not all(is_finite(part, nan=may_hold[name] == GAPS) for part in find_real_numbers(value)):
                raise Misfit(f"{name} holds numbers that are not finite")

    def compact(self) -> Self:
        """Return this model with 32-bit indices in its sparse matrices where these are enough."""
        changed = {
            name: narrow(value) for name in self.list_learned_fields() if (value := getattr(self, name)) is not None
        }
        return replace(self, **changed)


def narrow(value: Any) -> Any:
    """Return a learned value whose sparse matrices have 32-bit indices where these are enough."""
    if isinstance(value, dict):
        return {name: narrow(item) for name, item in value.items()}
    return narrow_indices(value) if isinstance(value, sparse.csr_array) else value


def find_real_numbers(value: Any) -> Iterator[np.ndarray]:
    """Find the arrays of real numbers in a learned value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from find_real_numbers(item)
    elif isinstance(value, float):
        yield np.array(value)
    else:
        numbers = value.data if sparse.issparse(value) else value
        if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f":
            yield numbers


# ---- checks, each a `Misfit` that names the field


def check_array(
    name: str, value: Any, shape: tuple[int | None, ...], *, kind: str = "f", below: int | None = None
) -> None:
    """Check an array of real numbers (kind f), whole numbers (i) or bytes (u); whole ones lie from 0 to `below` - 1.

    None in `shape` allows any length.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind or (kind != "u" and value.itemsize < 4):
        raise Misfit(f"{name} is not an array of the right type")
    check_shape(name, value.shape, shape)
    if below is not None and value.size and not 0 <= value.min() <= value.max() < below:
        raise Misfit(f"{name} holds a number that is not below {below:,}")


def check_csr(name: str, value: Any, shape: tuple[int | None, ...]) -> None:
    """Check a sparse matrix of real numbers; its indices were checked when it was read."""
    if not isinstance(value, sparse.csr_array) or value.dtype not in (np.float32, np.float64):
        raise Misfit(f"{name} is not a sparse matrix of real numbers")
    check_shape(name, value.shape, shape)


def check_shape(name: str, found: tuple[int, ...], wanted: tuple[int | None, ...]) -> None:
    """Check the shape of an array; None in `wanted` allows any length."""
    if len(found) != len(wanted):
        raise Misfit(f"{name} has {len(found)} dimensions instead of {len(wanted)}")
    for length, expected in zip(found, wanted, strict=True):
        if expected is not None and length != expected:
            raise Misfit(f"{name} has {length:,} entries where {expected:,} are needed")


def check_number(name: str, value: Any) -> None:
    """Check a finite number that an array can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misfit(f"{name} is not a number")
    if (isinstance(value, int) and not -(2**63) <= value < 2**63) or not math.isfinite(value):
        raise Misfit(f"{name} is not a number that can be computed with")


def check_whole(name: str, value: Any) -> None:
    """Check a whole number that an array could have as its size."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise Misfit(f"{name} is not a whole number")


def check_flag(name: str, value: Any) -> None:
    """Check a bool."""
    if not isinstance(value, bool):
        raise Misfit(f"{name} is neither true nor false")


def check_texts(name: str, value: Any, length: int | None = None) -> None:
    """Check a list of texts."""
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise Misfit(f"{name} is not a list of the right length")
    if not all(isinstance(item, str) for item in value):
        raise Misfit(f"{name} is not a list of texts")


def check_text(name: str, value: Any) -> None:
    """Check a text."""
    if not isinstance(value, str):
        raise Misfit(f"{name} is not a text")


def check_arrays(name: str, value: Any) -> None:
    """Check weights by name; the network they belong to checks their shapes."""
    if not isinstance(value, dict) or not all(isinstance(item, np.ndarray) for item in value.values()):
        raise Misfit(f"{name} is not a set of arrays")


def check_history(name: str, value: Any) -> None:
    """Check figures for a diagram."""
    if not isinstance(value, list | dict):
        raise Misfit(f"{name} is not a history of figures")


def check_keys(name: str, value: Any, keys: set[str]) -> None:
    """Check a dict with exactly these keys."""
    if not isinstance(value, dict):
        raise Misfit(f"{name} is not a record")
    if missing := keys - value.keys():
        raise Misfit(f"{name} {min(missing)} is missing")
    if unknown := value.keys() - keys:
        raise Misfit(f"{name} {min(unknown)} is unknown here")
