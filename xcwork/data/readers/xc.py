"""XC-repository text: a header `N F L`, then one document a line, `l1,l2 f:v f:v`.

Either one file, or a folder with `train.txt` and `test.txt` (or `*_train.txt` and `*_test.txt`), gzipped or not.
Optional beside them: `Y.txt` and `Xf.txt`, the names of labels and features, one a line, and in a folder
`filter_labels_train.txt` and `filter_labels_test.txt`, pairs `row label` that must not be predicted.
"""

from __future__ import annotations

from pathlib import Path

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.readers.assemble import TEST_SHARE, Part, feature_dataset, label_space, read_names
from xcwork.data.readers.safe_files import bare_name, find, head
from xcwork.data.readers.sparse_header import XC_NAMES, agree, read_header
from xcwork.data.readers.sparse_text import Layout, one_based_option, parse_file
from xcwork.data.readers.split_files import read_filter
from xcwork.data.readers.svmlight import looks_like_svmlight

TITLE = "XC-repository text (header `N F L`): a .txt file, or train.txt and test.txt"


def recognises(path: Path) -> bool:
    files = parts_of(path)
    # A .txt file with a broken header is still ours: nobody else could say what is wrong with it.
    return bool(files) and not looks_like_svmlight(head(files[0]))


def read(
    path: Path,
    name: str,
    *,
    one_based: bool | str = False,
    allow_negative: bool = False,
    test_share: float = TEST_SHARE,
) -> Dataset:
    files = parts_of(path)
    headers = [read_header(file, XC_NAMES) for file in files]
    for file, header in zip(files, headers, strict=True):
        agree(file, XC_NAMES[1:], header[1:], files[0], headers[0][1:])
    parts = []
    for part, file, (n_documents, n_features, n_labels) in zip(("train", "test"), files, headers, strict=False):
        layout = Layout(
            labelled=True,
            n_rows=n_documents,
            n_columns=n_features,
            n_labels=n_labels,
            one_based=one_based_option(one_based),
            allow_negative=allow_negative,
        )
        parsed = parse_file(file, layout)
        pairs = read_filter(file.parent, part, n_documents, n_labels) if path.is_dir() else None
        parts.append(Part(parsed.X, parsed.Y, filter_pairs=pairs))
    _, n_features, n_labels = headers[0]
    folder = files[0].parent
    label_names, feature_names = find(folder, "Y.txt"), find(folder, "Xf.txt")
    return feature_dataset(
        name,
        parts[0],
        parts[1] if len(parts) > 1 else None,
        path=path,
        test_share=test_share,
        source=f"XC-repository text, {' and '.join(file.name for file in files)}",
        labels=label_space(label_names and read_names(label_names, n_labels, "labels"), n_labels),
        features=Features(n_features, feature_names and read_names(feature_names, n_features, "features")),
    )


def parts_of(path: Path) -> list[Path]:
    """[the one file] or [train file, test file] or [train file]."""
    if path.is_file():
        return [path] if Path(bare_name(path)).suffix in (".txt", ".xc") else []
    trains = (
        [found]
        if (found := find(path, "train.txt"))
        else sorted(file for file in path.iterdir() if file.is_file() and bare_name(file).endswith("_train.txt"))
    )
    if len(trains) != 1:
        return []
    test = find(path, bare_name(trains[0]).removesuffix("train.txt") + "test.txt")
    return trains if test is None else [trains[0], test]
