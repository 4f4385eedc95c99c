"""XC-repository text: a header `N F L`, then one document per line, `l1,l2 f:v f:v`.

Either one file, or a folder with `train.txt` and `test.txt` (or `*_train.txt` and `*_test.txt`), gzipped or not.
Optional beside them: `Y.txt` and `Xf.txt`, the names of labels and features, one per line, and in a folder
`filter_labels_train.txt` and `filter_labels_test.txt`, pairs `row label` that must not be predicted.
"""

from __future__ import annotations

from pathlib import Path

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import TEST_SHARE, build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.data.readers.companion_files import find_names, read_filter_pairs
from xcwork.data.readers.declaration import Finding, FormatDeclaration, describe_options, join_names
from xcwork.data.readers.safe_files import find_file, get_bare_name, read_head
from xcwork.data.readers.sparse_header import XC_NAMES, check_agreement, read_header
from xcwork.data.readers.sparse_text import TextLayout, parse_file, parse_one_based
from xcwork.data.readers.svmlight import looks_like_svmlight

FORMAT = FormatDeclaration(
    name="xc",
    title="text of the Extreme Classification Repository (header `N F L`): a .txt file, or train.txt and test.txt",
    files=("train.txt", "test.txt", "Y.txt", "Xf.txt", "filter_labels_train.txt", "filter_labels_test.txt"),
    options=describe_options(
        "allow_negative",
        "test_share",
        one_based="`true` for files that count from 1 instead of 0; `features` or `labels` if only those do",
    ),
    example={"train.txt": "3 4 5\n0,2 1:0.5 3:2\n 0:0.1\n4 1:3 2:0.25\n"},
)


def inspect(path: Path) -> Finding:
    files = find_files(path)
    if not files:
        return Finding.refuse("a .txt file with the header `N F L`, or a folder with train.txt and test.txt")
    head = read_head(files[0])
    if looks_like_svmlight(head):
        return Finding.refuse("the header `N F L`", seen="svmlight lines", nearness=0.5)
    first, _, rest = head.partition(b"\n")
    words = first.split()
    n_numbers = sum(word.strip(b"+-,.").isdigit() for word in words)
    # A broken header is still ours: nobody else could say what is wrong with it.
    if 2 * n_numbers < len(words) and not looks_like_svmlight(rest):
        return Finding.refuse("the header `N F L`, three numbers, in the first line", seen=files[0].name, nearness=0.3)
    return Finding.accept(join_names([file.name for file in files]))


def read(
    path: Path,
    name: str,
    *,
    one_based: bool | str = False,
    allow_negative: bool = False,
    test_share: float = TEST_SHARE,
) -> Dataset:
    files = find_files(path)
    headers = [read_header(file, XC_NAMES) for file in files]
    for file, header in zip(files, headers, strict=True):
        check_agreement(file, XC_NAMES[1:], header[1:], files[0], headers[0][1:])
    splits = []
    for split, file, (n_documents, n_features, n_labels) in zip(("train", "test"), files, headers, strict=False):
        layout = TextLayout(
            labelled=True,
            n_rows=n_documents,
            n_columns=n_features,
            n_labels=n_labels,
            one_based=parse_one_based(one_based),
            allow_negative=allow_negative,
        )
        parsed = parse_file(file, layout)
        pairs = read_filter_pairs(file.parent, split, n_documents, n_labels) if path.is_dir() else None
        splits.append(RawSplit(X=parsed.X, Y=parsed.Y, filter_pairs=pairs))
    _, n_features, n_labels = headers[0]
    folder = files[0].parent
    names = find_names(folder, n_labels, "labels", "Y.txt")
    raw = RawDataset(
        train=splits[0],
        test=splits[1] if len(splits) > 1 else None,
        labels=RawLabels(names=names, texts=names),
        features=Features(n_features, find_names(folder, n_features, "features", "Xf.txt")),
        source=f"XC-repository text, {' and '.join(file.name for file in files)}",
        path=path,
    )
    return build_dataset(raw, name=name, test_share=test_share)


def find_files(path: Path) -> list[Path]:
    """Return [the one file] or [train file, test file] or [train file]."""
    if path.is_file():
        return [path] if Path(get_bare_name(path)).suffix in (".txt", ".xc") else []
    trains = (
        [found]
        if (found := find_file(path, "train.txt"))
        else sorted(file for file in path.iterdir() if file.is_file() and get_bare_name(file).endswith("_train.txt"))
    )
    if len(trains) != 1:
        return []
    test = find_file(path, get_bare_name(trains[0]).removesuffix("train.txt") + "test.txt")
    return trains if test is None else [trains[0], test]
