"""Parquet and Arrow files as columns of Python values, and the names of classes that Hugging Face stores with them.

Hugging Face's `datasets` writes what it knows about columns as JSON into the schema, under `huggingface`. A column of
type `ClassLabel` (or a list of them) holds numbers, and the names are there. Neither that package nor its cache is
needed. Columns that can be neither text nor labels (bytes, lists of fractions) are left out before they take memory.

Files are untrusted: Arrow does not check the offsets in a file, so a table is validated before a value is read, and its
size is estimated before it becomes Python objects.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork.compute.memory import check_memory
from xcwork.data.readers.arrow_claims import check_claims
from xcwork.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET_SUFFIX = ".parquet"
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
ROWS_PER_BATCH = 4096
BYTES_PER_VALUE = 64  # of a Python object and its place in a list, besides the bytes of a text
OTHER_EXPANSION_RATIO = 10  # Python values per byte of an Arrow column that is not text
_FILE_MAGIC = b"ARROW1"
_FILE_MARK_BYTES = 8  # with padding
_HUGGING_FACE = b"huggingface"
_LIST_TYPES = ("Sequence", "List", "LargeList")

ClassNames = dict[str, list[str]]  # column: names of its classes


def read_arrow_file(path: Path, max_records: int | None = None) -> pa.Table:
    """Return the records of a Parquet or Arrow file: all, or the first `max_records`."""
    if path.stat().st_size == 0:
        raise DataError("the file is empty", file=path, remedy="download or write it again")
    if path.suffix.lower() not in (PARQUET_SUFFIX, *ARROW_SUFFIXES):
        raise DataError("compressed Arrow tables cannot be read", file=path, remedy="unpack it first")
    is_parquet = path.suffix.lower() == PARQUET_SUFFIX
    with _raise_damage(path, "Parquet" if is_parquet else "Arrow"):
        return (_read_parquet if is_parquet else _read_ipc)(path, max_records)


def _read_parquet(path: Path, max_records: int | None) -> pa.Table:
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        kept = _choose_columns(file.schema_arrow, path)
        if max_records is None:
            check_memory(2 * sum(group.total_byte_size for group in groups), "the table", path)
            check_memory(BYTES_PER_VALUE * file.metadata.num_rows * len(kept), "the table", path)
        batches = file.iter_batches(batch_size=min(ROWS_PER_BATCH, max_records or ROWS_PER_BATCH), columns=kept)
        schema = _select_fields(file.schema_arrow, kept)
        return pa.Table.from_batches(_collect_batches(batches, max_records, path), schema=schema)


def _read_ipc(path: Path, max_records: int | None) -> pa.Table:
    """Return the records of a stream of Arrow batches, which `datasets` writes, or of an Arrow file (Feather)."""
    import pyarrow as pa

    # Mapped, so that sizes that the file claims are compared with what it holds instead of being allocated.
    with pa.memory_map(str(path)) as source:
        buffer = source.read_buffer()
        # An Arrow file is a stream between two marks, and an index, which is not needed.
        stream = buffer.slice(_FILE_MARK_BYTES) if buffer.slice(0, 6).to_pybytes() == _FILE_MAGIC else buffer
        check_claims(stream, path)
        reader = pa.ipc.open_stream(stream)
        kept = _choose_columns(reader.schema, path)
        chosen = (batch.select(kept) for batch in reader)
        batches = _collect_batches(chosen, max_records, path)
        return pa.Table.from_batches(batches, schema=_select_fields(reader.schema, kept))


def _select_fields(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in names], metadata=schema.metadata)


def _collect_batches(
    batches: Iterable[pa.RecordBatch], max_records: int | None, path: Path
) -> Iterator[pa.RecordBatch]:
    """Yield validated batches until there are `max_records`; what would not fit into memory is refused on the way."""
    n_records = 0
    n_bytes = 0
    for batch in batches:
        batch.validate(full=True)
        n_bytes += _estimate_bytes(batch)
        check_memory(n_bytes, "the table", path)
        if max_records is not None and n_records + batch.num_rows >= max_records:
            yield batch.slice(0, max_records - n_records)
            return
        n_records += batch.num_rows
        yield batch


def _estimate_bytes(batch: pa.RecordBatch) -> int:
    """Return about how many bytes the values of a batch take as Python objects."""
    import pyarrow as pa

    needed = BYTES_PER_VALUE * batch.num_rows * batch.num_columns
    for column in batch.columns:
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        needed += column.nbytes * (1 if is_text else OTHER_EXPANSION_RATIO)
    return needed


def _choose_columns(schema: pa.Schema, path: Path | None) -> list[str]:
    """Return the names of the columns that may be text or labels."""
    if twice := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        raise DataError(f"the column {twice[0]!r} occurs twice", file=path, remedy="rename one of the two")
    return [field.name for field in schema if _may_be_used(field.type)]


def _may_be_used(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return not types.is_floating(kind.value_type) and _may_be_used(kind.value_type)
    if types.is_struct(kind):
        return all(_may_be_used(field.type) for field in kind)
    if types.is_dictionary(kind):
        return _may_be_used(kind.value_type)
    return (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_date(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def convert_columns(table: pa.Table, path: Path | None, classes: ClassNames | None = None) -> dict[str, list[Any]]:
    """Return the columns that may be text or labels as Python values; numbers of classes become their names."""
    kept = _choose_columns(table.schema, path)
    names = find_class_names(table.schema) if classes is None else classes
    with _raise_damage(path, "Arrow"):
        columns = {name: table.column(name).to_pylist() for name in kept}
    return {
        name: _name_classes(name, values, names[name], path) if name in names else values
        for name, values in columns.items()
    }


def find_class_names(schema: pa.Schema) -> ClassNames:
    """Return the names of the classes of each column that `datasets` declared as `ClassLabel` or a list of them."""
    try:
        stored = json.loads((schema.metadata or {}).get(_HUGGING_FACE, b"{}"))
        features = stored["info"]["features"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return {}
    return parse_class_names(features)


def parse_class_names(features: Any) -> ClassNames:
    """Return the names of classes by column, from the JSON form of the features of a dataset."""
    found = {}
    for column, feature in features.items() if isinstance(features, Mapping) else ():
        if isinstance(feature, Mapping) and feature.get("_type") in _LIST_TYPES:
            feature = feature.get("feature")
        elif isinstance(feature, list) and len(feature) == 1:  # how lists were written before `Sequence`
            feature = feature[0]
        names = feature.get("names") if isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel" else None
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            found[column] = names
    return found


def _name_classes(column: str, values: list[Any], names: list[str], path: Path | None) -> list[Any]:
    """Return values with the name of a class for its number; -1 stands for a class that is not known."""

    def name(value: Any, record: int) -> Any:
        if isinstance(value, list):
            return [named for each in value if (named := name(each, record)) is not None]
        if not isinstance(value, int) or isinstance(value, bool):
            return value
        if not -1 <= value < len(names):
            raise DataError(
                f"{value} in column {column!r} is not one of its {len(names):,} classes",
                file=path,
                line=record,
                remedy="write the file again; its numbers and its names of classes do not belong together",
            )
        return None if value == -1 else names[value]

    return [name(value, record) for record, value in enumerate(values, start=1)]


@contextmanager
def _raise_damage(path: Path | None, kind: str) -> Iterator[None]:
    """Turn what Arrow says about a damaged file into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (
        pa.ArrowException,
        struct.error,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        MemoryError,
    ) as failure:
        problem = f"the {kind} file is damaged ({' '.join(str(failure).split())[:100]})"
        raise DataError(problem, file=path, remedy="download or write it again") from failure
