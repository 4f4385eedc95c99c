"""Lines that are appended: whole or not at all, after whatever was there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from xcwork.storage.journal import append_line


@pytest.mark.parametrize("is_durable", [True, False])
@pytest.mark.parametrize(
    ("before", "after"),
    [(None, b"new\n"), (b"", b"new\n"), (b"old\n", b"old\nnew\n"), (b"old\nto", b"old\nto\nnew\n")],
)
def test_a_line_starts_after_a_line_break(before: bytes | None, after: bytes, is_durable: bool, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    if before is not None:
        path.write_bytes(before)
    append_line(path, b"new", is_durable=is_durable)
    assert path.read_bytes() == after


def test_what_a_full_disk_cut_short_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    append_line(path, b"old")
    write = os.write

    def write_a_little(descriptor: int, content: bytes) -> int:
        if len(content) < 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:4])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_a_little)
        with pytest.raises(OSError, match="No space"):
            append_line(path, b"a longer line", is_durable=True)
    assert path.read_bytes() == b"old\n"
    append_line(path, b"new")
    assert path.read_bytes() == b"old\nnew\n"


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:3]))
    append_line(tmp_path / "lines", b"one whole line")
    assert (tmp_path / "lines").read_bytes() == b"one whole line\n"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"mine\n")
    (tmp_path / "lines").symlink_to(target)
    with pytest.raises(OSError, match=r"[Ss]ymbolic|Too many levels"):
        append_line(tmp_path / "lines", b"new")
    assert target.read_bytes() == b"mine\n"
