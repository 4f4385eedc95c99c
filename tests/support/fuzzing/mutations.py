"""Mutations of files: bytes and numbers of any file; trees, archives and arrays of those that are one.

`mutated` keeps most of an input valid, because an input that is refused at the first byte reaches no code.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.fuzzing.mutation_values import BROKEN, DTYPES, NUMBERS, TOKENS, VALUES

Files = dict[str, bytes]


def mutated(rng: random.Random, files: Files) -> Files:
    """`files` with one to three changes."""
    files = dict(files)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not files:
            return files
        name = rng.choice(sorted(files))
        if rng.random() < 0.06:
            _whole_file(rng, files, name)
        else:
            files[name] = mutated_content(rng, name, files[name])
    return files


def _whole_file(rng: random.Random, files: Files, name: str) -> None:
    change = rng.randrange(6)
    if change == 0:
        del files[name]
    elif change == 1:
        files[name] = b""
    elif change == 2:
        files[name] = files[rng.choice(sorted(files))]
    elif change == 3:
        files[rng.choice((f"{name}.gz", f"{name}.zip", f"x{name}", "labels.csv", "Y.txt", "Yf.txt"))] = files[name]
    elif change == 4:
        files[name] = rng.randbytes(rng.randrange(64))
    else:
        files[name] = rng.choice((gzip.compress, _zipped, bz2.compress, lzma.compress))(files[name])


def mutated_content(rng: random.Random, name: str, content: bytes) -> bytes:
    """One change: inside the structure where there is one and it can be read, of the bytes otherwise."""
    inner = _structured(name, content)
    if inner is not None and rng.random() < 0.7:
        try:
            return inner(rng, content)
        except BROKEN:
            pass  # an earlier change broke the structure
    return rng.choice((_bytes, _bytes, _text, _numbers, _lines))(rng, content)


def _structured(name: str, content: bytes) -> Callable[[random.Random, bytes], bytes] | None:
    if content.startswith(b"\x1f\x8b"):
        return _gzip
    if content.startswith(b"BZh"):
        return _bzip2
    if content.startswith(b"\xfd7zXZ"):
        return _xz
    if content.startswith(b"PK\x03\x04"):
        return _zip
    if name.endswith(".safetensors"):
        return _safetensors
    if name.endswith(".npy"):
        return _npy
    if name.endswith(".json") and content[:1] in (b"{", b"["):
        return _json
    if name.endswith((".jsonl", ".ndjson", ".json")):
        return _json_lines
    return None


def _bytes(rng: random.Random, content: bytes) -> bytes:
    at = rng.randint(0, len(content))
    end = min(len(content), at + rng.choice((0, 1, 1, 2, 4, 8, 64)))
    change = rng.randrange(5)
    if change == 0:
        return content[:at]
    if change == 1:
        return content[:at] + content[at:end] * rng.choice((2, 3, 50)) + content[end:]
    if change == 2:
        return content[:at] + rng.randbytes(end - at) + content[end:]
    if change == 3:
        return content[:at] + content[end:]
    return content[:at] + bytes([rng.choice((0, 1, 10, 32, 127, 128, 255))]) * rng.choice((1, 4, 8)) + content[at:]


def _text(rng: random.Random, content: bytes) -> bytes:
    at = rng.randint(0, len(content))
    return content[:at] + rng.choice(TOKENS).encode("utf-8", "replace") + content[at + rng.randrange(3) :]


def _numbers(rng: random.Random, content: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+(?:\.\d+)?", content[:20_000]))
    if not found:
        return _text(rng, content)
    spot = rng.choice(found)
    return content[: spot.start()] + rng.choice(NUMBERS).encode() + content[spot.end() :]


def _lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(5)
    if change == 0:
        del lines[at]
    elif change == 1:
        lines.insert(other, lines[at])
    elif change == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif change == 3:
        lines[at] = lines[at][: rng.randint(0, len(lines[at]))] + lines[other]
    else:
        words = lines[at].split(rng.choice((b" ", b",", b":")))
        rng.shuffle(words)
        lines[at] = b" ".join(words)
    return b"\n".join(lines)


def _json(rng: random.Random, content: bytes) -> bytes:
    return json.dumps(mutated_tree(rng, json.loads(content))).encode()


def _json_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = _json(rng, lines[at])
    return b"\n".join(lines) + b"\n"


def mutated_tree(rng: random.Random, tree: Any) -> Any:
    """One node replaced, removed, doubled, renamed or wrapped; the way to it is drawn step by step."""
    if isinstance(tree, dict) and tree and rng.random() < 0.8:
        key = rng.choice(sorted(tree))
        changed = dict(tree)
        if rng.random() < 0.7:
            changed[key] = mutated_tree(rng, tree[key])
        elif rng.random() < 0.5:
            del changed[key]
        else:
            changed[rng.choice((key + "x", "", "$array", "$same", key.upper()))] = changed.pop(key)
        return changed
    if isinstance(tree, list) and tree and rng.random() < 0.8:
        at, changed = rng.randrange(len(tree)), list(tree)
        if rng.random() < 0.6:
            changed[at] = mutated_tree(rng, tree[at])
        elif rng.random() < 0.5:
            del changed[at]
        else:
            changed.insert(at, tree[rng.randrange(len(tree))])
        return changed
    if isinstance(tree, str) and rng.random() < 0.5:
        return rng.choice((tree + rng.choice(TOKENS), tree[:-1], tree * 2, rng.choice(TOKENS)))
    if isinstance(tree, int | float) and not isinstance(tree, bool) and rng.random() < 0.5:
        return rng.choice((-tree, tree + 1, tree * 1000, tree // 3))
    return rng.choice((*VALUES, [tree], {"a": tree}))


def _gzip(rng: random.Random, content: bytes) -> bytes:
    return gzip.compress(mutated_content(rng, "", gzip.decompress(content)), compresslevel=1, mtime=0)


def _bzip2(rng: random.Random, content: bytes) -> bytes:
    return bz2.compress(mutated_content(rng, "", bz2.decompress(content)), 1)


def _xz(rng: random.Random, content: bytes) -> bytes:
    return lzma.compress(mutated_content(rng, "", lzma.decompress(content)), preset=0)


def _zipped(content: bytes, name: str = "data.csv") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def _zip(rng: random.Random, content: bytes) -> bytes:
    """Also npz files, whose members are arrays."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    at = rng.randrange(len(members))
    name, inner = members[at]
    change = rng.randrange(8)
    if change == 0:
        del members[at]
    elif change == 1:
        members.append((rng.choice(("../x.csv", "/x.csv", "a/b/c.csv", name, "__MACOSX/x", "")), inner))
    elif change == 2:
        members[at] = (rng.choice(("../../x.csv", "C:\\x", name + "x", "\0", "a" * 300)), inner)
    else:
        members[at] = (name, mutated_content(rng, name, inner))
    buffer = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as made:
        warnings.simplefilter("ignore")  # two members of one name are meant
        for name, inner in members:
            made.writestr(zipfile.ZipInfo(name), inner, method)
    return buffer.getvalue()


