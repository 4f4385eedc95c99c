"""MULAN datasets: ARFF files, and an XML file that says which attributes are labels.

A folder with `name-train.arff`, `name-test.arff` and `name.xml`, or with one ARFF file. Without XML the labels are
those that MEKA's `-C n` in the relation name counts (from the front, or from the back if n is negative), or `n_labels`
of the last attributes. Multi-instance files have a relational attribute: every instance of a bag becomes a document
with the labels of the bag, and the first attribute, the name of the bag, becomes its group. Negative values are common
in such features and accepted.

MEKA's `-split-number n` (or `-split-percentage p`) in the relation name makes the first n rows (p % of them) the
training split, unless `test_share` asks for another one. An attribute with a value of its own in almost every row only
names the rows: it is left out, with a note.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.arff import TRUTH, ArffFile, Attribute, describe_bad_attribute, read_arff, split_fields
from xcwork.data.readers.safe_files import get_bare_name, read_bytes
from xcwork.errors import ConfigError, DataError

TITLE = "MULAN: name-train.arff, name-test.arff and name.xml, or one .arff file (also multi-instance)"
_MEKA_COUNT = re.compile(r"-C\s+(-?\d{1,6})\b")
_MEKA_SPLIT = re.compile(r"-split-(number|percentage)\s+(\d{1,9}(?:\.\d{1,9})?)(?![\d.])")
MIN_ROW_IDS = 20  # in fewer rows all values may differ by chance
ROW_ID_SHARE = 0.9  # different values per row from which on an attribute names the rows


def recognises(path: Path) -> bool:
    return bool(_find_files(path))


def read(
    path: Path, name: str, *, n_labels: int | None = None, encoding: str = "utf-8", test_share: float | None = None
) -> Dataset:
    files = [read_arff(file, encoding) for file in _find_files(path)]
    first = files[0]
    for other in files[1:]:
        if [a.name for a in other.attributes] != [a.name for a in first.attributes]:
            raise DataError(
                f"its attributes differ from those of {first.path.name}",
                file=other.path,
                line=other.data_line,
                remedy="use files that belong together",
            )
    labels, parents = _find_labels(first, n_labels)
    row_ids = _find_row_ids(files, labels)
    source = f"ARFF, {' and '.join(arff.path.name for arff in files)}"
    if test_share is None and len(files) == 1 and (split := _MEKA_SPLIT.search(first.relation)):
        splits = _read_both_splits(first, labels, row_ids, split[1], float(split[2]))
        source += f"; the first rows are the training split, as {split[0]!r} says"
    else:
        splits = [_read_split(arff, arff.rows(), labels, row_ids) for arff in files]
    names = [first.attributes[i].name for i in labels]
    ignored = [first.attributes[i].name for i in sorted(row_ids)]
    columns = chain.from_iterable(map(_name_columns, _choose_feature_attributes(first, labels, row_ids)))
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=RawLabels(names=names, uids=names if parents else None, parents=parents),
        features=Features(splits[0].n_features, list(columns)),
        source=source,
        notes=[f"the attribute {each!r} names the rows, so it is left out of the features" for each in ignored],
        path=path,
    )
    return build_dataset(raw, name=name, test_share=TEST_SHARE if test_share is None else test_share)


def _find_files(path: Path) -> list[Path]:
    """Return [the one file] or [train file, test file]."""
    if path.is_file():
        return [path] if Path(get_bare_name(path)).suffix.lower() == ".arff" else []
    files = {get_bare_name(file).lower(): file for file in sorted(path.iterdir()) if file.is_file()}
    arffs = [name for name in files if name.endswith(".arff")]
    for name in arffs:
        if name.endswith("train.arff"):
            test = files.get(name.removesuffix("train.arff") + "test.arff")
            return [files[name]] if test is None else [files[name], test]
    return [files[arffs[0]]] if len(arffs) == 1 else []


def _find_labels(arff: ArffFile, n_labels: int | None) -> tuple[list[int], list[list[str]] | None]:
    """Return (numbers of the label attributes, broader labels of each where the XML file nests them)."""
    count = len(arff.attributes)
    bag = next((i for i, attribute in enumerate(arff.attributes) if attribute.inner is not None), None)
    parents = None
    if (xml := _find_xml(arff.path)) is not None:
        number = {attribute.name: i for i, attribute in enumerate(arff.attributes)}
        broader = _read_xml(xml)
        names = Counter(attribute.name for attribute in arff.attributes)
        if twice := [name for name in broader if names[name] > 1]:
            raise DataError(
                f"{twice[0]!r} is declared twice, so it cannot be a label",
                file=arff.path,
                remedy="rename one of the two",
            )
        if missing := [name for name in broader if name not in number]:
            raise DataError(
                f"the label {missing[0]!r} is no attribute of {arff.path.name}",
                file=xml,
                remedy="use files that belong together",
            )
        labels = [number[name] for name in broader]
        parents = list(broader.values()) if any(broader.values()) else None
    elif n_labels is not None:
        if not 0 < n_labels < count:
            raise ConfigError(f"n_labels must lie between 1 and {count - 1}, got {n_labels}")
        labels = list(range(max(0, count - n_labels), count))
    elif bag is not None:
        labels = list(range(bag + 1, count))
    elif match := _MEKA_COUNT.search(arff.relation):
        labels = list(range(count))[: int(match[1])] if int(match[1]) > 0 else list(range(count))[int(match[1]) :]
    else:
        raise DataError(
            "nothing says which attributes are labels",
            file=arff.path,
            remedy=f"put {arff.path.stem}.xml beside it, or give n_labels if they are the last ones",
        )
    for i in labels:
        if not arff.attributes[i].binary:
            raise DataError(
                f"the label {arff.attributes[i].name!r} is not declared as {{0,1}}",
                file=arff.path,
                remedy="correct the declaration",
            )
    if not labels:
        raise DataError("there are no labels", file=arff.path, remedy="check the XML file or n_labels")
    return labels, parents


def _find_xml(path: Path) -> Path | None:
    base = re.sub(r"[-_]?(train|test)$", "", Path(get_bare_name(path)).stem, flags=re.IGNORECASE)
    own = path.parent / f"{base}.xml"
    others = sorted(path.parent.glob("*.xml"))
    return own if own.is_file() else others[0] if len(others) == 1 else None


def _read_xml(path: Path) -> dict[str, list[str]]:
    """Return the labels in order, each with the labels it is nested in."""
    content = read_bytes(path)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DataError("the file declares entities, which labels do not need", file=path, remedy="remove them")
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, LookupError, ValueError) as failure:
        line = failure.position[0] if isinstance(failure, ElementTree.ParseError) else 1
        raise DataError(f"the XML is damaged ({failure})", file=path, line=line, remedy="download it again") from None
    broader: dict[str, list[str]] = {}
    pending: list[tuple[ElementTree.Element, list[str]]] = [(child, []) for child in reversed(root)]
    while pending:
        element, above = pending.pop()
        name = element.get("name")
        if name is None or name in broader:
            raise DataError(
                f"a label has {'no name' if name is None else f'the name {name!r}, which is taken'}",
                file=path,
                remedy="correct the element",
            )
        broader[name] = above
        pending += [(child, [name]) for child in reversed(element)]
    return broader


def _find_row_ids(files: list[ArffFile], labels: list[int]) -> set[int]:
    """Return the numbers of the attributes that have another value in almost every row of all files."""
    first = files[0]
    if any(attribute.inner is not None for attribute in first.attributes):
        return set()  # only the attributes of the instances are features
    values: dict[int, set[str]] = {
        i: set()
        for i, attribute in enumerate(first.attributes)
        if attribute.is_text or len(attribute.values or ()) >= MIN_ROW_IDS
    }
    n_rows = 0
    for arff in files if values else ():
        for _, row in arff.rows():
            n_rows += 1
            for i, value in row:
                if i in values and value != "?":
                    values[i].add(value)
    found = {i for i in values if len(values[i]) >= max(MIN_ROW_IDS, ROW_ID_SHARE * n_rows)}
    for i in values.keys() - found:
        if first.attributes[i].is_text and i not in labels:
            raise describe_bad_attribute(first.attributes[i].name, "string", first.path, first.attributes[i].line)
    return found - set(labels)


def _read_both_splits(arff: ArffFile, labels: list[int], row_ids: set[int], unit: str, size: float) -> list[RawSplit]:
    """Return the first rows of a file, as many or as large a percentage as MEKA's relation says, and the others."""
    n_rows = sum(1 for _ in arff.rows())
    n_training = int(size) if unit == "number" else round(n_rows * size / 100)
    if not 0 < n_training < n_rows:
        raise DataError(
            f"'-split-{unit} {size:g}' in the relation leaves no training or no test documents of {n_rows:,}",
            file=arff.path,
            remedy="correct it, or give test_share",
        )
    rows = arff.rows()
    return [_read_split(arff, islice(rows, n_training), labels, row_ids), _read_split(arff, rows, labels, row_ids)]


