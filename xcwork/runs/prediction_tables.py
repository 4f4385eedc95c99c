"""Predictions as a table, one row per label: CSV that is safe in a spreadsheet, or Parquet.

Made from the JSON lines that `xcwork predict --file` has written, block by block, and put into place in one step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.export.tables import render_csv
from xcwork.storage.atomic import create_file

if TYPE_CHECKING:
    import pandas as pd

TABLE_SUFFIXES = (".csv", ".parquet")
FIRST_COLUMNS = ("document", "uid", "rank", "label", "score")
BLOCK_DOCUMENTS = 2_000


def is_earlier_table(path: Path) -> bool:
    """Return whether the file is one that `write_table` wrote."""
    if path.suffix.lower() == ".csv":
        with path.open("rb") as file:
            return file.read(200).startswith(",".join(FIRST_COLUMNS).encode())
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return tuple(parquet.read_schema(path).names[: len(FIRST_COLUMNS)]) == FIRST_COLUMNS
    except (pa.ArrowException, OSError, ValueError):
        return False


def write_table(lines: Path, output: Path, *, probabilities: bool, decide: bool, texts: bool = False) -> None:
    """Write the answers in `lines` to `output` in the format that its suffix names.

    With `texts` the lines hold the documents too; then every row has its text, and the probability in percent.
    """
    columns = list(FIRST_COLUMNS)
    columns += (["probability"] if probabilities else []) + (["decision"] if decide else [])
    columns += (["percent"] if probabilities and texts else []) + (["text"] if texts else [])
    with create_file(output) as temporary:
        if output.suffix.lower() == ".csv":
            _write_csv(lines, temporary, columns)
        else:
            _write_parquet(lines, temporary, columns)


def _write_csv(lines: Path, path: Path, columns: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(columns) + "\n")
        for frame in _read_frames(lines, columns):
            file.write(render_csv(frame).partition("\n")[2])


def _write_parquet(lines: Path, path: Path, columns: list[str]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = dict.fromkeys(("document", "rank"), pa.int64())
    kinds |= dict.fromkeys(("score", "probability", "percent"), pa.float64())
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns])
    with parquet.ParquetWriter(path, schema) as writer:
        for frame in _read_frames(lines, columns):
            writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))


def _read_frames(lines: Path, columns: list[str]) -> Iterator[pd.DataFrame]:
    """Yield the answers as frames of bounded size."""
    import pandas as pd

    with lines.open(encoding="utf-8") as file:
        while block := list(islice(file, BLOCK_DOCUMENTS)):
            rows: list[dict[str, Any]] = []
            for line in block:
                record = json.loads(line)
                name = {"document": record["document"], "uid": record.get("uid"), "text": record.get("text")}
                rows += [name | {"rank": rank} | each for rank, each in enumerate(record["predictions"], start=1)]
            frame = pd.DataFrame(rows, columns=columns)
            if "percent" in columns:
                frame["percent"] = (100.0 * frame["probability"].astype(float)).round(1)
            yield frame
