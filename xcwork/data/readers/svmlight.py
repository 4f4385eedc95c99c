"""svmlight lines with several labels: `3,7 12:0.5 40:1`, no header, comments after `#`.

Sizes come from the content of train and test together. Where no feature id is 0 the file is taken to count from 1, as
libsvm does and as scikit-learn guesses too; `one_based` says it explicitly. Labels are the numbers that occur.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, join_names
from xcwork.data.readers.safe_files import get_bare_name, read_head
from xcwork.data.readers.sparse_text import ParsedText, TextLayout, parse_file
from xcwork.errors import DataError

FORMAT = FormatDeclaration(
    name="svmlight",
    title="svmlight lines `label,label id:value …` in a .svm, .libsvm, .svmlight, .dat or .txt file",
    files=("train.svm", "test.svm"),
    options=describe_options(
        "allow_negative",
        "test_share",
        one_based="`true` or `false` instead of looking: files without a feature 0 count from 1",
    ),
    example={"train.svm": "3,7 1:0.5 4:1  # a comment\n7 2:1\n"},
)
MAX_SMALL_FILE_COLUMNS = 100_000_000  # of a small file: hashed features have many, but methods keep numbers for each
SUFFIXES = (".svm", ".libsvm", ".svmlight", ".txt", ".dat")
_LABELS = re.compile(rb"[+\d,]+")
_ENTRY = re.compile(rb"\d+:[^\s:]+")


def looks_like_svmlight(content: bytes) -> bool:
    """Return whether the first line that is not empty or a comment reads `labels id:value …`."""
    lines = [line for line in content.split(b"\n") if line.strip() and not line.startswith(b"#")]
    words = lines[0].split()[:20] if lines else []  # so few that the line is not cut off before
    entries = words[1:] if words and _LABELS.fullmatch(words[0]) else words
    return bool(entries) and _ENTRY.fullmatch(entries[0]) is not None


def inspect(path: Path) -> Finding:
    files = find_files(path)
    if not files:
        return Finding.refuse("a .svm, .libsvm, .svmlight, .dat or .txt file, or a folder with train.* and test.*")
    if Path(get_bare_name(files[0])).suffix == ".txt" and not looks_like_svmlight(read_head(files[0])):
        return Finding.refuse("lines such as `3,7 12:0.5 40:1`", seen="other lines", nearness=0.2)
    return Finding.accept(join_names([file.name for file in files]))


def read(
    path: Path,
    name: str,
    *,
    one_based: bool | None = None,
    allow_negative: bool = False,
    test_share: float = TEST_SHARE,
) -> Dataset:
    files = find_files(path)
    layout = TextLayout(labelled=True, allow_negative=allow_negative, comments=True)
    parsed = [_drop_blank_lines(parse_file(file, layout)) for file in files]
    shift = min(content.min_id for content in parsed) >= 1 if one_based is None else one_based
    if shift and any(content.min_id == 0 for content in parsed):
        raise DataError("a feature id is 0, so the file does not count from 1", file=path, remedy="leave out one_based")
    n_features = max(content.X.shape[1] for content in parsed) - shift
    labels = np.unique(np.concatenate([content.Y.indices for content in parsed]))
    if n_features <= 0 or not len(labels):
        raise DataError("the file has no features or no labels", file=path, line=1, remedy="check that it is complete")
    if n_features > max(MAX_SMALL_FILE_COLUMNS, *(file.stat().st_size for file in files)):
        raise DataError(
            f"the feature id {n_features - 1 + shift:,} is too large for so small a file",
            file=path,
            remedy="number the features that occur, or hash them to fewer columns",
        )
    splits = [_align_columns(content, n_features, int(shift), labels) for content in parsed]
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=RawLabels(names=[str(label) for label in labels]),
        source=f"svmlight, {' and '.join(file.name for file in files)}, feature ids from {int(shift)}",
        path=path,
    )
    return build_dataset(raw, name=name, test_share=test_share)


def _drop_blank_lines(parsed: ParsedText) -> ParsedText:
    """Return the documents that have features or labels."""
    kept = np.flatnonzero(np.diff(parsed.X.indptr) + np.diff(parsed.Y.indptr))
    if len(kept) == parsed.X.shape[0]:
        return parsed
    return ParsedText(parsed.X[kept], parsed.Y[kept], parsed.min_id)


def _align_columns(parsed: ParsedText, n_features: int, shift: int, labels: np.ndarray) -> RawSplit:
    """Return the documents in columns that train and test share."""
    X, Y = parsed.X, parsed.Y
    rows = X.shape[0]
    return RawSplit(
        X=sparse.csr_array((X.data, X.indices - np.int32(shift), X.indptr), shape=(rows, n_features)),
        Y=sparse.csr_array((Y.data, np.searchsorted(labels, Y.indices), Y.indptr), shape=(rows, len(labels))),
    )


def find_files(path: Path) -> list[Path]:
    """Return [the one file] or [train file, test file] or [train file]."""
    if path.is_file():
        return [path] if Path(get_bare_name(path)).suffix in SUFFIXES else []
    files = {get_bare_name(file): file for file in sorted(path.iterdir()) if file.is_file()}
    for name, file in files.items():
        if Path(name).suffix in SUFFIXES and Path(name).stem.endswith("train"):
            test = files.get(Path(name).stem.removesuffix("train") + "test" + Path(name).suffix)
            return [file] if test is None else [file, test]
    return []
