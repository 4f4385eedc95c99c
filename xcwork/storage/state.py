"""States on disk: trees of plain values and arrays that never execute anything when they are read.

A *state* is a plain tree of dicts and lists whose leaves are numbers, strings, arrays, sparse matrices or one of the
few storable classes of xcwork. On disk it is a folder of two files: `state.json` holds the tree, `arrays.safetensors`
holds every array the tree refers to (a CSR matrix is its three arrays). There is no pickle anywhere.

Every file or folder is written beside its destination and renamed into place, so a reader sees the old content or the
new content, never a part.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from xcwork.errors import XcworkError
from xcwork.storage.atomic import DAMAGE_ERRORS, create_folder, find_links_out, write_json
from xcwork.storage.mapped_arrays import find_mapping, map_arrays, split_pieces, write_arrays

T = TypeVar("T")

STATE_FILE = "state.json"
ARRAYS_FILE = "arrays.safetensors"
MAX_JSON_STRINGS = 100  # longer lists of strings leave the JSON file

# The only classes that a state may contain, by name: each registers itself with `register_storable`.
STORABLE_CLASSES: dict[str, type[Any]] = {}


def register_storable(cls: type[T]) -> type[T]:
    """Let states contain objects of a class that has `to_state()` and `from_state(state)`."""
    STORABLE_CLASSES[cls.__name__] = cls
    return cls


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
            return self._encode_csr(sparse.csr_array(value), path)
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) and not key.startswith("$") for key in value):
                raise TypeError(f"{path}: the keys of a state are strings that do not start with '$'")
            return {key: self.encode(item, f"{path}.{_escape_step(key)}") for key, item in value.items()}
        if isinstance(value, list | tuple):
            if all(isinstance(item, str) for item in value):
                return list(value) if len(value) <= MAX_JSON_STRINGS else self._encode_texts(value, path)
            return [self.encode(item, f"{path}.{i}") for i, item in enumerate(value)]
        return self._encode_object(value, path)

    def _encode_csr(self, matrix: sparse.csr_array, path: str) -> dict[str, Any]:
        for part in ("data", "indices", "indptr"):
            self.arrays[f"{path}.{part}"] = np.ascontiguousarray(getattr(matrix, part))
        return {"$csr": path, "shape": [int(n) for n in matrix.shape]}

    def _encode_texts(self, texts: Sequence[str], path: str) -> dict[str, Any]:
        """Return many strings as one array of bytes and one of offsets: JSON would be slow and large."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self.arrays[f"{path}.bytes"] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        self.arrays[f"{path}.offsets"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        return {"$texts": path}

    def _encode_object(self, value: Any, path: str) -> dict[str, Any]:
        if id(value) in self._objects:
            return {"$same": self._objects[id(value)]}
        tag = next((parent.__name__ for parent in type(value).__mro__ if parent in STORABLE_CLASSES.values()), None)
        if tag is None:
            raise TypeError(f"{path}: a {type(value).__name__} cannot be stored")
        self._objects[id(value)] = path
        return {"$object": tag, "path": path, "state": self.encode(value.to_state(), path)}


def _escape_step(key: str) -> str:
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
            return self._decode_csr(value["$csr"], tuple(value["shape"]))
        if "$texts" in value:
            return self._decode_texts(value["$texts"])
        if "$same" in value:
            return self._objects[value["$same"]]
        if "$object" in value:
            made = STORABLE_CLASSES[value["$object"]].from_state(self.decode(value["state"]))
            self._objects[value["path"]] = made
            return made
        return {key: self.decode(item) for key, item in value.items()}

    def _decode_csr(self, path: str, shape: tuple[int, ...]) -> sparse.csr_array:
        data, indices, indptr = (self.arrays[f"{path}.{part}"] for part in ("data", "indices", "indptr"))
        return build_sound_csr(data, indices, indptr, shape)

    def _decode_texts(self, path: str) -> list[str]:
        content, offsets = self.arrays[f"{path}.bytes"].tobytes(), self.arrays[f"{path}.offsets"].tolist()
        if content.isascii():  # a character is a byte, and all are decoded at once
            text = content.decode("ascii")
            return [text[a:b] for a, b in pairwise(offsets)]
        return [content[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(offsets)]


def build_sound_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> sparse.csr_array:
    """Return the matrix of three arrays from a file, or a ValueError when they are none.

    Compiled code indexes without bounds checks, so damage must not get that far; scipy's own check looks at the row
    starts of matrices with entries only.
    """
    if len(shape) != 2 or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise ValueError(f"{shape} is not the shape of a matrix")
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr)):
        raise ValueError("a part of a sparse matrix is not a list of numbers")
    if data.dtype.kind not in "fiub" or not all(part.dtype in (np.int32, np.int64) for part in (indices, indptr)):
        raise ValueError("a part of a sparse matrix is of another type")
    if len(indptr) != shape[0] + 1 or len(data) != len(indices) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError("the parts of a sparse matrix do not fit each other")
    if not (indptr[1:] >= indptr[:-1]).all():
        raise ValueError("a row of a sparse matrix ends before it begins")
    if not all(0 <= piece.min() <= piece.max() < shape[1] for piece in split_pieces(indices) if len(piece)):
        raise ValueError("a sparse matrix has an entry outside of itself")
    return sparse.csr_array((data, indices, indptr), shape=shape)


def write_state(folder: str | Path, state: Mapping[str, Any]) -> None:
    """Store `state` as the folder `folder`, replacing what was there."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    encoder = _Encoder()
    tree = encoder.encode(state)
    with create_folder(folder) as temporary:
        try:
            # The library needs all arrays in memory together, which mapped ones may not fit into.
            save = write_arrays if any(map(find_mapping, encoder.arrays.values())) else save_file
            save(encoder.arrays, temporary / ARRAYS_FILE)
        except SafetensorError as failure:  # how the library tells of a full disk
            raise OSError(f"{Path(folder) / ARRAYS_FILE} cannot be written ({failure})") from failure
        write_json(temporary / STATE_FILE, tree)
        # The library makes a file that only its owner can read; a run folder may be meant for a group.
        shutil.copymode(temporary / STATE_FILE, temporary / ARRAYS_FILE)


def read_state(folder: str | Path, *, mapped: bool = False) -> dict[str, Any]:
    """Return the state that `write_state` stored; any damage is one clear error. `mapped` leaves its arrays on disk."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = Path(folder)
    for file in (STATE_FILE, ARRAYS_FILE):
        if not (folder / file).is_file():
            raise XcworkError(f"{folder}: {file} is missing; the copy is incomplete")
    if out := find_links_out(folder):
        raise XcworkError(f"{out[0]} is a link out of its folder, which is not followed; copy the file instead")
    try:
        tree = json.loads((folder / STATE_FILE).read_text("utf-8"))
        state = _Decoder((map_arrays if mapped else load_file)(folder / ARRAYS_FILE)).decode(tree)
    except (SafetensorError, MemoryError, *DAMAGE_ERRORS) as damage:
        raise XcworkError(f"{folder}: the stored state is damaged ({damage}); restore or rebuild it") from damage
    if not isinstance(state, dict):
        raise XcworkError(f"{folder}: {STATE_FILE} does not hold a state; restore or rebuild it")
    return state
