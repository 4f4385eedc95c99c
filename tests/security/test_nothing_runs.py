"""No code in a dataset, a model or a run is ever run: pickles, objects and commands are planted everywhere."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.fuzzing import samples
from tests.support.planted_code import Planted
from xcwork.data.load import load_dataset
from xcwork.errors import XcworkError
from xcwork.methods.base import Method
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.registry import create, find_method_class
from xcwork.options import parse_data_options
from xcwork.runs import RunStore
from xcwork.runs.config import make_config, write_config
from xcwork.runs.evaluation import read_topk
from xcwork.runs.status import Status, write_status
from xcwork.storage.state import read_state, write_state

CALLS = ("os.system", "os:system", "subprocess:Popen", "builtins:eval", "__import__", "xcwork.methods.base:os.system")


def of_objects(planted: Any) -> bytes:
    """An npz file whose arrays are pickles."""
    buffer = io.BytesIO()
    np.savez(
        buffer,
        **{
            name: np.array([planted], object)
            for name in ("indices", "indptr", "data", "shape", "format", "ids", "scores")
        },
    )
    return buffer.getvalue()


def torch_file(planted: Any) -> bytes:
    """What `torch.save` writes: a zip with a pickle in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(planted))
        archive.writestr("archive/version", "3\n")
    return buffer.getvalue()


FORMS = {"pickle": pickle.dumps, "array of objects": of_objects, "torch file": torch_file}


@pytest.fixture(params=sorted(FORMS))
def payload(request: pytest.FixtureRequest, planted: Any) -> bytes:
    return FORMS[request.param](planted)


def test_the_payload_would_run(tmp_path: Path) -> None:
    """The control: without our precautions the same bytes leave their mark."""
    marker = tmp_path / "control"
    pickle.loads(pickle.dumps(Planted(marker)))
    assert marker.exists()


@pytest.mark.parametrize(
    "form",
    ["pecos", "xc", "svmlight", "csv", "jsonl", "parquet", "mulan", "idx", "lf json", "csv gzipped", "csv zipped"],
)
def test_a_dataset_file_that_is_a_pickle_is_refused(form: str, payload: bytes, tmp_path: Path) -> None:
    for replaced in samples.datasets()[form]:
        folder = tmp_path / replaced
        folder.mkdir()
        for name, content in samples.datasets()[form].items():
            (folder / name).write_bytes(payload if name == replaced else content)
        try:
            load_dataset(folder, home=tmp_path / "home")
        except XcworkError:
            continue


def test_a_parquet_file_cannot_bring_a_python_type(planted: Any, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    hidden = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(planted)}
    fields = [pa.field("text", pa.string(), metadata=hidden), pa.field("labels", pa.string(), metadata=hidden)]
    columns = [[f"word{i} common" for i in range(8)], [f"l{i % 3}" for i in range(8)]]
    parquet.write_table(pa.table(columns, schema=pa.schema(fields)), tmp_path / "data.parquet")
    assert len(load_dataset(tmp_path / "data.parquet", home=tmp_path / "home").labels) == 3


@pytest.mark.parametrize("file", ["state.json", "arrays.safetensors"])
def test_a_model_that_is_a_pickle_is_refused(file: str, payload: bytes, tmp_path: Path) -> None:
    write_state(tmp_path / "model", {"a": np.zeros(3)})
    (tmp_path / "model" / file).write_bytes(payload)
    (tmp_path / "model" / "extra.pkl").write_bytes(payload)
    with pytest.raises(XcworkError, match="damaged"):
        Method.load(tmp_path / "model")


def test_files_beside_a_model_are_not_looked_at(payload: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    samples.model("popularity", folder)
    for name in ("model.pkl", "pytorch_model.bin", "hubconf.py", "__init__.py", "conftest.py", "model.joblib"):
        (folder / name).write_bytes(payload)
    assert Method.load(folder).predict("red square", k=1).ids.shape == (1, 1)


@pytest.mark.parametrize("call", CALLS)
def test_a_model_cannot_name_a_function(call: str, planted: Any, tmp_path: Path) -> None:
    write_state(tmp_path / "model", {"a": 1})
    touch = f"touch '{planted.marker}'"
    for node in (
        {"$object": call, "path": "", "state": touch},
        {"$object": "Method", "path": "", "state": touch},
        {"$object": "Method", "path": "", "state": {"method": call, "params": {"command": touch}, "learned": {}}},
        {
            "$object": "Method",
            "path": "",
            "state": {"method": "popularity", "params": {}, "learned": {"predict": touch, "__class__": call}},
        },
    ):
        (tmp_path / "model" / "state.json").write_text(json.dumps({"model": node}))
        with pytest.raises(XcworkError):
            Method.load(tmp_path / "model")


def test_a_checkpoint_that_is_a_pickle_counts_as_none(payload: bytes, tmp_path: Path) -> None:
    write_state(tmp_path / "000001", {"step": 1})
    for file in (tmp_path / "000001").iterdir():
        file.write_bytes(payload)
    assert Checkpoint(tmp_path).restore() is None


def test_stored_predictions_that_are_objects_are_refused(payload: bytes, tmp_path: Path) -> None:
    (tmp_path / "topk.npz").write_bytes(payload)
    with pytest.raises(XcworkError, match="cannot be read"):
        read_topk(tmp_path)


@pytest.mark.parametrize("call", CALLS)
def test_a_run_cannot_name_a_function(call: str, planted: Any, tmp_path: Path) -> None:
    from xcwork.runs import worker

    store = RunStore(tmp_path)
    folder = store.folder / "20260101-000000-abcd-x"
    folder.mkdir(parents=True)
    touch = f"touch '{planted.marker}'"
    config = make_config("popularity", {}, "pyseealso", {})
    write_config(folder, config | {"method": call, "params": {"command": touch}, "data": f"; {touch}"})
    write_status(folder, Status())
    run = store.open("last")
    assert run.to_dict()["method"] == call
    assert worker.main(run.folder) != 0
    assert run.state == "failed"


@pytest.mark.parametrize(
    "name", ["$(touch {m}).csv", "`touch {m}`.csv", "; touch {m} #.csv", "| touch {m}.csv", "-x.csv"]
)
def test_a_name_is_never_a_command(name: str, tmp_path: Path) -> None:
    marker = tmp_path / "code-was-run"
    (tmp_path / name.format(m=marker.name)).write_bytes(samples.CSV)
    load_dataset(tmp_path / name.format(m=marker.name), home=tmp_path / "home")
    assert not marker.exists()
    assert not Path(marker.name).exists()


def test_settings_are_values_not_code(planted: Any) -> None:
    code = f"__import__('os').system(\"touch '{planted.marker}'\")"
    with pytest.raises(XcworkError):
        load_dataset(f"synthetic:seed={code}")
    assert parse_data_options([f"encoding={code}"]) == {"encoding": code}
    with pytest.raises(XcworkError):
        find_method_class("popularity").parameters()["seed"].parse(code)
    with pytest.raises(XcworkError):
        create("eagle", learner=code).make_learner()


def test_loading_imports_nothing_but_what_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    write_state(tmp_path / "s", {"a": 1})
    monkeypatch.setattr("importlib.import_module", asked.append)
    for call in CALLS:
        (tmp_path / "s" / "state.json").write_text(json.dumps({"a": {"$object": call, "path": "", "state": {}}}))
        with pytest.raises(XcworkError):
            read_state(tmp_path / "s")
    assert asked == []
