"""Compiled kernels of another version are deleted before numba reads them."""

from __future__ import annotations

from pathlib import Path

from xcwork.kernels import CACHE_VERSION, drop_stale_kernels


def test_kernels_of_another_version_are_deleted_once(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("topk.push-1.py311.nbi", "topk.push-1.py311.1.nbc", "topk.cpython-311.pyc")]
    for file in files:
        file.touch()
    drop_stale_kernels(tmp_path)
    assert [file.exists() for file in files] == [False, False, True]
    assert (tmp_path / f"kernels-{CACHE_VERSION}.version").exists()
    files[0].touch()
    drop_stale_kernels(tmp_path)
    assert files[0].exists()


def test_a_folder_that_is_not_there_stays_so(tmp_path: Path) -> None:
    drop_stale_kernels(tmp_path / "none")
    assert not (tmp_path / "none").exists()
