"""What a stored model must consist of, so that a file of another version, or of a stranger, is refused in a sentence.

A method declares the learned attributes it stores:

    layout = stored(terms_=matrix("features", "labels"), idf_=array("features"), mean_length_=number)

Sizes are numbers or names. `labels` and `features` are known from the model, parameters go by their own names, and any
other name stands for the same number wherever it occurs; `features+1` and `labels*concepts` are computed. Kernels index
without bounds checks, so whatever they index with says what it must stay `below`.

All numbers are finite, because a single NaN would spread to every score. An array whose NaN stands for something that
does not exist, such as the bias of a label without a classifier, is declared `with_gaps`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.sparse import narrow_indices
from xcwork.storage.mapped_arrays import is_finite

if TYPE_CHECKING:
    from xcwork.methods.base import Method

Sizes = dict[str, int]
Check = Callable[[Any, Sizes], None]
Size = str | int
NOT_STORED = object()
NAN, ANYTHING = "nan", "anything"  # what a check may let through besides finite numbers


class Misfit(ValueError):
    """A stored value is not what the method would have stored."""


def stored(**checks: Check) -> dict[str, Check]:
    """The layout of a method: a check for each attribute it learns."""
    return checks


def array(*shape: Size, kind: str = "f", below: Size | None = None) -> Check:
    """An array of real numbers (kind f), whole numbers (i) or bytes (u); whole ones lie from 0 to less than `below`."""

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind != kind or (kind != "u" and value.itemsize < 4):
            raise Misfit("is not an array of the right type")
        _check_shape(value.shape, shape, sizes)
        if below is not None and value.size and not 0 <= value.min() <= value.max() < _size(below, sizes):
            raise Misfit(f"holds a number that is not below {_size(below, sizes):,}")

    return check


def matrix(rows: Size, columns: Size) -> Check:
    """A sparse matrix; its indices were checked when it was read."""

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, sparse.csr_array) or value.dtype not in (np.float32, np.float64):
            raise Misfit("is not a sparse matrix of real numbers")
        _check_shape(value.shape, (rows, columns), sizes)

    return check


def optional(inner: Check) -> Check:
    """A value that may be None."""

    @wraps(inner)
    def check(value: Any, sizes: Sizes) -> None:
        if value is not None:
            inner(value, sizes)

    return check


def sometimes(inner: Check) -> Check:
    """A value that some trainings have no use for, and then do not store."""

    @wraps(inner)
    def check(value: Any, sizes: Sizes) -> None:
        if value is not NOT_STORED:
            inner(value, sizes)

    check.may_lack = True  # type: ignore[attr-defined]
    return check


def with_gaps(inner: Check) -> Check:
    """An array in which NaN stands for what does not exist."""

    @wraps(inner)
    def check(value: Any, sizes: Sizes) -> None:
        inner(value, sizes)

    check.may_hold = NAN  # type: ignore[attr-defined]
    return check


def record(**fields: Check) -> Check:
    """A dict with exactly these entries."""

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, dict):
            raise Misfit("is not a record")
        check_all(value, fields, sizes)

    return check


def listing(inner: Check, length: Size | None = None) -> Check:
    """A list whose items all pass; sizes bound by one item hold for that item alone."""

    def check(value: Any, sizes: Sizes) -> None:
        if not isinstance(value, list) or (length is not None and len(value) != _size(length, sizes)):
            raise Misfit("is not a list of the right length")
        for item in value:
            inner(item, dict(sizes))

    return check


def number(value: Any, sizes: Sizes) -> None:
    """A finite number that an array can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misfit("is not a number")
    if (isinstance(value, int) and not -(2**63) <= value < 2**63) or not math.isfinite(value):
        raise Misfit("is not a number that can be computed with")


