"""Files that survive a crash and never execute anything when they are read.

A *state* is a plain tree of dicts and lists whose leaves are numbers, strings, arrays, sparse matrices or one of the
few storable classes of xcwork. On disk it is a folder of two files: `state.json` holds the tree, `arrays.safetensors`
holds every array the tree refers to (a CSR matrix is its three arrays). There is no pickle anywhere.

Every file or folder is written beside its destination and renamed into place, so a reader sees the old content or the
new content, never a part. `Checkpoint` keeps the newest complete state of a training and drops the one before it only
when the new one is complete.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.errors import XcworkError
from xcwork.mapped import map_arrays, mapping_of, pieces, write_arrays

STATE_FILE, ARRAYS_FILE = "state.json", "arrays.safetensors"
# What reading a damaged or hostile file can run into.
DAMAGE = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
DELETED = ".deleted"  # how names of entries end that are out of sight and about to go
SHORT_LIST = 100  # longer lists of strings leave the JSON file

# The only classes a state may contain. They give `to_state()` and `from_state(state)`; nothing else is ever imported.
STORABLE = {
    "Features": "xcwork.data.dataset:Features",
    "LabelSpace": "xcwork.data.dataset:LabelSpace",
    "TextVectorizer": "xcwork.data.text:TextVectorizer",
    "Method": "xcwork.methods.base:Method",
}


class _Encoder:
    """Splits a state into its JSON tree and its arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._objects: dict[int, str] = {}  # an object met before is stored once and referred to

    def encode(self, value: Any, path: str = "") -> Any:
        if hasattr(value, "detach"):  # a torch tensor, without importing torch
            value = value.detach().cpu().numpy()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            self.arrays[path] = np.ascontiguousarray(value)
            return {"$array": path}
        if sparse.issparse(value):
            return self._csr(sparse.csr_array(value), path)
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) and not key.startswith("$") for key in value):
                raise TypeError(f"{path}: the keys of a state are strings that do not start with '$'")
            return {key: self.encode(item, f"{path}.{_as_step(key)}") for key, item in value.items()}
        if isinstance(value, list | tuple):
            if all(isinstance(item, str) for item in value):
                return list(value) if len(value) <= SHORT_LIST else self._texts(value, path)
            return [self.encode(item, f"{path}.{i}") for i, item in enumerate(value)]
        return self._object(value, path)

    def _csr(self, matrix: sparse.csr_array, path: str) -> dict[str, Any]:
        for part in ("data", "indices", "indptr"):
            self.arrays[f"{path}.{part}"] = np.ascontiguousarray(getattr(matrix, part))
        return {"$csr": path, "shape": [int(n) for n in matrix.shape]}

    def _texts(self, texts: Sequence[str], path: str) -> dict[str, Any]:
        """Many strings as one array of bytes and one of offsets: JSON would be slow and large."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self.arrays[f"{path}.bytes"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.arrays[f"{path}.offsets"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return {"$texts": path}

    def _object(self, value: Any, path: str) -> dict[str, Any]:
        if id(value) in self._objects:
            return {"$same": self._objects[id(value)]}
        names = {parent.__name__ for parent in type(value).__mro__ if parent.__module__.startswith("xcwork.")}
        tag = next((tag for tag in STORABLE if tag in names), None)
        if tag is None:
            raise TypeError(f"{path}: a {type(value).__name__} cannot be stored")
        self._objects[id(value)] = path
        return {"$object": tag, "path": path, "state": self.encode(value.to_state(), path)}


def _as_step(key: str) -> str:
    """Escape a key for the path of an array: without dots of its own, no two places share a path."""
    return key.replace("%", "%25").replace(".", "%2E")


class _Decoder:
    """Puts tree and arrays together again."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._objects: dict[str, Any] = {}

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return value if all(isinstance(item, str) for item in value) else [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$array" in value:
            return self.arrays[value["$array"]]
        if "$csr" in value:
            return self._csr(value["$csr"], tuple(value["shape"]))
        if "$texts" in value:
            return self._texts(value["$texts"])
        if "$same" in value:
            return self._objects[value["$same"]]
        if "$object" in value:
            module, _, name = STORABLE[value["$object"]].partition(":")
            made = getattr(import_module(module), name).from_state(self.decode(value["state"]))
            self._objects[value["path"]] = made
            return made
        return {key: self.decode(item) for key, item in value.items()}

    def _csr(self, path: str, shape: tuple[int, ...]) -> sparse.csr_array:
        data, indices, indptr = (self.arrays[f"{path}.{part}"] for part in ("data", "indices", "indptr"))
        return sound_csr(data, indices, indptr, shape)

    def _texts(self, path: str) -> list[str]:
        content, offsets = self.arrays[f"{path}.bytes"].tobytes(), self.arrays[f"{path}.offsets"].tolist()
        return [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]


def sound_csr(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, ...]
) -> sparse.csr_array:  # fmt: skip
    """The matrix of three arrays from a file, or a ValueError when they are none.

    Compiled code indexes without bounds checks, so damage must not get that far; scipy's own check looks at the row
    starts of matrices with entries only.
    """
    if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise ValueError(f"{shape} is not the shape of a matrix")
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
        raise ValueError("a part of a sparse matrix is no list of numbers")
    if data.dtype.kind not in "fiub" or not all(part.dtype in (np.int32, np.int64) for part in (indices, indptr)):
        raise ValueError("a part of a sparse matrix is of another type")
    if len(indptr) != shape[0] + 1 or len(data) != len(indices) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError("the parts of a sparse matrix do not fit each other")
    if not (indptr[1:] >= indptr[:-1]).all():
        raise ValueError("a row of a sparse matrix ends before it begins")
    if not all(0 <= piece.min() <= piece.max() < shape[1] for piece in pieces(indices) if len(piece)):
        raise ValueError("a sparse matrix has an entry outside of itself")
    return sparse.csr_array((data, indices, indptr), shape=shape)


