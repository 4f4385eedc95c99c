"""Which attributes of an ARFF file are labels, and how the values of such an attribute become columns of Y.

The user says it (`n_labels`), or the XML file of MULAN beside the data, or MEKA's `-C n` in the name of the relation
(n attributes from the front, or from the back if n is negative). A label whose values mean no and yes is one column.
Any other nominal attribute, as in multi-target data, is a column for each of its values, called `attribute=value`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from xcwork.data.readers.arff import MISSING, TRUTH, ArffFile, Attribute
from xcwork.data.readers.safe_files import get_bare_name, read_bytes
from xcwork.errors import ConfigError, DataError

LABEL_ENDS = ("end", "start")  # where n_labels counts from
_MEKA_COUNT = re.compile(r"(?:^|\s)-[Cc]\s+(-?\d{1,6})(?!\d)")
_SPLIT_WORDS = re.compile(r"[-_. ]*(train|test|trn|tst|tra|sparse|dense)$", re.IGNORECASE)
# Besides what counts as binary everywhere: -1 and +1 as in SVM files, t and f, and numbers written as reals.
_LABEL_TRUTH = TRUTH | {
    "-1": 0.0,
    "+1": 1.0,
    "f": 0.0,
    "t": 1.0,
    "0.0": 0.0,
    "1.0": 1.0,
    "-1.0": 0.0,
    "off": 0.0,
    "on": 1.0,
}


@dataclass(frozen=True)
class LabelColumns:
    """The label attributes of a file and the columns of Y that they become."""

    columns: dict[int, dict[str, int | None]]  # number of the attribute: value: its column; None: the value means no
    names: list[str]  # of the columns
    parents: list[list[str]] | None  # names of the broader labels of each column; None where nothing is nested

    @property
    def attributes(self) -> tuple[int, ...]:
        """The numbers of the attributes, in the order of their columns."""
        return tuple(self.columns)

    @classmethod
    def from_attributes(cls, arff: ArffFile, chosen: list[int], broader: dict[str, list[str]]) -> LabelColumns:
        """Return the columns of the chosen attributes; one that cannot be a label is rejected."""
        columns: dict[int, dict[str, int | None]] = {}
        names: list[str] = []
        has_values = False
        for i in chosen:
            attribute = arff.attributes[i]
            if attribute.is_numeric or _is_yes_or_no(attribute):
                values = _LABEL_TRUTH if attribute.values is None else attribute.values
                truth = {value: _LABEL_TRUTH[value.lower()] for value in values if value != MISSING}
                columns[i] = {value: len(names) if is_true else None for value, is_true in truth.items()}
                names.append(attribute.name)
            elif attribute.values:
                has_values = True
                different = list(dict.fromkeys(attribute.values))
                columns[i] = {value: len(names) + k for k, value in enumerate(different)}
                names += [f"{attribute.name}={value}" for value in different]
            else:
                raise DataError(
                    f"the label {attribute.name!r} is not declared as {{0,1}}",
                    file=arff.path,
                    line=attribute.line,
                    remedy="correct the declaration",
                )
        is_nested = any(broader.values()) and not has_values
        return cls(columns, names, list(broader.values()) if is_nested else None)


def find_labels(
    arff: ArffFile, n_labels: int | None = None, labels_at: str = "end", xml: Path | None = None
) -> LabelColumns:
    """Return the columns of the label attributes; where nothing says which they are, an error lists the ways to say."""
    if labels_at not in LABEL_ENDS:
        raise ConfigError(f"labels_at must be one of {', '.join(LABEL_ENDS)}, got {labels_at!r}")
    count = len(arff.attributes)
    meka = _MEKA_COUNT.search(arff.relation)
    own_xml, other_xml = _find_xml(arff.path)
    xml = xml or own_xml or (None if meka else other_xml)
    if n_labels is not None:
        if not 0 < n_labels < count:
            raise ConfigError(f"n_labels must lie between 1 and {count - 1}, got {n_labels}")
        chosen = list(range(n_labels)) if labels_at == "start" else list(range(count - n_labels, count))
    elif xml is not None:
        return _find_labels_of_xml(arff, xml)
    elif arff.bag is not None:
        chosen = list(range(arff.bag + 1, count))
    elif meka:
        n = int(meka[1])
        if abs(n) >= count or n == 0:
            raise DataError(
                f"-C {n} in the relation leaves no labels or no features of {count} attributes",
                file=arff.path,
                remedy="correct it, or give n_labels",
            )
        chosen = list(range(n)) if n > 0 else list(range(count + n, count))
    else:
        raise DataError(
            "nothing says which attributes are labels",
            file=arff.path,
            remedy=f"put {Path(get_bare_name(arff.path)).stem}.xml beside it, or give n_labels if they are the last "
            "ones (labels_at='start': the first ones)",
        )
    if not chosen:
        raise DataError("there are no labels", file=arff.path, remedy="check the XML file or n_labels")
    return LabelColumns.from_attributes(arff, chosen, {})


def _is_yes_or_no(attribute: Attribute) -> bool:
    values = [value.lower() for value in attribute.values or () if value != MISSING]
    return 0 < len(values) <= 2 and all(value in _LABEL_TRUTH for value in values)


def describe_bad_label(arff: ArffFile, i: int, value: str, line: int) -> DataError:
    """Return the error about a value that the label attribute `i` does not have."""
    attribute = arff.attributes[i]
    expected = ", ".join((attribute.values or ("0", "1"))[:5])
    problem = f"the value of {attribute.name!r} is {value[:40]!r}, expected one of {expected}"
    return DataError(problem, file=arff.path, line=line, remedy="correct or fill in the value")


def _find_labels_of_xml(arff: ArffFile, xml: Path) -> LabelColumns:
    broader = _read_xml(xml)
    number = {attribute.name: i for i, attribute in enumerate(arff.attributes)}
    count = Counter(attribute.name for attribute in arff.attributes)
    if twice := [name for name in broader if count[name] > 1]:
        raise DataError(
            f"{twice[0]!r} is declared twice, so it cannot be a label", file=arff.path, remedy="rename one of the two"
        )
    if missing := [name for name in broader if name not in number]:
        raise DataError(
            f"the label {missing[0]!r} is not an attribute of {arff.path.name}",
            file=xml,
            remedy="use files that belong together",
        )
    if not broader:
        raise DataError("there are no labels", file=xml, remedy="check the XML file")
    return LabelColumns.from_attributes(arff, [number[name] for name in broader], broader)


def _find_xml(path: Path) -> tuple[Path | None, Path | None]:
    """Return (the XML file called like an ARFF file, the only XML file beside it)."""
    base = strip_split_words(Path(get_bare_name(path)).stem)
    names = {stem.lower() for stem in (base, Path(get_bare_name(path)).stem)}
    others = [file for file in sorted(path.parent.iterdir()) if Path(get_bare_name(file)).suffix.lower() == ".xml"]
    own = [file for file in others if Path(get_bare_name(file)).stem.lower() in names]
    return own[0] if own else None, others[0] if len(others) == 1 else None


def strip_split_words(stem: str) -> str:
    """Return the name of a dataset: that of a file without `-train`, `-test-sparse` and the like."""
    while (short := _SPLIT_WORDS.sub("", stem)) not in ("", stem):
        stem = short
    return stem


def _read_xml(path: Path) -> dict[str, list[str]]:
    """Return the labels in order, each with the label it is nested in."""
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
