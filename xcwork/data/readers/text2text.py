"""PECOS text2text lines: `3,7<TAB>text`, or `3::0.5,7::1<TAB>text` with a relevance for each label.

Ids count the lines of a file with the output items, from 0; without such a file the ids are the names. Relevances say
how much a label matters; here a label is one or it is not, so only a relevance of 0 has an effect.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options
from xcwork.data.readers.label_file import find_label_file
from xcwork.data.readers.safe_files import get_bare_name, list_files, peek_lines, read_lines
from xcwork.data.readers.split_names import choose_splits
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="text2text",
    title="PECOS text2text lines `3,7<TAB>text` or `3::0.5<TAB>text`: one file, or train.txt and test.txt",
    files=("train.txt", "test.txt", "output-items.txt"),
    options=describe_options(
        "encoding",
        "test",
        "test_share",
        "vectorizer",
        label_file="a file with the text of each label, one per line, counted from 0",
    ),
    example={
        "train.txt": "0,2\tAlan Turing is a father of computer science\n1\tHinton wrote about neural networks\n",
        "test.txt": "1,2\tThe Turing Award of 2018\n",
        "output-items.txt": "computing\nneural networks\npeople\n",
    },
)
SUFFIXES = (".txt", ".tsv")
ITEM_WORDS = frozenset({"items", "item", "labels", "label", "outputs"})
MAX_INSPECTED_FILES = 20
MIN_SHARE = 0.9  # of the first lines that look like ids, a tab and a text
_IDS = re.compile(r"\d{1,9}(?:::[^\s,:]+)?(?:,\d{1,9}(?:::[^\s,:]+)?)*")


def inspect(path: Path) -> Finding:
    files = _list_candidates(path)
    choice = choose_splits(path, [file for file in files if _looks_like_pairs(file)])
    if choice is not None:
        return Finding.accept(f"{choice.train.name}: ids, a tab and a text in each line")
    return Finding.refuse("lines with ids, a tab and a text, such as `3,7<TAB>text`", nearness=0.2 if files else 0.0)


def read(
    path: Path,
    name: str,
    *,
    label_file: str | None = None,
    encoding: str = "utf-8",
    test: str | None = None,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    candidates = _list_candidates(path)
    choice = choose_splits(path, [file for file in candidates if _looks_like_pairs(file)], test)
    assert choice is not None  # or nobody would have recognised it
    files = [choice.train, *([] if choice.test is None else [choice.test])]
    splits = [_read_split(file, encoding) for file in files]
    max_id = max((int(key) for split in splits for row in split.labels or () for key in row), default=-1)
    folder = choice.train.parent
    if label_file is None:
        labels, notes = _find_items(folder, files, max_id, encoding)
    else:
        labels, notes = _read_items(find_label_file(label_file, folder), max_id, encoding), []
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=labels,
        source=f"PECOS text2text lines, {' and '.join(file.name for file in files)}",
        notes=[*choice.notes, *notes],
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _list_candidates(path: Path) -> list[Path]:
    files = [path] if path.is_file() else list_files(path)
    return [file for file in files if Path(get_bare_name(file)).suffix.lower() in SUFFIXES][:MAX_INSPECTED_FILES]


def _looks_like_pairs(file: Path) -> bool:
    """Return whether the first lines of a file are ids, a tab and a text; a table would begin with names of columns."""
    lines = peek_lines(file)
    fits = [_is_pair(line) for line in lines]
    n_labelled = sum(not line.startswith("\t") for line in lines)
    return bool(fits) and fits[0] and sum(fits) >= MIN_SHARE * len(fits) and 2 * n_labelled >= len(lines)


def _is_pair(line: str) -> bool:
    ids, tab, text = line.partition("\t")
    # Two numbers with a tab between them are a table of numbers.
    is_list = not ids or _IDS.fullmatch(ids.strip()) is not None
    return bool(tab) and is_list and any(map(str.isalpha, text)) and "\t" not in text


def _read_split(file: Path, encoding: str) -> RawSplit:
    texts: list[str] = []
    labels: list[list[str]] = []
    for number, line in read_lines(file, encoding):
        if not line.strip():
            continue
        ids, tab, text = line.partition("\t")
        if not tab or (ids.strip() and _IDS.fullmatch(ids.strip()) is None):
            raise DataError(
                f"{line[:40]!r} is not ids, a tab and a text",
                file=file,
                line=number,
                remedy="write `3,7<TAB>text` or `3::0.5,7::1<TAB>text`",
            )
        labels.append(_read_ids(ids, file, number))
        texts.append(text.strip())
    return RawSplit(texts=texts, labels=labels)


def _read_ids(ids: str, file: Path, line: int) -> list[str]:
    """Return the ids whose relevance is not 0, each once."""
    kept: dict[str, None] = {}
    for entry in filter(None, ids.strip().split(",")):
        label, _, relevance = entry.partition("::")
        try:
            weight = float(relevance or 1)
        except ValueError:
            weight = math.nan
        if not math.isfinite(weight):
            raise DataError(
                f"the relevance {relevance[:20]!r} is not a number", file=file, line=line, remedy="write `id::0.5`"
            )
        if weight:
            kept[str(int(label))] = None
    return list(kept)


def _find_items(folder: Path, documents: list[Path], max_id: int, encoding: str) -> tuple[RawLabels, list[str]]:
    """Return the labels of the file that is called items or labels, if it has enough lines, and notes."""
    notes = []
    for file in list_files(folder):
        words = set(re.split(r"[^a-z]+", Path(get_bare_name(file)).stem.lower()))
        if file in documents or not words & ITEM_WORDS or Path(get_bare_name(file)).suffix.lower() != ".txt":
            continue
        n_lines = sum(1 for _ in read_lines(file, encoding)) if file.stat().st_size else 0
        if n_lines > max_id:
            return _read_items(file, max_id, encoding), [f"names of labels are from {file.name}"]
        notes.append(f"{file.name} has {n_lines:,} lines, but ids go up to {max_id:,}, so it does not name the labels")
    return RawLabels(), notes


def _read_items(file: Path, max_id: int, encoding: str) -> RawLabels:
    names = [line.strip() for _, line in read_lines(file, encoding)]
    if len(names) <= max_id:
        raise DataError(
            f"there are {len(names):,} labels, but ids go up to {max_id:,}",
            file=file,
            line=len(names) + 1,
            remedy="use the file that belongs to these documents",
        )
    uids = [str(number) for number in range(len(names))]
    return RawLabels(names=[name or uid for name, uid in zip(names, uids, strict=True)], texts=names, uids=uids)
