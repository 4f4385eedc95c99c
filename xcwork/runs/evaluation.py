"""The `eval/` folder of a run: metrics, predictions, and tables for spreadsheets, replaced as a whole."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from xcwork.core.topk import MISSING, TopK
from xcwork.data.readers.safe_files import check_npz
from xcwork.errors import RunError, XcworkError
from xcwork.export.tables import safe_csv
from xcwork.metrics import EvalReport, evaluate, write_details
from xcwork.progress import track
from xcwork.storage.atomic import new_folder, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

METRICS = "metrics.json"
PREDICTIONS = "topk.npz"
LABELS = "per_label.csv"
DOCUMENTS = "per_document.csv"
ERRORS = "errors.csv"
MAX_ERROR_DOCUMENTS = 1000
MAX_SNIPPET_CHARACTERS = 200
K = 5  # labels per document that the tables look at


def evaluate_run(folder: Path, method: Method, dataset: Dataset) -> tuple[EvalReport, pd.DataFrame]:
    """Measure `method` on the test split of `dataset` and store everything in `folder`.

    Returns the report and the table of labels, which the model card shows.
    """
    report = evaluate(method, dataset)
    topk = report.topk
    assert topk is not None  # only a report that was read from its file has no predictions
    with new_folder(folder) as temporary:
        write_json(temporary / METRICS, report.to_dict())
        np.savez_compressed(temporary / PREDICTIONS, ids=topk.ids, scores=topk.scores)
        labels, documents = write_details(topk, dataset, temporary, k=K)
        write_text(temporary / ERRORS, safe_csv(list_errors(topk, dataset, documents)))
    return report, labels


def list_errors(topk: TopK, dataset: Dataset, documents: pd.DataFrame) -> pd.DataFrame:
    """Return the test documents ranked worst (nDCG) that miss a label: what was found, missed and wrongly predicted.

    `documents` is the table of `metrics.per_document` with these predictions.
    """
    import pandas as pd

    test, names = dataset.test, dataset.labels.names
    missing = documents[documents[f"misses@{K}"] > 0].sort_values([f"nDCG@{K}", "document"], kind="stable")
    listed = topk.head(K).ids
    found = []
    for document in track(missing["document"].tolist()[:MAX_ERROR_DOCUMENTS], "listing errors"):
        true = set(test.Y.indices[test.Y.indptr[document] : test.Y.indptr[document + 1]].tolist())
        predicted = [label for label in listed[document].tolist() if label != MISSING]
        found.append(
            {
                "document": document,
                "uid": "" if test.uids is None else test.uids[document],
                "text": "" if test.texts is None else " ".join(test.texts[document].split())[:MAX_SNIPPET_CHARACTERS],
                "found": _join_names(names, [label for label in predicted if label in true]),
                "missed": _join_names(names, sorted(true - set(predicted))),
                "wrong": _join_names(names, [label for label in predicted if label not in true]),
            }
        )
    return pd.DataFrame(found, columns=["document", "uid", "text", "found", "missed", "wrong"])


def read_report(folder: Path) -> EvalReport:
    """Return the stored metrics, without the predictions."""
    content = _read(folder / METRICS, lambda path: json.loads(path.read_text("utf-8")))
    if not isinstance(content, dict):
        raise RunError(f"{folder / METRICS} does not hold metrics; evaluate the run again")
    return EvalReport.from_dict(content)


def read_topk(folder: Path) -> TopK:
    """Return the stored predictions."""
    _read(folder / PREDICTIONS, check_npz)
    with _read(folder / PREDICTIONS, lambda path: np.load(path, allow_pickle=False)) as stored:
        ids, scores = (_read(folder / PREDICTIONS, lambda _, name=name: stored[name]) for name in ("ids", "scores"))
    if ids.dtype.kind != "i" or scores.dtype.kind != "f" or ids.ndim != 2 or ids.shape != scores.shape:
        raise RunError(f"{folder / PREDICTIONS} does not hold predictions; evaluate the run again")
    return TopK(ids, scores)


def read_table(folder: Path, file: str, rows: int | None = None) -> pd.DataFrame:
    """Return one of the CSV files, every cell as the text that stands there."""
    import pandas as pd

    return _read(folder / file, lambda path: pd.read_csv(path, dtype=str, keep_default_na=False, nrows=rows))


def read_label_table(folder: Path) -> pd.DataFrame:
    """Return names and counts of the labels; a damaged file reads as an empty table."""
    import pandas as pd

    try:
        table = read_table(folder, LABELS)
        counts = {name: table[name].astype(int) for name in ("test_documents", f"hits@{K}")}
        return pd.DataFrame({"label": table["label"], **counts})
    except (XcworkError, KeyError, ValueError, OverflowError):
        return pd.DataFrame({"label": [], "test_documents": [], f"hits@{K}": []})


def _read(path: Path, reader: Any) -> Any:
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