def _choose_feature_attributes(arff: ArffFile, labels: list[int], row_ids: set[int]) -> list[Attribute]:
    bag = next((attribute for attribute in arff.attributes if attribute.inner is not None), None)
    if bag is not None:
        return list(bag.inner or ())
    others = {*labels, *row_ids}
    return [attribute for i, attribute in enumerate(arff.attributes) if i not in others]


def _name_columns(attribute: Attribute) -> list[str]:
    """Return the names of the feature columns that an attribute becomes."""
    if attribute.values is None or attribute.binary:
        return [attribute.name]
    return [f"{attribute.name}={value}" for value in attribute.values]


@dataclass
class MatrixRows:
    """The rows of a CSR matrix, collected one by one."""

    data: list[float] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=lambda: [0])

    def add(self, entries: list[tuple[int, float]]) -> None:
        for column, value in entries:
            if value != 0:
                self.indices.append(column)
                self.data.append(value)
        self.ends.append(len(self.data))

    def to_matrix(self, columns: int) -> sparse.csr_array:
        data = np.array(self.data, np.float32)
        indices = np.array(self.indices, np.int32)
        return sparse.csr_array((data, indices, np.array(self.ends)), shape=(len(self.ends) - 1, columns))


@np.errstate(over="ignore")  # a number too large for single precision is refused with a sentence
def _read_split(
    arff: ArffFile, rows: Iterable[tuple[int, list[tuple[int, str]]]], labels: list[int], row_ids: set[int]
) -> RawSplit:
    """Return the documents of some rows of a file; a bag is a group of several."""
    features = _choose_feature_attributes(arff, labels, row_ids)
    starts = np.cumsum([0, *(len(_name_columns(attribute)) for attribute in features)]).tolist()
    label_number = {attribute: label for label, attribute in enumerate(labels)}
    bag = next((i for i, attribute in enumerate(arff.attributes) if attribute.inner is not None), None)
    outside = [i for i in range(len(arff.attributes)) if i not in label_number and i not in row_ids]
    feature_number = {attribute: i for i, attribute in enumerate(outside)}
    X = MatrixRows()
    Y = MatrixRows()
    groups: list[str] = []
    for line, row in rows:
        relevant = sorted(
            (label_number[i], _read_number(arff.attributes[i], value, arff.path, line))
            for i, value in row
            if i in label_number
        )
        if bag is None:
            numbered = [(feature_number[i], value) for i, value in row if i in feature_number]
            X.add(_read_entries(features, starts, numbered, arff.path, line))
            Y.add(relevant)
            continue
        values = dict(row)
        for instance in values.get(bag, "").split("\n"):
            fields = split_fields(instance)
            if len(fields) != len(features):
                raise DataError(
                    f"an instance has {len(fields)} values for {len(features)} attributes",
                    file=arff.path,
                    line=line,
                    remedy="correct the bag; the file may be cut off",
                )
            X.add(_read_entries(features, starts, list(enumerate(fields)), arff.path, line))
            Y.add(relevant)
            groups.append(values.get(0, str(line)) if bag > 0 else str(line))
    return RawSplit(X=X.to_matrix(starts[-1]), Y=Y.to_matrix(len(labels)), groups=groups if bag is not None else None)


