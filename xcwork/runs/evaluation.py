"""The `eval/` folder of a run: metrics, predictions, and tables for spreadsheets, replaced as a whole."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.topk import TopK
from xcwork.data.readers.safe_files import check_npz
from xcwork.errors import RunError, XcworkError
from xcwork.export.tables import render_csv
from xcwork.metrics import EvalReport, evaluate, write_details
from xcwork.metrics.per_item import judge_labels
from xcwork.metrics.ranking import compute_highest_precision
from xcwork.progress import track
from xcwork.storage.atomic import create_folder, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

METRICS_FILE = "metrics.json"
PREDICTIONS_FILE = "topk.npz"
LABELS_FILE = "per_label.csv"
DOCUMENTS_FILE = "per_document.csv"
ERRORS_FILE = "errors.csv"
MAX_ERROR_DOCUMENTS = 1000
MAX_SNIPPET_CHARACTERS = 200
LABELS_PER_DOCUMENT = 5  # that the tables look at


def evaluate_run(folder: Path, method: Method, dataset: Dataset) -> tuple[EvalReport, pd.DataFrame]:
    """Measure `method` on the test split of `dataset` and store everything in `folder`.

    Returns the report and the table of labels, which the model card shows.
    """
    report = evaluate(method, dataset)
    topk = report.topk
    assert topk is not None  # only a report that was read from its file has no predictions
    with create_folder(folder) as temporary:
        write_json(temporary / METRICS_FILE, report.to_dict())
        if topk.probabilities is None:
            np.savez_compressed(temporary / PREDICTIONS_FILE, ids=topk.ids, scores=topk.scores)
        else:
            np.savez_compressed(
                temporary / PREDICTIONS_FILE, ids=topk.ids, scores=topk.scores, probabilities=topk.probabilities
            )
        labels, documents = write_details(topk, dataset, temporary, k=LABELS_PER_DOCUMENT)
        write_text(temporary / ERRORS_FILE, render_csv(list_errors(topk, dataset, documents)))
    return report, labels


def list_errors(topk: TopK, dataset: Dataset, documents: pd.DataFrame) -> pd.DataFrame:
    """Return the test documents ranked worst (nDCG) that miss a label: what was found, missed and wrongly predicted.

    `documents` is the table of `metrics.tabulate_documents` with these predictions.
    """
    import pandas as pd

    test, names = dataset.test, dataset.labels.names
    missing = documents[documents[f"misses@{LABELS_PER_DOCUMENT}"] > 0].sort_values(
        [f"nDCG@{LABELS_PER_DOCUMENT}", "document"], kind="stable"
    )
    listed = topk.head(LABELS_PER_DOCUMENT).ids
    found = []
    for document in track(missing["document"].tolist()[:MAX_ERROR_DOCUMENTS], "listing errors"):
        judged = judge_labels(listed[document], test, document)
        found.append(
            {
                "document": document,
                "uid": "" if test.uids is None else test.uids[document],
                "text": "" if test.texts is None else " ".join(test.texts[document].split())[:MAX_SNIPPET_CHARACTERS],
                "found": _join_names(names, judged.found),
                "missed": _join_names(names, judged.missed),
                "wrong": _join_names(names, judged.wrong),
            }
        )
    return pd.DataFrame(found, columns=["document", "uid", "text", "found", "missed", "wrong"])


def read_report(folder: Path) -> EvalReport:
    """Return the stored metrics, without the predictions."""
    content = _read_checked(folder / METRICS_FILE, lambda path: json.loads(path.read_text("utf-8")))
    if not isinstance(content, dict):
        raise RunError(f"{folder / METRICS_FILE} does not hold metrics; evaluate the run again")
    return EvalReport.from_dict(content)


def read_topk(folder: Path) -> TopK:
    """Return the stored predictions."""
    _read_checked(folder / PREDICTIONS_FILE, check_npz)
    with _read_checked(folder / PREDICTIONS_FILE, lambda path: np.load(path, allow_pickle=False)) as stored:
        ids, scores = (
            _read_checked(folder / PREDICTIONS_FILE, lambda _, name=name: stored[name]) for name in ("ids", "scores")
        )
        names = stored.files
        known = (
            _read_checked(folder / PREDICTIONS_FILE, lambda _: stored["probabilities"])
            if "probabilities" in names
            else None
        )
    if ids.dtype.kind != "i" or scores.dtype.kind != "f" or ids.ndim != 2 or ids.shape != scores.shape:
        raise RunError(f"{folder / PREDICTIONS_FILE} does not hold predictions; evaluate the run again")
    if known is not None and (known.shape != ids.shape or known.dtype != np.float32 or not _are_probabilities(known)):
        raise RunError(f"the probabilities in {folder / PREDICTIONS_FILE} are damaged; evaluate the run again")
    return TopK(ids, scores, probabilities=known)


def _are_probabilities(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all())


def read_table(folder: Path, file: str, rows: int | None = None) -> pd.DataFrame:
    """Return one of the CSV files, every cell as text."""
    import pandas as pd

    return _read_checked(folder / file, lambda path: pd.read_csv(path, dtype=str, keep_default_na=False, nrows=rows))


def read_highest_precision(folder: Path, k: int) -> float | None:
    """Return the highest P@k that is possible on the test split, in percent; None where the table cannot be read.

    The number of true labels of each document is stored with its results, so the dataset is not needed.
    """
    import pandas as pd

    try:
        table = _read_checked(folder / DOCUMENTS_FILE, lambda path: pd.read_csv(path, usecols=["n_true"]))
    except XcworkError:
        return None
    counts = table["n_true"].to_numpy()
    is_damaged = counts.dtype.kind != "i" or (counts < 0).any()
    return None if is_damaged else compute_highest_precision(counts, k)


def read_label_table(folder: Path) -> pd.DataFrame:
    """Return names and counts of the labels; a damaged file reads as an empty table."""
    import pandas as pd

    try:
        table = read_table(folder, LABELS_FILE)
        counts = {name: table[name].astype(int) for name in ("test_documents", f"hits@{LABELS_PER_DOCUMENT}")}
        return pd.DataFrame({"label": table["label"], **counts})
    except (XcworkError, KeyError, ValueError, OverflowError):
        return pd.DataFrame({"label": [], "test_documents": [], f"hits@{LABELS_PER_DOCUMENT}": []})


def _read_checked(path: Path, reader: Any) -> Any:
    try:
        return reader(path)
    except FileNotFoundError:
        raise RunError(f"{path} is missing; evaluate the run again") from None
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        EOFError,
        SyntaxError,
        ArithmeticError,
        RuntimeError,
        MemoryError,
        RecursionError,
        TokenError,
        zipfile.BadZipFile,
        zlib.error,
    ) as damage:
        raise RunError(f"{path} cannot be read ({damage}); evaluate the run again") from None


def _join_names(names: list[str], labels: list[int]) -> str:
    return " | ".join(names[label] for label in labels)