def whole(value: Any, sizes: Sizes) -> None:
    """A whole number that an array could have as its size."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise Misfit("is not a whole number")


def flag(value: Any, sizes: Sizes) -> None:
    if not isinstance(value, bool):
        raise Misfit("is neither true nor false")


def text(value: Any, sizes: Sizes) -> None:
    if not isinstance(value, str):
        raise Misfit("is not a text")


def arrays(value: Any, sizes: Sizes) -> None:
    """Weights by name; the network they belong to checks their shapes."""
    if not isinstance(value, dict) or not all(isinstance(item, np.ndarray) for item in value.values()):
        raise Misfit("is not a set of arrays")


def history(value: Any, sizes: Sizes) -> None:
    """Figures for a diagram, which nothing is computed from."""
    if not isinstance(value, list | dict):
        raise Misfit("is not a history of figures")


history.may_hold = ANYTHING  # type: ignore[attr-defined]


def model(value: Any, sizes: Sizes) -> None:
    """A method inside a method; it was checked itself, and must speak of the same features and labels."""
    labels, features = getattr(value, "labels_", None), getattr(value, "features_", None)
    if labels is None or features is None or (len(labels), features.size) != (sizes["labels"], sizes["features"]):
        raise Misfit("is not a model of the same labels and features")


def check_all(values: Mapping[str, Any], layout: Mapping[str, Check], sizes: Sizes) -> None:
    """Every declared value is there and passes, and there is no other."""
    for name in layout:
        if name not in values and not hasattr(layout[name], "may_lack"):
            raise Misfit(f"{name} is missing")
    for name in values:
        if name not in layout:
            raise Misfit(f"{name} is unknown here")
    for name, check in layout.items():
        try:
            check(values.get(name, NOT_STORED), sizes)
        except Misfit as problem:
            raise Misfit(f"{name} {problem}") from None


def check_stored(method: Method, learned: Mapping[str, Any]) -> None:
    """Refuse what is not a trained model of this method, as this version of it would be."""
    from xcwork.core.features import Features
    from xcwork.core.labels import LabelSpace

    labels, features = learned.get("labels_"), learned.get("features_")
    if not isinstance(labels, LabelSpace) or not isinstance(features, Features):
        raise Misfit("its labels or features are missing")
    known = {name: value for name, value in method.get_params().items() if type(value) is int}
    own = features if labels.features is None else labels.features
    sizes = known | {"labels": len(labels), "features": features.size, "label_features": own.size}
    common = {"labels_": _passed, "features_": _passed, "label_frequencies_": array("labels", kind="i")}
    layout = common | dict(method.layout)
    check_all(learned, layout, sizes)
    check_finite(learned, layout)
    if labels.Z is not None and labels.features is not None and labels.Z.shape[1] != labels.features.size:
        raise Misfit("its label features do not fit their names")
    if labels.Z is not None and not is_finite(labels.Z.data):
        raise Misfit("its label features are not finite")


def check_finite(values: Mapping[str, Any], layout: Mapping[str, Check]) -> None:
    """Refuse NaN and infinite numbers wherever the layout does not expect them."""
    for name, value in values.items():
        may_hold = getattr(layout.get(name), "may_hold", None)
        if may_hold != ANYTHING and not all(is_finite(n, nan=may_hold == NAN) for n in _real_numbers(value)):
            raise Misfit(f"{name} holds numbers that are not finite")


def _real_numbers(value: Any) -> Iterator[np.ndarray]:
    """Find the arrays of real numbers in a learned value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _real_numbers(item)
    elif isinstance(value, float):
        yield np.array(value)
    else:
        numbers = value.data if sparse.issparse(value) else value
        if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f":
            yield numbers


def compact(value: Any) -> Any:
    """A learned value whose sparse matrices have 32-bit indices where these suffice."""
    if isinstance(value, dict):
        return {name: compact(item) for name, item in value.items()}
    return narrow_indices(value) if isinstance(value, sparse.csr_array) else value


def _passed(value: Any, sizes: Sizes) -> None:
    """Checked before."""


def _check_shape(found: tuple[int, ...], wanted: tuple[Size, ...], sizes: Sizes) -> None:
    if len(found) != len(wanted):
        raise Misfit(f"has {len(found)} dimensions instead of {len(wanted)}")
    for length, size in zip(found, wanted, strict=True):
        if isinstance(size, str) and size.isidentifier() and size not in sizes:
            sizes[size] = length
        elif length != (expected := _size(size, sizes)):
            raise Misfit(f"has {length:,} entries where {expected:,} are needed")


def _size(size: Size, sizes: Sizes) -> int:
    if isinstance(size, int):
        return size
    return sum(math.prod(sizes[f] if f in sizes else int(f) for f in part.split("*")) for part in size.split("+"))