def _npy(rng: random.Random, content: bytes) -> bytes:
    if rng.random() < 0.4:  # the header is a Python literal in a padded line
        head, _, tail = content.partition(b"\n")
        made = _numbers(rng, head[10:]) if rng.random() < 0.5 else _text(rng, head[10:])
        return content[:8] + struct.pack("<H", (len(made) + 1) % 65536) + made + b"\n" + tail
    array = np.load(io.BytesIO(content), allow_pickle=False)
    buffer = io.BytesIO()
    np.save(buffer, mutated_array(rng, array), allow_pickle=False)
    return buffer.getvalue()


def mutated_array(rng: random.Random, array: np.ndarray) -> np.ndarray:
    """One value, the type, the shape or the length is another."""
    if array.dtype.kind not in "biuf":
        return np.array(rng.choice(("csr", "csc", "coo", "dia", "bsr", "", "x" * 50)))
    change = rng.randrange(7)
    if change <= 2 and array.size:
        changed = array.copy().reshape(-1)
        spot = rng.randrange(array.size)
        extreme = rng.choice((0, 1, -1, 2, 7, 100, 127, -128, 2**31 - 1, -(2**31), 2**62, -(2**62)))
        with np.errstate(all="ignore"):
            changed[spot] = np.array(
                float(rng.choice(("nan", "inf", "-inf", "1e30")))
                if array.dtype.kind == "f" and rng.random() < 0.5
                else extreme
            ).astype(array.dtype)
        return changed.reshape(array.shape)
    if change == 3:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(DTYPES))
    flat = array.reshape(-1)
    if change == 4:
        return flat if array.ndim > 1 else array.reshape(1, -1)
    if change == 5:
        return flat[: rng.randint(0, len(flat))] if array.ndim == 1 else array[: rng.randint(0, len(array))]
    return np.concatenate([flat, flat[: rng.randint(0, len(flat))]]) if array.ndim <= 1 else array.T.copy()


def _safetensors(rng: random.Random, content: bytes) -> bytes:
    if rng.random() < 0.3:  # lies in the header
        size = struct.unpack("<Q", content[:8])[0]
        head = json.dumps(mutated_tree(rng, json.loads(content[8 : 8 + size]))).encode()
        claimed = rng.choice((len(head), len(head), len(head), 10 * 2**30, 2**63))
        return struct.pack("<Q", claimed) + head + content[8 + size :]
    from safetensors.numpy import load, save

    arrays = load(content)
    name = rng.choice(sorted(arrays))
    if rng.random() < 0.15:
        arrays[name + rng.choice(("x", ".data", ""))] = arrays.pop(name)
    else:
        arrays[name] = np.ascontiguousarray(mutated_array(rng, arrays[name]))
    return save(arrays)