def _read_entries(
    features: list[Attribute], starts: list[int], values: list[tuple[int, str]], path: Path, line: int
) -> list[tuple[int, float]]:
    """Return (column, number) of the values of one document."""
    entries = []
    for i, value in values:
        attribute = features[i]
        if attribute.values is None or attribute.binary:
            entries.append((starts[i], _read_number(attribute, value, path, line)))
        elif value in attribute.values:
            entries.append((starts[i] + attribute.values.index(value), 1.0))
        else:
            raise _describe_bad_value(attribute, value, path, line)
    return entries


def _read_number(attribute: Attribute, value: str, path: Path, line: int) -> float:
    if attribute.values is not None:
        number = TRUTH.get(value.lower(), math.nan) if value in attribute.values else math.nan
    else:
        try:
            number = float(np.float32(value))
        except ValueError:
            number = math.nan
    if not math.isfinite(number):
        raise _describe_bad_value(attribute, value, path, line)
    return number


def _describe_bad_value(attribute: Attribute, value: str, path: Path, line: int) -> DataError:
    kind = "a finite number" if attribute.values is None else f"one of {', '.join(attribute.values[:5])}"
    problem = "is missing" if value == "?" else f"is {value[:40]!r}, expected {kind}"
    return DataError(
        f"the value of {attribute.name!r} {problem}", file=path, line=line, remedy="correct or fill in the value"
    )
