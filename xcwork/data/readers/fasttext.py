"""fastText lines: `__label__a __label__b text`, one document per line.

What labels begin with is found: the word between two pairs of underscores that opens most lines, or `label_prefix`.
Every word that begins so is a label, wherever it stands, as for fastText itself; the other words are the text. A line
without a label is a document without labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawSplit
from xcwork.data.readers.columns import BINARY_SUFFIXES, JSON_SUFFIXES
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options
from xcwork.data.readers.safe_files import get_bare_name, list_files, peek_lines, read_lines
from xcwork.data.readers.split_names import SplitChoice, choose_splits, find_split
from xcwork.data.readers.text_options import make_vectorizer
from xcwork.errors import ConfigError, DataError

FORMAT = FormatDeclaration(
    name="fasttext",
    title="fastText lines `__label__a __label__b text`: one file, or train.txt, valid.txt, test.txt",
    files=("train.txt", "valid.txt", "test.txt"),
    options=describe_options(
        "encoding",
        "test",
        "test_share",
        "vectorizer",
        label_prefix="what labels begin with, where it is not found: `__label__`, `__tag__` or another such word",
    ),
    example={
        "cooking.train.txt": "__label__sauce __label__cheese How much starch for a cheese sauce?\n"
        "__label__baking Which flour for bread?\n__label__cheese Can I freeze cheese?\n",
        "cooking.valid.txt": "__label__baking Why does my bread not rise?\n",
    },
)
OTHER_SUFFIXES = (*JSON_SUFFIXES, *BINARY_SUFFIXES, ".npz", ".npy", ".arff", ".xml", ".ttl", ".rdf", ".md")
MAX_INSPECTED_FILES = 20
MIN_SHARE = 0.5  # of the first lines that begin with a label
MIN_SHARE_AT_END = 0.9  # of the first lines that end with a label, where labels follow the text
_PREFIX = re.compile(r"(__[^\W_]+(?:[_-][^\W_]+)*__)\S")
_LAST_PREFIX = re.compile(r"\s(__[^\W_]+(?:[_-][^\W_]+)*__)\S+\s*$")


def inspect(path: Path) -> Finding:
    files = _list_candidates(path)
    if not files:
        return Finding.refuse("a text file with lines such as `__label__a __label__b text`")
    choice = choose_splits(path, _filter_labelled(path, files))
    if choice is not None:
        return Finding.accept(f"{choice.train.name}, labels begin with {_find_prefix(choice.train)}")
    shares = [_measure_prefix(file)[1] for file in files[:1]]
    return Finding.refuse(
        f"labels such as `__label__a` at the start of most lines ({shares[0]:.0%} of the first lines have one)",
        seen=f"{files[0].name}, a text file",
        nearness=max(0.3, shares[0]),
        can_try=True,
    )


def read(
    path: Path,
    name: str,
    *,
    label_prefix: str | None = None,
    encoding: str = "utf-8",
    test: str | None = None,
    test_share: float = TEST_SHARE,
    vectorizer: Mapping[str, Any] | None = None,
) -> Dataset:
    choice = _choose_files(path, label_prefix, test)
    prefix = label_prefix or _find_prefix(choice.train)
    if not prefix.strip() or len(prefix.split()) > 1:
        raise ConfigError(f"label_prefix must be a word, got {label_prefix!r}")
    raw = RawDataset(
        train=_read_split(choice.train, prefix, encoding),
        test=None if choice.test is None else _read_split(choice.test, prefix, encoding),
        source=f"fastText lines of {choice.train.name}, labels begin with {prefix}",
        notes=choice.notes,
        path=path,
    )
    return build_dataset(raw, name=name, vectorizer=make_vectorizer(vectorizer), test_share=test_share)


def _choose_files(path: Path, label_prefix: str | None, test: str | None) -> SplitChoice:
    files = _list_candidates(path)
    choice = choose_splits(path, files if label_prefix else _filter_labelled(path, files), test)
    if choice is None:
        raise DataError(
            "no line begins with a label", file=path, remedy="say what labels begin with, such as label_prefix='#'"
        )
    return choice


def _list_candidates(path: Path) -> list[Path]:
    """Return the files that may hold fastText lines: those of a folder whose suffix is not that of another format."""
    files = [path] if path.is_file() else list_files(path)
    files = [file for file in files if Path(get_bare_name(file)).suffix.lower() not in OTHER_SUFFIXES]
    # A folder of thousands of documents is not one of fastText's; those that are called train come first.
    return sorted(files, key=lambda file: (find_split(file) is None, file.name))[:MAX_INSPECTED_FILES]


def _filter_labelled(path: Path, files: list[Path]) -> list[Path]:
    """Return the files whose first lines begin with labels; a file called test needs none."""
    labelled = [file for file in files if _measure_prefix(file)[1] >= MIN_SHARE]
    suffixes = {Path(get_bare_name(file)).suffix for file in labelled}
    unlabelled_tests = [
        file
        for file in files
        if file not in labelled and find_split(file) == "test" and Path(get_bare_name(file)).suffix in suffixes
    ]
    return [*labelled, *unlabelled_tests] if labelled and path.is_dir() else labelled


def _find_prefix(file: Path) -> str:
    return _measure_prefix(file)[0]


def _measure_prefix(file: Path) -> tuple[str, float]:
    """Return the prefix of the labels in the first lines of a file, and 1; or nothing, and how many lines have any."""
    lines = peek_lines(file)
    opened = Counter(found[1] for line in lines if (found := _PREFIX.match(line.lstrip())))
    ended = Counter(found[1] for line in lines if (found := _LAST_PREFIX.search(line)))
    for counts, min_share in ((opened, MIN_SHARE), (ended, MIN_SHARE_AT_END)):
        if counts and counts.most_common(1)[0][1] >= min_share * len(lines):
            return counts.most_common(1)[0][0], 1.0
    return "", sum(opened.values()) / max(1, len(lines))


def _read_split(file: Path, prefix: str, encoding: str) -> RawSplit:
    texts: list[str] = []
    labels: list[list[str]] = []
    for number, line in read_lines(file, encoding):
        if not line.strip():
            continue
        names, text = _split_line(line, prefix)
        if "" in names:
            raise DataError(
                f"a label has no name after {prefix!r}", file=file, line=number, remedy="write the name right behind it"
            )
        labels.append(names)
        texts.append(text)
    return RawSplit(texts=texts, labels=labels)


def _split_line(line: str, prefix: str) -> tuple[list[str], str]:
    """Return the labels of a line, each once, and its other words."""
    if prefix not in line:
        return [], line.strip()
    names: dict[str, None] = {}
    rest = line.lstrip()
    while rest.startswith(prefix):
        word, *after = rest.split(maxsplit=1)
        for name in word.split(f",{prefix}"):  # labels may also be separated by commas
            names[name.removeprefix(prefix).rstrip(",")] = None
        rest = after[0] if after else ""
    words = rest.split() if prefix in rest else []
    for word in words:
        if word.startswith(prefix):
            names[word[len(prefix) :]] = None
    if words:
        rest = " ".join(word for word in words if not word.startswith(prefix))
    return list(names), rest.strip().removeprefix(",").strip()  # `__label__1 , text` is how some write it
