"""Datasets by name or path, and their cache."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.data import load
from xcwork.data.load import list_datasets, load_dataset, resolve_source
from xcwork.errors import ConfigError, DataError


def documents(folder: Path, words: str = "words") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 6), ("test", 2)):
        records = [
            {"uid": f"{part}{i}", "content": f"{words} number{i}", "labels": [f"l{i % 3}"]} for i in range(count)
        ]
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def entries(home: Path) -> list[str]:
    cache = home / "data" / ".cache"
    return sorted(path.name for path in cache.iterdir() if path.name[0] != ".") if cache.exists() else []


@pytest.fixture
def reads(monkeypatch):
    """How often files were really read."""
    calls = []
    original = load.read
    monkeypatch.setattr(load, "read", lambda *given: calls.append(given) or original(*given))
    return calls


def test_text_is_cached_and_found_again(tmp_path, reads):
    data, home = documents(tmp_path / "mine"), tmp_path / "home"
    first, second = load_dataset(data, home=home), load_dataset(data, home=home)
    assert len(reads) == 1
    assert first.fingerprint == second.fingerprint
    assert second.features.transform(["words"]).nnz == 1
    assert second.name == "mine"
    assert second.source == first.source
    assert second.train.uids == first.train.uids


def test_changed_files_and_options_are_read_again(tmp_path, reads):
    data, home = documents(tmp_path / "mine"), tmp_path / "home"
    first = load_dataset(data, home=home)
    fewer = load_dataset(data, home=home, vectorizer={"ngrams": 1})
    assert fewer.features.size < first.features.size
    assert len(entries(home)) == 2
    documents(data, "purple words")
    changed = load_dataset(data, home=home)
    assert "purple" in changed.features.names
    assert len(reads) == 3
    assert len(entries(home)) == 2, "the outdated entry is gone"


@pytest.mark.parametrize("damage", ["truncate", "empty json", "no arrays", "other json"])
def test_a_damaged_entry_is_made_again(tmp_path, reads, damage):
    data, home = documents(tmp_path / "mine"), tmp_path / "home"
    first = load_dataset(data, home=home)
    (name,) = entries(home)
    entry = home / "data" / ".cache" / name
    arrays, state = entry / "arrays.safetensors", entry / "state.json"
    if damage == "truncate":
        arrays.write_bytes(arrays.read_bytes()[:-100])
    elif damage == "no arrays":
        arrays.unlink()
    else:
        state.write_text("" if damage == "empty json" else '{"name": "x"}')
    assert load_dataset(data, home=home).fingerprint == first.fingerprint
    assert len(reads) == 2
    assert load_dataset(data, home=home).fingerprint == first.fingerprint
    assert len(reads) == 2


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, caplog):
    home = tmp_path / "home"
    home.mkdir()
    (home / "data").write_text("a file where the folder should be")
    with caplog.at_level(logging.WARNING):
        assert len(load_dataset(documents(tmp_path / "mine"), home=home).train) == 6
    assert "could not be cached" in caplog.text


@pytest.mark.slow
def test_two_processes_at_once(tmp_path):
    data, home = documents(tmp_path / "mine"), tmp_path / "home"
    code = "import sys; from xcwork.data.load import load_dataset; print(load_dataset(sys.argv[1]).fingerprint)"
    command = [sys.executable, "-c", code, str(data)]
    running = [
        subprocess.Popen(command, env={**os.environ, "XCWORK_HOME": str(home)}, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert len(set(outputs)) == 1
    assert len(entries(home)) == 1


@pytest.mark.slow
def test_ready_made_features_are_not_cached(tmp_path):
    for part in ("train", "test"):
        (tmp_path / f"{part}.txt").write_text("1 2 1\n0 1:1\n")
    load_dataset(tmp_path, home=tmp_path / "home")
    assert entries(tmp_path / "home") == []


def test_names_in_the_data_folder(tmp_path):
    home = tmp_path / "home"
    documents(home / "data" / "mine")
    (home / "data" / "notes").mkdir()
    (home / "data" / "README.md").write_text("formats")
    assert load_dataset("mine", home=home).name == "mine"
    found = {entry.name: entry for entry in list_datasets(home)}
    assert set(found) == {"pyseealso", "synthetic", "mine"}
    assert found["mine"].format == "table"
    assert json.dumps([entry.to_dict() for entry in found.values()])


def test_a_damaged_dataset_does_not_hide_the_others(tmp_path):
    documents(tmp_path / "data" / "good")
    (tmp_path / "data" / "bad").mkdir()
    (tmp_path / "data" / "bad" / "train.txt.gz").write_bytes(b"not gzip")
    assert [entry.name for entry in list_datasets(tmp_path)] == ["pyseealso", "synthetic", "good"]


def test_unknown_names_list_what_exists(tmp_path):
    documents(tmp_path / "data" / "mine")
    with pytest.raises(DataError, match="pyseealso, synthetic, mine"):
        load_dataset("nothing", home=tmp_path)


def test_the_home_folder_comes_from_the_environment(tmp_path, monkeypatch):
    documents(tmp_path / "data" / "mine")
    monkeypatch.setenv("XCWORK_HOME", str(tmp_path))
    assert load_dataset("mine").name == "mine"
    assert len(entries(tmp_path)) == 1


def test_propensities_by_name(tmp_path):
    for name, constants in (("LF-AmazonTitles-131K", (0.6, 2.6)), ("Wikipedia-500K", (0.5, 0.4)), ("own", (0.55, 1.5))):
        dataset = load_dataset(documents(tmp_path / name), home=tmp_path)
        assert constants == (dataset.propensity.A, dataset.propensity.B)
        assert (name in dataset.propensity.source) == (name != "own")


def test_the_format_can_be_named(tmp_path):
    data = documents(tmp_path / "mine")
    assert load_dataset(data, home=tmp_path, format="table").name == "mine"
    with pytest.raises(DataError, match="not the format 'xc'"):
        load_dataset(data, home=tmp_path, format="xc")
    with pytest.raises(ConfigError, match="no format 'word'"):
        load_dataset(data, home=tmp_path, format="word")


def test_synthetic_arguments(monkeypatch):
    import types

    given = {}
    fake = types.SimpleNamespace(make_synthetic=lambda **options: given.update(options))
    monkeypatch.setitem(sys.modules, "xcwork.data.synthetic", fake)
    load_dataset("synthetic:n_labels=50,seed=3,noise=0.5,signal=loud", n_documents=9)
    assert given == {"n_labels": 50, "seed": 3, "noise": 0.5, "signal": "loud", "n_documents": 9}
    with pytest.raises(ConfigError, match=r"synthetic takes name=value, got .*; write synthetic:n_labels=500"):
        load_dataset("synthetic:n_labels")


COUNTS = {
    "bibtex": (4880, 2515, 1836, 159, 0),
    "delicious": (12920, 3185, 500, 983, 0),
    "fashion-mnist": (60000, 10000, 784, 10, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_shared_data(name)) for name in sorted(COUNTS)])
def test_real_datasets(name, tmp_path):
    dataset = load_dataset(SHARED_DATA / name, home=tmp_path)
    found = (
        len(dataset.train),
        len(dataset.test),
        dataset.features.size,
        len(dataset.labels),
        len(dataset.unseen_labels),
    )
    assert found == COUNTS[name]


@pytest.mark.slow
@needs_shared_data("miml-scene", "stackexchange-cooking")
def test_real_datasets_without_a_test_part(tmp_path):
    scene = load_dataset(SHARED_DATA / "miml-scene", home=tmp_path)
    assert len({*scene.train.groups, *scene.test.groups}) == 2000
    assert len(scene.train) + len(scene.test) == 18000
    cooking = load_dataset(SHARED_DATA / "stackexchange-cooking", home=tmp_path)
    assert len(cooking.train) + len(cooking.test) == 15404
    assert len(cooking.labels) == 736
    assert np.isclose((cooking.train.Y.nnz + cooking.test.Y.nnz) / 15404, 2.307, atol=0.001)


def test_an_unknown_parameter_of_the_synthetic_dataset_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no parameter 'n_label'; it has n_documents, n_labels"):
        load_dataset("synthetic:n_label=3", home=tmp_path)


def test_a_source_is_resolved_without_being_read(tmp_path, reads, monkeypatch):
    data, home = documents(tmp_path / "mine"), tmp_path / "home"
    monkeypatch.chdir(tmp_path)
    source = resolve_source("mine", home=home, groups="random:size=2", vectorizer={"ngrams": 1})
    assert reads == []
    assert (source.name, source.path, source.location) == ("mine", data.resolve(), str(data))
    monkeypatch.chdir(home.parent.parent)
    dataset = source.load()
    assert len(reads) == 1
    assert len(set(dataset.train.groups)) == 3
    assert resolve_source(source.location, home=home, vectorizer={"ngrams": 1}).load().labels.names == [
        "l0",
        "l1",
        "l2",
    ]


def test_what_is_in_the_data_folder_is_found_by_its_name_and_located_by_its_path(tmp_path):
    data = documents(tmp_path / "data" / "mine")
    source = resolve_source("mine", home=tmp_path)
    assert (source.location, source.path) == (str(data.absolute()), data.resolve())


@pytest.mark.parametrize("name", ["synthetic:n_labels=7", "pyseealso"])
def test_built_in_sources_have_no_path(tmp_path, name):
    source = resolve_source(name, home=tmp_path)
    assert (source.location, source.path, source.name) == (name, None, name.partition(":")[0])


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        ("synthetic:n_lables=7", {}, "no parameter 'n_lables'"),
        ("pyseealso", {"text": "title"}, "no option 'text'"),
        ("pyseealso:seed=1", {}, "no dataset 'pyseealso:seed=1'"),
    ],
)
def test_what_cannot_be_loaded_is_refused_before_anything_is_read(tmp_path, name, options, problem):
    with pytest.raises((ConfigError, DataError), match=problem):
        resolve_source(name, home=tmp_path, **options)
