"""Parameters and saved models: what goes in comes out, and nothing on disk can be executed."""

from __future__ import annotations

import copy
import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from safetensors import safe_open
from scipy import sparse

import xcwork
from xcwork.errors import ConfigError, DataError
from xcwork.methods.base import Method
from xcwork.methods.registry import METHODS, create, find_method_class, find_name
from xcwork.storage.state import write_state

PICKLE_STARTS = tuple(bytes([0x80, protocol, 0x95]) for protocol in (4, 5))
# First words of a help text that name no thing: it starts with what is set ("number of …", "whether …").
NO_THINGS = {"also", "at", "choose", "how", "labels", "most", "the", "train", "use", "weights", "which"}


def test_a_loaded_model_answers_as_the_saved_one(on_jumble, jumble, tmp_path):
    on_jumble.save(tmp_path / "model")
    loaded = xcwork.load_method(tmp_path / "model")
    assert type(loaded) is type(on_jumble)
    assert loaded.get_params() == on_jumble.get_params()
    a, b = (model.predict(jumble.test, k=11) for model in (on_jumble, loaded))
    assert a.ids.tobytes() == b.ids.tobytes()
    assert a.scores.tobytes() == b.scores.tobytes()
    for document in range(4):
        x = jumble.test.X[[document]]
        assert loaded.explain(x, 1) == on_jumble.explain(x, 1)


def test_a_loaded_model_reads_text(on_checkerboard, checkerboard, tmp_path, same):
    on_checkerboard.save(tmp_path / "model")
    loaded = xcwork.load_method(tmp_path / "model")
    same(loaded.predict(checkerboard.test.texts, k=4), on_checkerboard.predict(checkerboard.test, k=4))


def test_saved_files_are_json_and_plain_arrays(on_checkerboard, tmp_path):
    on_checkerboard.save(tmp_path / "model")
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert files
    for path in files:
        content = path.read_bytes()
        assert not any(start in content for start in PICKLE_STARTS), path.name
        if path.suffix == ".json":
            json.loads(content)
        else:
            with safe_open(path, framework="numpy") as arrays:
                assert list(arrays.keys())


def test_saving_replaces_an_older_model(on_jumble, on_checkerboard, jumble, tmp_path, same):
    on_checkerboard.save(tmp_path / "model")
    on_jumble.save(tmp_path / "model")
    same(Method.load(tmp_path / "model").predict(jumble.test, k=3), on_jumble.predict(jumble.test, k=3))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_parameters_survive_a_round_trip(name):
    cls = find_method_class(name)
    defaults = cls().get_params()
    assert cls.from_params(defaults).get_params() == defaults
    assert json.loads(json.dumps(defaults)) == defaults
    for parameter in cls.parameters().values():
        assert parameter.help.split()[0] not in NO_THINGS, f"{parameter.help!r} does not start with what is set"
        assert parameter.check(defaults[parameter.name]) == defaults[parameter.name]
        assert parameter.parse(str(defaults[parameter.name])) == defaults[parameter.name]
    changed = cls().set_params(seed=5)
    assert changed.get_params() == defaults | {"seed": 5}


def test_an_unknown_parameter_is_refused_with_the_known_ones(name):
    with pytest.raises(ConfigError, match="has no parameter 'colour'; it has seed"):
        create(name, colour="red")


def test_a_value_outside_the_bounds_is_refused(name):
    with pytest.raises(ConfigError, match="seed must be at least 0, got -1"):
        create(name, seed=-1)
    with pytest.raises(ConfigError, match="seed must be a whole number, got 'one'"):
        create(name, seed="one")


def test_it_is_known_by_its_registered_name_and_describes_itself(name):
    cls = find_method_class(name)
    assert find_name(cls) == name
    assert cls.title
    assert (cls.__doc__ or "").strip()
    assert not cls.capabilities.zero_shot or cls.capabilities.needs_label_text
    assert list(METHODS) == sorted(METHODS)


def save_changed(model, folder, change):
    """The model as another version, or a stranger, might have stored it."""
    state = model.to_state()
    learned = dict(state["learned"])
    change(learned)

    class Changed(type(model)):
        def to_state(self):
            return state | {"learned": learned}

    changed = Changed.__new__(Changed)
    write_state(folder, {"model": changed})


