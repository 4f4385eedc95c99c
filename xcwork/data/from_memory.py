"""Datasets from what is in memory already: lists, data frames, Arrow tables and datasets of Hugging Face.

Columns, labels and notes are found as in files of the format `table`: a frame makes the same dataset as its CSV file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.arrow_tables import convert_columns, find_class_names
from xcwork.data.readers.columns import RecordTable
from xcwork.data.readers.tabular import build_from_tables
from xcwork.data.readers.text_options import make_vectorizer, sort_rewrite_options
from xcwork.data.self_links import check_choice, filter_self_links
from xcwork.errors import ConfigError, DataError
from xcwork.text.reading import AUTOMATIC

if TYPE_CHECKING:
    import pandas as pd

ALWAYS = ("self_links", "language", "char_ngrams")  # options of everything with texts
TEST_SPLITS = ("test", "validation", "valid", "dev", "val")  # of a collection of splits; the first that exists is used


def from_lists(
    texts: Sequence[str],
    labels: Sequence[Sequence[str]],
    *,
    test: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    label_names: Sequence[str] | None = None,
    name: str = "documents",
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
    language: str = AUTOMATIC,
) -> Dataset:
    """Return the dataset of texts and their lists of labels.

    Parameters
    ----------
    texts, labels : sequences of equal length
        One text and one list of label names per document.
    test : (texts, labels), optional
        The test split; without it, `test_share` of the documents is held out.
    label_names : sequence of str, optional
        All labels in order, including those that no document has.
    language : str
        Language of the texts, such as "de" or "de,en"; detected if not given.

    Examples
    --------
    >>> import xcwork
    >>> texts = ["red apples", "dry wine", "green apples", "sweet wine"]
    >>> data = xcwork.from_lists(texts, [["fruit"], ["drink"], ["fruit"], ["drink", "sweet"]])
    >>> data.labels.names
    ['drink', 'fruit', 'sweet']
    """
    raw = RawDataset(
        train=_check_lists(texts, labels),
        test=None if test is None else _check_lists(*test),
        labels=RawLabels(names=None if label_names is None else list(label_names)),
        source="lists of texts and labels",
    )
    words = make_vectorizer({"language": language} | dict(vectorizer or {}))
    return build_dataset(raw, name=name, vectorizer=words, test_share=test_share)


def _check_lists(texts: Sequence[str], labels: Sequence[Sequence[str]]) -> RawSplit:
    """Return a split of texts and lists of labels; anything else is rejected with its place."""
    if len(texts) != len(labels):
        raise DataError(f"there are {len(texts):,} texts but {len(labels):,} lists of labels")
    for place, (text, listed) in enumerate(zip(texts, labels, strict=True)):
        if not isinstance(text, str):
            raise DataError(f"text {place} is a {type(text).__name__}, not a string")
        if isinstance(listed, str) or not all(isinstance(label, str) for label in listed):
            raise DataError(f"the labels of text {place} are not a list of strings", remedy="write ['a', 'b']")
    return RawSplit(texts=list(texts), labels=[list(listed) for listed in labels])


def from_frame(
    frame: pd.DataFrame,
    *,
    text: str | list[str] | None = None,
    labels: str | None = None,
    test: pd.DataFrame | None = None,
    name: str = "frame",
    **options: Any,
) -> Dataset:
    """Return the dataset of a pandas data frame with a text and a labels column.

    Parameters
    ----------
    text, labels : names of columns, optional
        Several text columns are a list; without a name, the usual names are tried.
    test : DataFrame, optional
        The test split; without it, `test_share` of the documents is held out.
    **options
        As of the format `table`: separator, label_field, groups_column, strip_html, vectorizer, test_share, self_links,
        language, char_ngrams.

    Examples
    --------
    >>> import pandas as pd, xcwork
    >>> frame = pd.DataFrame({"question": ["red wine", "green tea"], "topics": ["wine|drink", "tea|drink"]})
    >>> xcwork.from_frame(frame, text="question", labels="topics").labels.names
    ['drink', 'tea', 'wine']
    """
    frames = [frame] if test is None else [frame, test]
    return _build([_convert_frame(each) for each in frames], name, text, labels, options)


def _convert_frame(frame: pd.DataFrame) -> RecordTable:
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"the column {str(twice)!r} occurs twice", remedy="rename one of the two")
    columns = {}
    for column in frame.columns:
        values = frame[column]
        # Arrays in cells and missing values of all kinds become what files would hold.
        columns[str(column)] = [
            cell.tolist() if hasattr(cell, "tolist") else None if missing is True else cell
            for cell, missing in zip(values.tolist(), values.isna().tolist(), strict=True)
        ]
    return _check_records(RecordTable.from_columns(None, columns))


def from_arrow(
    table: Any,
    *,
    text: str | list[str] | None = None,
    labels: str | None = None,
    test: Any = None,
    name: str = "table",
    **options: Any,
) -> Dataset:
    """Return the dataset of an Arrow table, or of a dataset of Hugging Face, with a text and a labels column.

    Parameters
    ----------
    table : pyarrow.Table, datasets.Dataset, datasets.DatasetDict, or anything that exports Arrow
        Numbers of the type `ClassLabel` become their names. Of a `DatasetDict`, `train` is the training split, and
        `test` (or else `validation`) the test split.
    text, labels : names of columns, optional
        Several text columns are a list; without a name, the usual names are tried.
    test : like `table`, optional
        The test split; without it, `test_share` of the documents is held out.
    **options
        As of the format `table`: separator, label_field, groups_column, strip_html, vectorizer, test_share, self_links,
        language, char_ngrams.

    Examples
    --------
    >>> import pyarrow as pa, xcwork
    >>> table = pa.table({"text": ["red wine", "green tea"], "labels": [["wine", "drink"], ["tea"]]})
    >>> xcwork.from_arrow(table).labels.names
    ['drink', 'tea', 'wine']
    """
    if isinstance(table, Mapping):
        if "train" not in table:
            raise DataError(f"there is no split 'train', only {', '.join(map(repr, table))}")
        if test is None:
            test = next((table[split] for split in TEST_SPLITS if split in table), None)
        table = table["train"]
    tables = [table] if test is None else [table, test]
    return _build([_convert_arrow(each) for each in tables], name, text, labels, options)


def _convert_arrow(given: Any) -> RecordTable:
    import pyarrow as pa

    if hasattr(given, "with_format") and hasattr(given, "features"):  # of Hugging Face; rows may be chosen or shuffled
        given = given.with_format("arrow")[:]
    try:
        table = given if isinstance(given, pa.Table) else pa.table(given)
    except (TypeError, ValueError, pa.ArrowException) as failure:
        raise ConfigError(f"a {type(given).__name__} is not a table of Arrow ({failure})") from None
    names = find_class_names(table.schema)
    return _check_records(RecordTable.from_columns(None, convert_columns(table, None, names), class_names=names))


def _check_records(table: RecordTable) -> RecordTable:
    if not len(table):
        raise DataError("the table has no records")
    return table


def _build(
    tables: list[RecordTable],
    name: str,
    text: str | list[str] | None,
    labels: str | None,
    options: Mapping[str, Any],
) -> Dataset:
    given = dict(options)
    self_links = given.pop("self_links", "auto")
    check_choice(self_links)
    known = ("separator", "label_field", "groups_column", "strip_html", "vectorizer", "test_share")
    given = sort_rewrite_options(given, has_vocabulary=False)
    if unknown := sorted(set(given) - set(known)):
        raise ConfigError(f"there is no option {unknown[0]!r}; there are {', '.join((*known, *ALWAYS))}")
    dataset = build_from_tables(tables, name, text_column=text, labels_column=labels, **given)
    return filter_self_links(dataset, self_links)