def links_out(folder: Path) -> list[Path]:
    """The links in `folder`, and in the folders directly in it, that lead to something outside.

    A folder from a stranger could make us read, or append to, any file of the user's.
    """
    real = folder.resolve()
    inside = [entry for entry in folder.iterdir() if entry.is_symlink() or entry.is_dir()]
    deeper = [entry for sub in inside if not sub.is_symlink() for entry in sub.iterdir() if entry.is_symlink()]
    return [link for link in (*inside, *deeper) if link.is_symlink() and not link.resolve().is_relative_to(real)]


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """A temporary folder that becomes `folder` when the block ends well, and vanishes when it does not."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.parent / f".{folder.name}.{uuid.uuid4().hex[:8]}.tmp"
    temporary.mkdir()
    try:
        yield temporary
        _put_in_place(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(temporary: Path, folder: Path) -> None:
    """Rename `temporary` to `folder`. What is there changes places with it, so that there is never nothing."""
    try:
        temporary.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        if not _exchanged(temporary, folder):
            replaced = temporary.with_suffix(".old")
            folder.rename(replaced)
            temporary.rename(folder)
            shutil.rmtree(replaced)


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two entries of a file system in one step; False where the system cannot do that."""
    library, at_working_folder, swap = ctypes.CDLL(None), -100, 2
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):  # Linux
        return library.renameat2(at_working_folder, names[0], at_working_folder, names[1], swap) == 0
    return hasattr(library, "renamex_np") and library.renamex_np(*names, swap) == 0  # macOS


def remove_entry(path: Path) -> None:
    """Delete a file, link or folder: it disappears in one step, then its content goes.

    What an interrupted deletion left beside it goes as well. A link is deleted, never what it leads to.
    """
    doomed = path.rename(path.with_name(f".{uuid.uuid4().hex}{DELETED}"))
    leftovers = [entry for entry in path.parent.glob(f".*{DELETED}") if entry != doomed]
    with suppress(FileNotFoundError):  # another deletion took it for a leftover
        _delete(doomed)
    for leftover in leftovers:
        with suppress(OSError):
            _delete(leftover)


def _delete(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


def write_bytes(path: str | Path, content: bytes) -> None:
    """Replace the file at `path` in one step."""
    path = Path(path)
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}.tmp"
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, content: str) -> None:
    """Replace the text file at `path` in one step."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: str | Path, content: Any) -> None:
    """Replace the JSON file at `path` in one step."""
    write_bytes(path, json_bytes(content, indent=2) + b"\n")


def json_bytes(content: Any, *, indent: int | None = None) -> bytes:
    """JSON in UTF-8, readable in any language."""
    try:
        return json.dumps(content, ensure_ascii=False, indent=indent).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold, but JSON can escape
        return json.dumps(content, indent=indent).encode("ascii")


def write_state(folder: str | Path, state: Mapping[str, Any]) -> None:
    """Store `state` as the folder `folder`, replacing what was there."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    encoder = _Encoder()
    tree = encoder.encode(state)
    with new_folder(folder) as temporary:
        try:
            # The library needs all arrays in memory at once, which mapped ones may not fit into.
            save = write_arrays if any(map(mapping_of, encoder.arrays.values())) else save_file
            save(encoder.arrays, temporary / ARRAYS_FILE)
        except SafetensorError as failure:  # how the library tells of a full disk
            raise OSError(f"{Path(folder) / ARRAYS_FILE} cannot be written ({failure})") from failure
        write_json(temporary / STATE_FILE, tree)
        # The library makes a file that only its owner can read; a run folder may be meant for a group.
        shutil.copymode(temporary / STATE_FILE, temporary / ARRAYS_FILE)


def read_state(folder: str | Path, *, mapped: bool = False) -> dict[str, Any]:
    """The state that `write_state` stored; any damage is one clear error. `mapped` leaves its arrays on disk."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(folder)
    for file in (STATE_FILE, ARRAYS_FILE):
        if not (folder / file).is_file():
            raise XcworkError(f"{folder}: {file} is missing; the copy is incomplete")
    if out := links_out(folder):
        raise XcworkError(f"{out[0]} is a link out of its folder, which is not followed; copy the file instead")
    try:
        tree = json.loads((folder / STATE_FILE).read_text("utf-8"))
        state = _Decoder((map_arrays if mapped else load_file)(folder / ARRAYS_FILE)).decode(tree)
    except (SafetensorError, MemoryError, *DAMAGE) as damage:
        raise XcworkError(f"{folder}: the stored state is damaged ({damage}); restore or rebuild it") from damage
    if not isinstance(state, dict):
        raise XcworkError(f"{folder}: {STATE_FILE} does not hold a state; restore or rebuild it")
    return state


class Checkpoint:
    """The newest complete state of a training, in numbered folders below one folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(entry.name) for entry in self.folder.iterdir() if entry.name.isdigit())

    def save(self, state: Mapping[str, Any]) -> None:
        """Store `state`; only then drop the ones before it."""
        numbers = self._numbers()
        write_state(self.folder / f"{numbers[-1] + 1 if numbers else 1:06d}", state)
        for number in numbers:
            shutil.rmtree(self.folder / f"{number:06d}")

    def restore(self) -> dict[str, Any] | None:
        """The newest state that can be read, or None."""
        for number in reversed(self._numbers()):
            try:
                return read_state(self.folder / f"{number:06d}")
            except XcworkError:
                continue
        return None
