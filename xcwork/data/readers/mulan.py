"""MULAN and MEKA datasets: ARFF files, and what says which of their attributes are labels.

A folder with `name-train.arff`, `name-test.arff` (or `name-train-sparse.arff`, …) and `name.xml`, or with one ARFF
file; every file may be packed with gzip, bzip2 or xz. `mulan_labels` tells how labels are found, `arff_roles` what
becomes of the other attributes, and `arff_matrices` what is done about missing values. Multi-instance files have a
relational attribute: every instance of a bag becomes a document with the labels of the bag, and the first attribute,
the name of the bag, becomes its group. Negative values are common in such features and accepted.

MEKA's `-split-number n` (or `-split-percentage p`) in the relation name makes the first n rows (p % of them) the
training split, unless `test_share` asks for another one. Text in string attributes is kept beside the features; it
becomes the features where there are no others, or where `features="text"` asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.arff import ArffFile, Attribute, read_arff
from xcwork.data.readers.arff_matrices import ArffSplit, FeatureColumns, MissingChoice, finish_splits, read_split
from xcwork.data.readers.arff_roles import AttributeRoles, choose_roles
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, join_names
from xcwork.data.readers.mulan_labels import LabelColumns, find_labels
from xcwork.data.readers.safe_files import get_bare_name
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import ConfigError, DataError
from xcwork.paths import find_named_file

FORMAT = FormatDeclaration(
    name="mulan",
    title="ARFF of Mulan and MEKA: name-train.arff, name-test.arff and name.xml, or one .arff file",
    files=("name-train.arff", "name-test.arff", "name.xml", "name.arff"),
    options=describe_options(
        "encoding",
        "test_share",
        "vectorizer",
        n_labels="number of labels, the last attributes, instead of what XML file or relation say",
        labels_at="where `n_labels` counts: `end`, or `start` for the first attributes",
        label_file="path of the XML file that names the labels, where it is called otherwise",
        features="`text` makes features of string attributes instead of the others",
        missing_features="what is done about `?` in features: `fill` (with the mean or the most frequent value), "
        "`zero` or `refuse`",
        missing_labels="what is done about `?` in labels: `absent`, `drop` (leave the document out) or `refuse`",
    ),
    example={
        "tags-train.arff": "@relation tags\n@attribute size numeric\n@attribute word {0,1}\n"
        "@attribute TAG_red {0,1}\n@attribute TAG_blue {0,1}\n@data\n0.5,1,1,0\n{0 2.5,3 1}\n",
        "tags.xml": '<labels xmlns="http://mulan.sourceforge.net/labels">\n<label name="TAG_red"></label>\n'
        '<label name="TAG_blue"></label>\n</labels>\n',
    },
)
_MEKA_SPLIT = re.compile(r"-split-(number|percentage)\s+(\d{1,9}(?:\.\d{1,9})?)(?![\d.])")
_TRAIN = re.compile(r"(?<![a-z])(train(?:ing)?|trn|tra)(?![a-z])")
_TEST_WORDS = {"train": ("test",), "training": ("test", "testing"), "trn": ("tst",), "tra": ("tst",)}
FEATURE_CHOICES = ("attributes", "text")


def inspect(path: Path) -> Finding:
    if files := _find_files(path):
        return Finding.accept(join_names([file.name for file in files]))
    return Finding.refuse("an .arff file, or files that end in train.arff and test.arff")


def read(
    path: Path,
    name: str,
    *,
    n_labels: int | None = None,
    labels_at: str = "end",
    label_file: str | None = None,
    features: str = "attributes",
    missing_features: str = "fill",
    missing_labels: str = "absent",
    encoding: str = "utf-8",
    test_share: float | None = None,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    if features not in FEATURE_CHOICES:
        raise ConfigError(f"features must be one of {', '.join(FEATURE_CHOICES)}, got {features!r}")
    missing = MissingChoice(missing_features, missing_labels)
    files = [read_arff(file, encoding) for file in _find_files(path)]
    _check_same_attributes(files)
    first = files[0]
    labels = find_labels(first, n_labels, labels_at, _find_label_file(label_file, first.path))
    roles = choose_roles(files, labels.attributes)
    columns = FeatureColumns.from_attributes(_list_feature_attributes(first, roles))
    source = f"ARFF, {' and '.join(arff.path.name for arff in files)}"
    if test_share is None and len(files) == 1 and (split := _MEKA_SPLIT.search(first.relation)):
        read_splits = _read_both_splits(first, labels, roles, columns, missing, split[1], float(split[2]))
        source += f"; the first rows are the training split, as {split[0]!r} says"
    else:
        read_splits = [read_split(arff, arff.read_rows(), labels, roles, columns, missing) for arff in files]
    splits, notes = finish_splits(read_splits, columns, len(labels.names), missing)
    splits, text_notes = _choose_text_or_features(first, splits, roles, features)
    if any(arff.has_weights for arff in files):
        notes.append("the weights of the rows are ignored")
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=RawLabels(names=labels.names, uids=labels.names if labels.parents else None, parents=labels.parents),
        features=None if splits[0].X is None else Features(splits[0].n_features, columns.names),
        source=source,
        notes=[*roles.notes, *text_notes, *notes],
        path=path,
    )
    return build_dataset(
        raw,
        name=name,
        vectorizer=make_vectorizer(vectorizer),
        test_share=TEST_SHARE if test_share is None else test_share,
    )


def _find_files(path: Path) -> list[Path]:
    """Return [the one file] or [train file, test file]."""
    if path.is_file():
        return [path] if Path(get_bare_name(path)).suffix.lower() == ".arff" else []
    files = {get_bare_name(file).lower(): file for file in sorted(path.iterdir()) if file.is_file()}
    arffs = [name for name in files if name.endswith(".arff")]
    for name in arffs:
        if word := _TRAIN.search(name):
            for other in _TEST_WORDS[word[1]]:
                if (test := f"{name[: word.start()]}{other}{name[word.end() :]}") in files:
                    return [files[name], files[test]]
            if len(arffs) == 1 or word.end() == len(name) - len(".arff"):
                return [files[name]]
    return [files[arffs[0]]] if len(arffs) == 1 else []


def _check_same_attributes(files: list[ArffFile]) -> None:
    first = files[0]
    for other in files[1:]:
        if [a.name for a in other.attributes] != [a.name for a in first.attributes]:
            raise DataError(
                f"its attributes differ from those of {first.path.name}",
                file=other.path,
                line=other.data_line,
                remedy="use files that belong together",
            )


def _find_label_file(option: str | None, beside: Path) -> Path | None:
    if option is None:
        return None
    if (found := find_named_file(option, beside.parent)) is None:
        raise DataError("the label file does not exist", file=option, remedy="give the path of MULAN's XML file")
    return found


def _list_feature_attributes(arff: ArffFile, roles: AttributeRoles) -> list[Attribute]:
    attributes = arff.attributes if arff.bag is None else arff.attributes[arff.bag].inner or ()
    return [attributes[i] for i in roles.features]


def _read_both_splits(
    arff: ArffFile,
    labels: LabelColumns,
    roles: AttributeRoles,
    columns: FeatureColumns,
    missing: MissingChoice,
    unit: str,
    size: float,
) -> list[ArffSplit]:
    """Return the first rows of a file, as many or as large a percentage as MEKA's relation says, and the others."""
    n_rows = arff.count_rows()
    n_training = int(size) if unit == "number" else round(n_rows * size / 100)
    if not 0 < n_training < n_rows:
        raise DataError(
            f"'-split-{unit} {size:g}' in the relation leaves no training or no test documents of {n_rows:,}",
            file=arff.path,
            remedy="correct it, or give test_share",
        )
    rows = arff.read_rows()
    return [
        read_split(arff, islice(rows, n_training), labels, roles, columns, missing),
        read_split(arff, rows, labels, roles, columns, missing),
    ]


def _choose_text_or_features(
    arff: ArffFile, splits: list[RawSplit], roles: AttributeRoles, features: str
) -> tuple[list[RawSplit], list[str]]:
    """Return the splits with what is to become features, and a note where text could be used instead."""
    if not roles.texts:
        if features == "text":
            raise DataError("no attribute is text", file=arff.path, remedy="leave out features='text'")
        return splits, []
    if features == "text" or not roles.features:
        return [RawSplit(texts=split.texts, Y=split.Y, groups=split.groups) for split in splits], []
    names = ", ".join(repr(arff.attributes[i].name) for i in roles.texts)
    return splits, [f"the text of {names} is kept, but not among the features; features='text' uses it alone"]
