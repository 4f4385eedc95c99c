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
from xcwork.errors import RunError
from xcwork.export.tables import safe_csv
from xcwork.metrics import EvalReport, evaluate, per_document, write_details
from xcwork.progress import track
from xcwork.storage.atomic import new_folder, write_json, write_text

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.dataset import Dataset
    from xcwork.methods.base import Method

METRICS, PREDICTIONS, LABELS, DOCUMENTS, ERRORS = (
    "metrics.json",
    "topk.npz",
    "per_label.csv",
    "per_document.csv",
    "errors.csv",
)
ERROR_ROWS, ERROR_K, SNIPPET = 1000, 5, 200


def evaluate_run(folder: Path, method: Method, dataset: Dataset) -> EvalReport:
    """Measure `method` on the test part of `dataset` and store everything in `folder`."""
    report = evaluate(method, dataset)
    with new_folder(folder) as temporary:
        write_json(temporary / METRICS, report.to_dict())
        np.savez_compressed(temporary / PREDICTIONS, ids=report.topk.ids, scores=report.topk.scores)
        write_details(report, dataset, temporary)
        write_text(temporary / ERRORS, safe_csv(errors(report.topk, dataset)))
    return report


def errors(topk: TopK, dataset: Dataset, *, k: int = ERROR_K, rows: int = ERROR_ROWS) -> pd.DataFrame:
    """The test documents ranked worst (nDCG@k) that miss a label: what was found, missed and wrongly predicted."""
    import pandas as pd

    test, names = dataset.test, dataset.labels.names
    table = per_document(topk, dataset, k=k)
    missing = table[table[f"misses@{k}"] > 0].sort_values([f"nDCG@{k}", "document"], kind="stable")
    listed = topk.head(k).ids
    found = []
    for document in track(missing["document"].tolist()[:rows], "listing errors"):
        true = set(test.Y.indices[test.Y.indptr[document] : test.Y.indptr[document + 1]].tolist())
        predicted = [label for label in listed[document].tolist() if label != MISSING]
        found.append(
            {
                "document": document,
                "uid": "" if test.uids is None else test.uids[document],
                "text": "" if test.texts is None else " ".join(test.texts[document].split())[:SNIPPET],
                "found": _joined(names, [label for label in predicted if label in true]),
                "missed": _joined(names, sorted(true - set(predicted))),
                "wrong": _joined(names, [label for label in predicted if label not in true]),
            }
        )
    return pd.DataFrame(found, columns=["document", "uid", "text", "found", "missed", "wrong"])


def read_report(folder: Path) -> EvalReport:
    """The stored metrics, without the predictions."""
    content = _read(folder / METRICS, lambda path: json.loads(path.read_text("utf-8")))
    if not isinstance(content, dict):
        raise RunError(f"{folder / METRICS} does not hold metrics; evaluate the run again")
    return EvalReport.from_dict(content)


def read_topk(folder: Path) -> TopK:
    """The stored predictions."""
    _read(folder / PREDICTIONS, check_npz)
    with _read(folder / PREDICTIONS, lambda path: np.load(path, allow_pickle=False)) as stored:
        ids, scores = (_read(folder / PREDICTIONS, lambda _, name=name: stored[name]) for name in ("ids", "scores"))
    if ids.dtype.kind != "i" or scores.dtype.kind != "f" or ids.ndim != 2 or ids.shape != scores.shape:
        raise RunError(f"{folder / PREDICTIONS} does not hold predictions; evaluate the run again")
    return TopK(ids, scores)


def read_table(folder: Path, file: str, rows: int | None = None) -> pd.DataFrame:
    """One of the CSV files, every cell as the text that stands there."""
    import pandas as pd

    return _read(folder / file, lambda path: pd.read_csv(path, dtype=str, keep_default_na=False, nrows=rows))


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


def _joined(names: list[str], labels: list[int]) -> str:
    return " | ".join(names[label] for label in labels)
