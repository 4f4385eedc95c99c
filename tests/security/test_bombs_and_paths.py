"""Bombs, lying headers, paths and links that lead elsewhere: rejected with a clear message before memory is taken."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.support.fuzzing import samples
from xcwork.data import uploads
from xcwork.data.load import load_dataset
from xcwork.data.readers import safe_files as reader_files
from xcwork.errors import ConfigError, DataError, RunError, XcworkError
from xcwork.methods.base import Method
from xcwork.runs import RunStore, jobs
from xcwork.runs.config import make_config, write_config
from xcwork.runs.status import Status, write_status
from xcwork.storage.state import read_state, write_state

MB = 2**20
MOST = 100 * MB  # what may be taken before something is refused; a bomb would take gigabytes
TEN_GB = 10 * 2**30
BOMB = 40  # megabytes; the limits are lowered to match
LINE = b"a" * 4095 + b"\n"


@contextmanager
def little_memory(most: int = MOST) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most, f"{peak / MB:.0f} MB were taken"


def gzip_bomb(megabytes: int, line: bytes) -> bytes:
    """`line` over and over, packed a thousandfold: a repeated gzip member is again a gzip file."""
    member = gzip.compress(line * (MB // len(line)), mtime=0)
    return member * megabytes


def bzip2_bomb(megabytes: int, line: bytes) -> bytes:
    """As `gzip_bomb`; bzip2 packs a megabyte of one line into less than a kilobyte."""
    return bz2.compress(line * (MB // len(line))) * megabytes


def xz_bomb(megabytes: int, line: bytes) -> bytes:
    return lzma.compress(line * (MB // len(line))) * megabytes


def zip_bomb(name: str, megabytes: int, line: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as member:
        for _ in range(megabytes):
            member.write(line * (MB // len(line)))
    return buffer.getvalue()


def npz(**arrays: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def claimed(count: int) -> bytes:
    """The header of an array of `count` numbers, without the numbers."""
    content = npy(np.zeros(1)).replace(b"(1,), ", b"(%d,), " % count)
    head, _, rest = content.partition(b"\n")
    made = head[10:].rstrip()
    return content[:8] + struct.pack("<H", len(made) + 1) + made + b"\n" + rest


LIES: dict[str, dict[str, bytes]] = {
    "xc header": {"data.txt": b"10000000000 5 5\n0 1:1\n"},
    "xc labels": {"data.txt": b"1 5 10000000000\n0 1:1\n"},
    "split header": {**samples.SPLITS, "trn_X_Xf.txt": b"10737418240 3\n0:1\n"},
    "split columns": {**samples.SPLITS, "trn_X_Y.txt": b"2 2000000000\n0:1\n1:1\n"},
    "svmlight id": {"a.svm": b"1 2147483640:1\n2 2:1\n" * 3},
    "idx header": {
        "train-images-idx3-ubyte": struct.pack(">4B3I", 0, 0, 8, 3, 10_000, 1024, 1024) + b"x",
        "train-labels-idx1-ubyte": struct.pack(">4BI", 0, 0, 8, 1, 10_000) + b"x",
    },
    "npz array": {
        "X.trn.npz": samples.npz([[1]]),
        "Y.trn.npz": npz(
            indices=claimed(TEN_GB // 8),
            indptr=claimed(TEN_GB // 8),
            format=npy(np.array(b"csr")),
            shape=npy(np.array([1, 1])),
            data=claimed(TEN_GB // 8),
        ),
    },
    "npz shape": {
        "X.trn.npz": samples.npz([[1]]),
        "Y.trn.npz": npz(
            indices=npy(np.zeros(1, np.int32)),
            indptr=npy(np.array([0, 1], np.int32)),
            format=npy(np.array(b"csr")),
            shape=npy(np.array([1, 10**10])),
            data=npy(np.ones(1, np.float32)),
        ),
    },
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_header_that_claims_gigabytes_is_refused_before_they_are_taken(lie: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, content in LIES[lie].items():
        (folder / name).write_bytes(content)
    source = folder / next(iter(LIES[lie])) if len(LIES[lie]) == 1 else folder
    with little_memory(), pytest.raises(DataError) as refusal:
        load_dataset(source, home=tmp_path / "home")
    assert not isinstance(refusal.value.__cause__, MemoryError)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv.gz", gzip_bomb(BOMB, LINE)),
        ("data.jsonl.gz", gzip_bomb(BOMB, b'{"text": "%s"}\n' % LINE[:-1])),
        ("data.txt.gz", gzip_bomb(BOMB, b"9 9 9\n" + LINE)),
        ("data.csv.zip", zip_bomb("data.csv", BOMB, LINE)),
        ("data.arff.gz", gzip_bomb(BOMB, b"%" + LINE)),
        ("data.arff.bz2", bzip2_bomb(BOMB, b"%" + LINE)),
        ("data.csv.bz2", bzip2_bomb(BOMB, LINE)),
        ("data.jsonl.xz", xz_bomb(BOMB, LINE)),
        ("data.arff.xz", lzma.compress(b"%" * BOMB * MB)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bomb_is_refused_when_it_begins_to_swell(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_files, "MIN_SUSPECT_BYTES", 2 * MB)
    (tmp_path / name).write_bytes(content)
    with little_memory(BOMB * MB), pytest.raises(DataError):
        load_dataset(tmp_path / name, home=tmp_path / "home")
    assert not (tmp_path / "home" / "data" / ".cache").exists()


def test_an_xz_file_does_not_choose_how_much_memory_it_takes(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 2**30}]
    packed = lzma.compress(b"text,labels\nsome words,a\nmore words,b\n", filters=filters)
    (tmp_path / "data.csv.xz").write_bytes(packed)
    with pytest.raises(DataError, match=r"data.csv.xz.*takes more than 128 MiB of memory"):
        load_dataset(tmp_path / "data.csv.xz", home=tmp_path / "home")


@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress])
def test_packed_files_end_to_end(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    name = "data.csv." + {"bz2": "bz2", "lzma": "xz"}[compress.__module__.lstrip("_")]
    half = len(samples.CSV) // 2
    whole = compress(samples.CSV[:half]) + compress(samples.CSV[half:])  # files may be joined
    (tmp_path / name).write_bytes(whole)
    dataset = load_dataset(tmp_path / name, home=tmp_path / "home")
    assert len(dataset.train) + len(dataset.test) == 6
    for damaged in (whole[:-5], whole[: len(whole) // 3], samples.CSV):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(DataError, match=r"damaged|content is not"):
            load_dataset(tmp_path / name, home=tmp_path / "home")


def test_an_uploaded_bomb_fills_neither_memory_nor_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_BYTES", 20 * MB)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("train.csv", "test.csv"):
            archive.writestr(name, b"a" * 30 * MB)
    buffer.seek(0)
    with little_memory(40 * MB), pytest.raises(DataError, match="larger than the limit"):
        uploads.stage_files([("bomb.zip", buffer)], tmp_path)
    assert not list((tmp_path / "data" / ".uploads").iterdir())


def test_a_model_whose_header_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    write_state(tmp_path / "model", {"a": np.zeros(4)})
    arrays = tmp_path / "model" / "arrays.safetensors"
    head = json.dumps({".a": {"dtype": "F64", "shape": [TEN_GB // 8], "data_offsets": [0, TEN_GB]}}).encode()
    for lie in (struct.pack("<Q", TEN_GB) + b"{}", struct.pack("<Q", len(head)) + head + b"\0" * 32):
        arrays.write_bytes(lie)
        with little_memory(), pytest.raises(XcworkError, match="damaged"):
            read_state(tmp_path / "model")


@pytest.mark.parametrize("spec", ["n_documents=10**12", "n_documents=1000000000000", "n_labels=100000000000"])
def test_a_synthetic_dataset_beyond_the_memory_is_refused(spec: str) -> None:
    with little_memory(), pytest.raises(ConfigError):
        load_dataset(f"synthetic:{spec}")


ESCAPES = ("../outside.csv", "/etc/outside.csv", "..\\outside.csv", "a/../../outside.csv", "C:\\outside.csv", "..")


@pytest.mark.parametrize("escape", ESCAPES)
def test_no_path_inside_an_upload_leads_out_of_its_folder(escape: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    archive = samples.zipped({escape: samples.CSV, "more/test.csv": samples.CSV})
    for given in ([(escape, io.BytesIO(samples.CSV))], [("upload.zip", io.BytesIO(archive))]):
        try:
            staged = uploads.stage_files(given, home)
            kept = uploads.keep_staged(staged, home, name=escape)
        except DataError:
            continue
        assert kept.parent == home / "data"
    everything = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.is_relative_to(home / "data") for path in everything)


def test_a_link_inside_an_archive_becomes_a_plain_file(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("train.csv")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("test.csv", samples.CSV)
    buffer.seek(0)
    staged = uploads.stage_files([("links.zip", buffer)], tmp_path)
    assert not any(path.is_symlink() for path in staged.rglob("*"))
    with pytest.raises(DataError):
        load_dataset(staged, home=tmp_path)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.csv"
    file.write_bytes(samples.CSV)
    return file


@pytest.mark.parametrize("name", ["train.csv", "labels.csv"])
def test_a_link_out_of_a_dataset_is_not_followed(name: str, secret: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "train.csv").write_bytes(samples.CSV)
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(secret)
    with pytest.raises(DataError, match="link out of the dataset"):
        load_dataset(folder, home=tmp_path / "home")


def test_links_inside_a_dataset_and_to_one_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "real.bin").write_bytes(samples.CSV)
    (folder / "train.csv").symlink_to(folder / "real.bin")
    (tmp_path / "short").symlink_to(folder)
    assert len(load_dataset(tmp_path / "short", home=tmp_path / "home").labels) == 2


@pytest.mark.parametrize("file", ["state.json", "arrays.safetensors"])
def test_a_link_out_of_a_model_is_not_followed(file: str, tmp_path: Path) -> None:
    write_state(tmp_path / "model", {"a": np.zeros(4)})
    (tmp_path / "model" / file).rename(tmp_path / file)
    (tmp_path / "model" / file).symlink_to(tmp_path / file)
    with pytest.raises(XcworkError, match="link out of its folder"):
        Method.load(tmp_path / "model")


@pytest.mark.parametrize("file", ["metrics.jsonl", "log.txt", "config.json", "lock", "cancel", "model", "eval"])
@pytest.mark.parametrize("verb", [jobs.launch, jobs.resume, jobs.cancel])
def test_a_run_with_a_link_out_is_never_written_to(
    file: str, verb: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path / "home")
    folder = store.folder / "20260101-000000-abcd-popularity"
    folder.mkdir(parents=True)
    write_config(folder, make_config("popularity", {}, "pyseealso", {}))
    write_status(folder, Status(state="cancelled"))
    target = tmp_path / "precious"
    if file in ("model", "eval"):
        target.mkdir()
    else:
        target.write_bytes((folder / file).read_bytes() if (folder / file).exists() else b"precious")
        (folder / file).unlink(missing_ok=True)
    (folder / file).symlink_to(target)
    before = target.read_bytes() if target.is_file() else list(target.iterdir())
    monkeypatch.setattr(jobs, "_spawn_worker", lambda run: pytest.fail("a worker was started"))
    with pytest.raises(RunError, match="link out of the run"):
        verb(store.list()[0])
    assert before == (target.read_bytes() if target.is_file() else list(target.iterdir()))


@pytest.mark.parametrize("run_id", ["..", "../x", "a/b", "/etc", "a\0b", "", "~", "a b", "-x", "x\n"])
def test_a_run_id_is_never_a_path(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(RunError):
        RunStore(tmp_path).open(run_id)
