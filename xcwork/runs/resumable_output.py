"""An output file of JSON lines that can be interrupted at any moment and continued by the same command.

While it is incomplete a small file beside it, `<output>.job`, says which job writes it. The next start of the same job
cuts off a torn last line and continues after the complete ones, so every line is there exactly once. A start of
another job refuses to touch an unfinished file, and nothing that is not an earlier output is ever overwritten. The open
file is locked, so the same command started twice does not write everything twice.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from xcwork.errors import ConfigError
from xcwork.export.json_text import to_json
from xcwork.storage.atomic import write_json

BLOCK_BYTES = 2**20


class ContinuedFile:
    """Lines of `path`; `done` are there already when it is opened."""

    def __init__(self, path: Path, job: Mapping[str, Any]) -> None:
        self.path = path
        self._job_file = path.with_name(f"{path.name}.job")
        self._job = json.loads(to_json(job))
        if path.exists() and not self._job_file.exists() and not _is_output(path):
            raise ConfigError(f"{path} exists and is not an earlier output of predict; choose another --output")
        self._file = self._open_locked()
        try:
            self.done = self._continue() if self._job_file.exists() else self._begin()
        except (ConfigError, OSError):
            self._file.close()
            raise

    def _open_locked(self) -> BinaryIO:
        file = self.path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise ConfigError(
                f"another xcwork predict is writing {self.path}; wait for it, or choose another --output"
            ) from None
        return file

    def _begin(self) -> int:
        # Emptied before the job file appears: old lines must never count as progress of this job.
        self._file.truncate(0)
        write_json(self._job_file, self._job)
        return 0

    def _continue(self) -> int:
        try:
            unfinished = json.loads(self._job_file.read_text("utf-8"))
        except ValueError:
            unfinished = None
        if unfinished != self._job:
            raise ConfigError(
                f"{self.path} is the unfinished output of another job or of an earlier version of the input; "
                f"delete it together with {self._job_file.name}, or choose another --output"
            )
        return _cut_torn_line(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: object, *_: object) -> None:
        if failure is None:
            self._job_file.unlink(missing_ok=True)
        self._file.close()  # releases the lock, so this comes last

    def write(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append one line per record."""
        self._file.write("".join(to_json(record) + "\n" for record in records).encode("utf-8"))
        self._file.flush()


def _cut_torn_line(path: Path) -> int:
    """Drop what follows the last line end and return the number of lines that stay."""
    lines = complete = 0
    with path.open("rb+") as file:
        while block := file.read(BLOCK_BYTES):
            lines += block.count(b"\n")
            if b"\n" in block:
                complete = file.tell() - len(block) + block.rindex(b"\n") + 1
        file.truncate(complete)
    return lines


def _is_output(path: Path) -> bool:
    """Return whether the file is empty or starts like something `predict` wrote."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(BLOCK_BYTES)
    return not start or start.startswith(b'{"document": ')
