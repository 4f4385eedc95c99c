"""The file that waits to be added: on disk, outside of the data folder's list, until it is added or given up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from xcwork_app import caches, state
from xcwork_app.sources import Source

from xcwork.data import uploads
from xcwork.data.data_folder import remove_on_failure
from xcwork.errors import DataError
from xcwork.paths import find_home

STAGED = "data.staged"  # keys of the session
ROUND = "data.upload.round"
UPLOADS_FOLDER = ".uploads"  # of the data folder


@dataclass(frozen=True)
class StagedUpload:
    """What was uploaded: where it waits, what it was called, and how large it is."""

    path: Path
    title: str
    n_bytes: int
    suggested_name: str


def get_round() -> int:
    """Return which upload of the session this is: every one has widgets of its own."""
    return st.session_state.get(ROUND, 0)


def is_staged() -> bool:
    """Return whether a file waits."""
    return get() is not None


def get() -> StagedUpload | None:
    """Return what waits; None if nothing does, or if it was swept away."""
    held: StagedUpload | None = st.session_state.get(STAGED)
    return held if held is not None and held.path.exists() else None


def stage(files: list[Any]) -> StagedUpload:
    """Write uploaded files to the disk."""
    for file in files:
        file.seek(0)
    with name_file_in_errors():
        path = uploads.stage_files([(file.name, file) for file in files], find_home())
    only = files[0].name if len(files) == 1 else f"{len(files)} files"
    suggested = uploads.clean_name(files[0].name).split(".")[0] if len(files) == 1 else "my-dataset"
    staged = StagedUpload(path, only, sum(file.size for file in files), suggested)
    st.session_state[STAGED] = staged
    return staged


def discard() -> None:
    """Delete what waits."""
    held: StagedUpload | None = st.session_state.pop(STAGED, None)
    if held is not None:
        uploads.discard_staged(held.path)
    st.session_state[ROUND] = get_round() + 1


def add(staged: StagedUpload, name: str, options: dict[str, object]) -> None:
    """Keep the upload if it can be read, and show it; otherwise it still waits here, and the sentence says why."""
    with (
        name_file_in_errors(),
        uploads.keep_if_readable(_copy_upload(staged.path), find_home(), name=name, options=options) as kept,
    ):
        source = Source.from_data(kept)
        caches.get_dataset(source)
    discard()
    show_source(source)


def _copy_upload(path: Path) -> Path:
    """Return the same files at a second place, without copying their content where the disk can do that."""
    is_folder_of_files = path.parent.name == UPLOADS_FOLDER
    room = path if is_folder_of_files else path.parent
    place = room.with_name(f"{room.name}-kept")
    with remove_on_failure(place):
        shutil.copytree(room, place, copy_function=_link_or_copy)
    return place if is_folder_of_files else place / path.name


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def show_source(source: Source) -> None:
    """Make it the dataset of this session and close the dialog."""
    state.update(data=source.id, add="")
    st.rerun()


@contextmanager
def name_file_in_errors() -> Iterator[None]:
    """Let errors about an upload name the file, not the place where it waits."""
    try:
        yield
    except DataError as problem:
        raise name_file(problem) from problem


def name_file(problem: DataError) -> DataError:
    """Return an error about an upload with the name of its file alone."""
    name = None if problem.file is None else Path(problem.file).name
    return DataError(problem.problem, file=name, line=problem.line, remedy=problem.remedy)
