"""The rows of an ARFF file as the matrices X and Y.

Missing values (`?`) of features are filled in as Weka does it: with the mean of a numeric attribute and the most
frequent value of a nominal one, both over the rows of the training split (of a single file: of all its rows, before a
test split is held out). A missing value of a label counts as absent, or its document
is left out, or it is an error, as the user chooses.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields

import numpy as np
from scipy import sparse

from xcwork.data.raw import RawSplit
from xcwork.data.readers.arff import MISSING, TRUTH, ArffFile, ArffRow, Attribute, split_fields
from xcwork.data.readers.arff_roles import AttributeRoles
from xcwork.data.readers.mulan_labels import LabelColumns, describe_bad_label
from xcwork.errors import ConfigError, DataError
from xcwork.sparse import drop_zeros

MISSING_LABEL_CHOICES = ("absent", "drop", "refuse")
MISSING_FEATURE_CHOICES = ("fill", "zero", "refuse")
MAX_NUMBER = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class MissingChoice:
    """What is done about missing values."""

    features: str = "fill"
    labels: str = "absent"

    def __post_init__(self) -> None:
        for option, value, known in (
            ("missing_features", self.features, MISSING_FEATURE_CHOICES),
            ("missing_labels", self.labels, MISSING_LABEL_CHOICES),
        ):
            if value not in known:
                raise ConfigError(f"{option} must be one of {', '.join(known)}, got {value!r}")


@dataclass(frozen=True)
class FeatureColumns:
    """The attributes that become features, and the columns of X of each."""

    attributes: tuple[Attribute, ...]
    starts: list[int]  # first column of each attribute; the last entry is the number of columns
    values: list[dict[str, int] | None]  # of a nominal attribute: value: place among its columns; None: one column

    @classmethod
    def from_attributes(cls, attributes: Sequence[Attribute]) -> FeatureColumns:
        values = [
            None if a.values is None or a.is_binary else {v: k for k, v in enumerate(dict.fromkeys(a.values))}
            for a in attributes
        ]
        widths = [1 if places is None else len(places) for places in values]
        return cls(tuple(attributes), np.cumsum([0, *widths]).tolist(), values)

    @property
    def names(self) -> list[str]:
        """What the columns are called."""
        return [
            name
            for attribute, places in zip(self.attributes, self.values, strict=True)
            for name in ([attribute.name] if places is None else [f"{attribute.name}={value}" for value in places])
        ]


@dataclass
class MatrixRows:
    """The rows of a CSR matrix, collected one by one."""

    data: array[float] = field(default_factory=lambda: array("f"))
    indices: array[int] = field(default_factory=lambda: array("i"))
    ends: array[int] = field(default_factory=lambda: array("q", [0]))

    def add(self, column: int, value: float) -> None:
        self.indices.append(column)
        self.data.append(value)

    def end_row(self) -> None:
        self.ends.append(len(self.data))

    def to_matrix(self, n_columns: int) -> sparse.csr_array:
        parts = (np.array(self.data, np.float32), np.array(self.indices, np.int32), np.array(self.ends))
        return sparse.csr_array(parts, shape=(len(self.ends) - 1, n_columns))


@dataclass
class ArffSplit:
    """The documents of one split while they are read."""

    X: MatrixRows = field(default_factory=MatrixRows)
    Y: MatrixRows = field(default_factory=MatrixRows)
    groups: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    gaps: dict[int, list[int]] = field(default_factory=dict)  # feature: rows of X where its value is missing
    n_missing_labels: int = 0  # values
    n_unlabelled: int = 0  # documents with a missing label


def read_split(
    arff: ArffFile,
    rows: Iterable[ArffRow],
    labels: LabelColumns,
    roles: AttributeRoles,
    columns: FeatureColumns,
    missing: MissingChoice,
) -> ArffSplit:
    """Return the documents of some rows of a file; a bag is a group of several."""
    split = ArffSplit()
    numbers = {attribute: feature for feature, attribute in enumerate(roles.features)} if arff.bag is None else {}
    for line, row in rows:
        relevant: list[int] = []
        n_missing = 0
        for i, value in row:
            if (columns_of_values := labels.columns.get(i)) is None:
                continue
            if value in columns_of_values:
                if (column := columns_of_values[value]) is not None:
                    relevant.append(column)
            elif value == MISSING:
                n_missing += 1
            else:
                raise describe_bad_label(arff, i, value, line)
        if n_missing:
            _check_missing_labels(arff, line, missing)
            split.n_missing_labels += n_missing
            split.n_unlabelled += 1
            if missing.labels == "drop":
                continue
        relevant.sort()
        if arff.bag is None:
            _add_features(split, columns, ((numbers[i], v) for i, v in row if i in numbers), arff, line, missing)
            _add_labels(split, relevant)
            if roles.texts:
                values = dict(row)
                split.texts.append("\n".join(t for i in roles.texts if (t := values.get(i, "")) not in ("", MISSING)))
        else:
            _add_bag(split, columns, dict(row), relevant, arff, line, missing)
    return split


def _check_missing_labels(arff: ArffFile, line: int, missing: MissingChoice) -> None:
    if missing.labels == "refuse":
        raise DataError(
            "the value of a label is missing ('?')",
            file=arff.path,
            line=line,
            remedy="fill it in; missing_labels='absent' reads it as no, missing_labels='drop' leaves the document out",
        )


def _add_labels(split: ArffSplit, relevant: list[int]) -> None:
    for column in relevant:
        split.Y.add(column, 1.0)
    split.Y.end_row()


def _add_bag(
    split: ArffSplit,
    columns: FeatureColumns,
    values: dict[int, str],
    relevant: list[int],
    arff: ArffFile,
    line: int,
    missing: MissingChoice,
) -> None:
    """Add every instance of a bag as a document with the labels of the bag."""
    bag = arff.bag or 0
    for instance in values.get(bag, "").split("\n"):
        fields = split_fields(instance)
        if len(fields) != len(columns.attributes):
            raise DataError(
                f"an instance has {len(fields)} values for {len(columns.attributes)} attributes",
                file=arff.path,
                line=line,
                remedy="correct the bag; the file may be cut off",
            )
        _add_features(split, columns, enumerate(fields), arff, line, missing)
        _add_labels(split, relevant)
        split.groups.append(values.get(0, str(line)) if bag > 0 else str(line))


def _add_features(
    split: ArffSplit,
    columns: FeatureColumns,
    values: Iterable[tuple[int, str]],
    arff: ArffFile,
    line: int,
    missing: MissingChoice,
) -> None:
    """Add one row to X; values that are missing are remembered as gaps."""
    X = split.X
    for feature, value in values:
        if value == MISSING and missing.features != "refuse":
            split.gaps.setdefault(feature, []).append(len(X.ends) - 1)
            continue
        attribute = columns.attributes[feature]
        places = columns.values[feature]
        if places is None:
            number = _read_number(attribute, value, arff, line)
            place = 0
        elif value in places:
            number = 1.0
            place = places[value]
        else:
            raise _describe_bad_value(attribute, value, arff, line)
        if number:
            X.indices.append(columns.starts[feature] + place)
            X.data.append(number)
    X.end_row()


def _read_number(attribute: Attribute, value: str, arff: ArffFile, line: int) -> float:
    if attribute.values is not None:
        if value in attribute.values:
            return TRUTH[value.lower()]
        raise _describe_bad_value(attribute, value, arff, line)
    try:
        number = float(value)
    except ValueError:
        raise _describe_bad_value(attribute, value, arff, line) from None
    if -MAX_NUMBER <= number <= MAX_NUMBER:  # which `nan` does not
        return number
    raise _describe_bad_value(attribute, value, arff, line)


def _describe_bad_value(attribute: Attribute, value: str, arff: ArffFile, line: int) -> DataError:
    kind = "a finite number" if attribute.values is None else f"one of {', '.join(attribute.values[:5])}"
    problem = "is missing" if value == MISSING else f"is {value[:40]!r}, expected {kind}"
    return DataError(
        f"the value of {attribute.name!r} {problem}", file=arff.path, line=line, remedy="correct or fill in the value"
    )


def finish_splits(
    splits: Sequence[ArffSplit], columns: FeatureColumns, n_labels: int, missing: MissingChoice
) -> tuple[list[RawSplit], list[str]]:
    """Return the documents with all gaps filled, and notes about what was missing."""
    made = [
        RawSplit(
            X=split.X.to_matrix(columns.starts[-1]),
            Y=split.Y.to_matrix(n_labels),
            groups=split.groups or None,
            texts=split.texts or None,
        )
        for split in splits
    ]
    notes = []
    if n_missing := sum(split.n_missing_labels for split in splits):
        n_documents = sum(split.n_unlabelled for split in splits)
        done = (
            "count as absent; missing_labels='drop' leaves these documents out"
            if missing.labels == "absent"
            else "so these documents are left out; missing_labels='absent' keeps them"
        )
        notes.append(f"{n_missing:,} values of labels in {n_documents:,} documents are missing ('?') and {done}")
    features = sorted({feature for split in splits for feature in split.gaps})
    if features:
        fills = {}
        if missing.features == "fill" and made[0].X is not None:
            sums = made[0].X.sum(axis=0, dtype=np.float64)  # (n_features,)
            n_known = {feature: len(made[0]) - len(splits[0].gaps.get(feature, ())) for feature in features}
            fills = {feature: _choose_fill(sums, columns, feature, n_known[feature]) for feature in features}
            made = [_fill_gaps(raw, split.gaps, fills) for raw, split in zip(made, splits, strict=True)]
        n_missing = sum(len(rows) for split in splits for rows in split.gaps.values())
        done = "mean of numbers, most frequent value of the others" if fills else "read as 0"
        other = "zero" if fills else "fill"
        notes.append(
            f"{n_missing:,} values of {len(features):,} attributes are missing ('?') and filled in ({done}); "
            f"missing_features={other!r} changes this"
        )
    return made, notes


def _choose_fill(sums: np.ndarray, columns: FeatureColumns, feature: int, n_known: int) -> tuple[int, float]:
    """Return (column, value) of what stands in for a missing value: 0 where none of its values is known."""
    first, last = columns.starts[feature], columns.starts[feature + 1]
    if columns.values[feature] is not None:
        return (first + int(np.argmax(sums[first:last])), 1.0) if n_known else (first, 0.0)
    mean = float(sums[first]) / n_known if n_known else 0.0
    if columns.attributes[feature].values is not None:  # nominal with the values no and yes
        return first, float(mean > 0.5)
    return first, mean


def _fill_gaps(raw: RawSplit, gaps: dict[int, list[int]], fills: dict[int, tuple[int, float]]) -> RawSplit:
    assert raw.X is not None
    sizes = [len(rows) for rows in gaps.values()]
    rows = np.array([row for rows in gaps.values() for row in rows], np.int64)
    places = np.repeat(np.array([fills[feature][0] for feature in gaps], np.int64), sizes)
    values = np.repeat(np.array([fills[feature][1] for feature in gaps], np.float32), sizes)
    filled = sparse.coo_array((values, (rows, places)), raw.X.shape)
    return replace_fields(raw, X=drop_zeros(sparse.csr_array(raw.X + filled.tocsr())))
