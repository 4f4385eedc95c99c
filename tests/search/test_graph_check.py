"""A stored search graph is followed only when every link in it leads somewhere."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import numpy as np
import pytest

from xcwork.errors import DataError
from xcwork.search.graph_check import HEADER
from xcwork.search.hnsw import GRAPH_FILE, SETTINGS_FILE, HnswIndex

VECTORS = np.random.default_rng(3).normal(size=(300, 6)).astype(np.float32)


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    HnswIndex("ip", M=4, ef_construction=20).build(VECTORS).save(tmp_path / "index")
    return tmp_path / "index"


def put(folder: Path, content: bytes) -> None:
    """Change the graph as somebody would who knows about the checksum."""
    (folder / GRAPH_FILE).write_bytes(content)
    settings = json.loads((folder / SETTINGS_FILE).read_text())
    (folder / SETTINGS_FILE).write_text(json.dumps(settings | {"sha256": hashlib.sha256(content).hexdigest()}))


def test_an_honest_graph_passes(stored: Path) -> None:
    assert HnswIndex.load(stored).query(VECTORS[:5], 3).ids.shape == (5, 3)


@pytest.mark.parametrize("field", range(len(HEADER.unpack(bytes(HEADER.size))) - 2))
@pytest.mark.parametrize("value", [0, 1, 2**31 - 1])
def test_a_header_that_lies_is_refused(stored: Path, field: int, value: int) -> None:
    content = (stored / GRAPH_FILE).read_bytes()
    header = list(HEADER.unpack_from(content))
    if header[field] == value:
        pytest.skip("this is what the honest header says")
    header[field] = value
    room = 1  # how many elements it could hold: only a number below those it holds is a lie
    put(stored, HEADER.pack(*header) + content[HEADER.size :])
    if field == room and value > len(VECTORS):
        return
    with pytest.raises(DataError, match="search graph is damaged"):
        HnswIndex.load(stored)


def test_whatever_is_changed_the_graph_answers_or_is_refused(stored: Path) -> None:
    content, rng = (stored / GRAPH_FILE).read_bytes(), random.Random(5)
    refused = 0
    for _ in range(300):
        changed = bytearray(content)
        for _ in range(rng.choice((1, 2, 5))):
            at = rng.randrange(HEADER.size, len(changed) - 4)
            changed[at : at + 4] = rng.choice((rng.randbytes(4), b"\xff" * 4, b"\0" * 4))
        put(stored, bytes(changed[: rng.choice((len(changed), len(changed), rng.randrange(len(changed))))]))
        try:
            ids = HnswIndex.load(stored).query(VECTORS[:3], 5).ids
        except DataError:
            refused += 1
            continue
        assert ((ids >= 0) & (ids < len(VECTORS))).all()
    assert 50 < refused < 300