def test_every_learned_attribute_is_declared(on_jumble):
    assert type(on_jumble.model_) is on_jumble.model_type
    assert set(on_jumble.to_state()["learned"]) == set(on_jumble.model_type.list_learned_fields())
    assert vars(on_jumble).keys() == on_jumble.parameters().keys() | {"model_"}
    assert dict(on_jumble.model_.params) == on_jumble.get_params()


def test_a_model_cannot_be_changed(on_jumble):
    for name in ("params", *on_jumble.model_type.list_learned_fields()):
        with pytest.raises(FrozenInstanceError):
            setattr(on_jumble.model_, name, None)


def test_a_model_of_another_version_is_one_sentence(on_jumble, tmp_path):
    learned = set(on_jumble.to_state()["learned"])
    for name in sorted(learned):
        save_changed(on_jumble, tmp_path / "older", lambda stored, name=name: stored.pop(name))
        with pytest.raises(DataError, match=r"cannot use the stored model: .*missing; train it again") as refusal:
            Method.load(tmp_path / "older")
        assert refusal.value.file == tmp_path / "older"
    save_changed(on_jumble, tmp_path / "newer", lambda stored: stored.update(later=1))
    with pytest.raises(DataError, match="later is unknown here; train it again"):
        Method.load(tmp_path / "newer")


def test_a_part_of_another_size_or_kind_is_refused(on_jumble, tmp_path):
    """Kernels trust what they index with, so no such model may get that far."""
    for name, value in on_jumble.to_state()["learned"].items():
        if name in ("curve", "curves", "labels", "features"):
            continue
        others = [{"a": {}}, "text"] if not isinstance(value, str) else [3]
        if isinstance(value, np.ndarray):
            others += [value[:0].reshape(-1)[:0], np.concatenate([value, value])]
        if sparse.issparse(value):
            others += [sparse.csr_array((value.shape[0] + 1, value.shape[1]), dtype=value.dtype)]
        for other in others:
            if isinstance(value, np.ndarray) and len(value) == 0 and isinstance(other, np.ndarray):
                continue
            save_changed(on_jumble, tmp_path / "changed", lambda stored, n=name, o=other: stored.update({n: o}))
            if name in ("gains", "voter_counts") and isinstance(other, np.ndarray):
                continue  # nothing is indexed with these
            with pytest.raises(DataError, match="cannot use the stored model"):
                Method.load(tmp_path / "changed")


def places_of_numbers(value, *path):
    """The way to every array of real numbers in a learned value."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places_of_numbers(item, *path, key)
    elif (sparse.issparse(value) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")) and value.size:
        yield path


def spoil(value, path, number):
    """The same value with one of the numbers at `path` replaced."""
    if path:
        changed = copy.copy(value)
        changed[path[0]] = spoil(value[path[0]], path[1:], number)
        return changed
    changed = value.copy()
    (changed.data if sparse.issparse(changed) else changed.reshape(-1))[-1] = number
    return changed


def test_numbers_that_are_not_finite_are_refused(name, on_jumble, tmp_path):
    learned = {key: value for key, value in on_jumble.to_state()["learned"].items() if not key.startswith("curve")}
    places = list(places_of_numbers(learned))
    assert places or name in ("popularity", "eagle")  # EAGLE's numbers are its learner's
    for path in places:
        for number in (np.nan, np.inf):
            if np.isnan(number) and (name, *path) == ("one_vs_all", "bias"):
                continue  # a label without a classifier
            save_changed(
                on_jumble, tmp_path / "m", lambda stored, p=path, n=number: stored.update(spoil(learned, p, n))
            )
            with pytest.raises(DataError, match=f"cannot use the stored model: {path[0]} .*not finite; train it again"):
                Method.load(tmp_path / "m")


def test_label_features_that_are_not_finite_are_refused(name, on_jumble, tmp_path):
    labels = on_jumble.labels_
    save_changed(
        on_jumble,
        tmp_path / "m",
        lambda stored: stored.update(labels=replace(labels, Z=labels.Z * np.float32(np.nan))),
    )
    with pytest.raises(DataError, match="its label features are not finite"):
        Method.load(tmp_path / "m")
