"""`config.json`: everything that decides what a run computes, written before the worker exists.

Parameters are complete (defaults filled in), paths are absolute, and the versions of the libraries stand beside them,
so the file alone says how to get the same result again. The worker adds one thing: the facts about the data it loaded.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from xcwork.errors import ConfigError, RunError
from xcwork.runs.status import format_now
from xcwork.storage.atomic import write_json

CONFIG_FILE = "config.json"
SCHEMA_VERSION = 1
MAX_RANKS = 1024
REQUIRED_TYPES: dict[str, type | tuple[type, ...]] = {
    "method": str,
    "params": dict,
    "data": str,
    "data_options": dict,
    "dataset": (dict, type(None)),
    "device": str,
    "versions": dict,
}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "torch", "safetensors", "hnswlib")


def make_config(
    method: str,
    params: Mapping[str, Any],
    data: str | Path,
    data_options: Mapping[str, Any],
    *,
    home: Path | None = None,
    cluster: str = "",
    ranks: int = 1,
    calibration: str = "auto",
    label_map: bool = True,
    preset: str | None = None,
) -> dict[str, Any]:
    """Return the configuration of a new run of `home`.

    This is where a run is validated: parameters that the method does not know or allow, data that no reader would
    begin to read and ranks that the method cannot use are rejected here. Later steps trust what is stored, except that
    a worker, which may get a configuration that was edited or written by another version, creates the method from it.
    A `preset` gives the parameters that are not in `params`; without one, its name is found from them.
    """
    from xcwork.methods import presets, registry

    created = registry.create(method, preset=preset or presets.DEFAULT_PRESET, **params)
    resolved = created.get_params()
    options = _to_plain(data_options)
    check_ranks(method, created.capabilities.ranks, ranks)
    return {
        "schema": SCHEMA_VERSION,
        "created": format_now(),
        "method": method,
        "params": resolved,
        "preset": presets.recognise_preset(method, resolved) if preset is None else preset,
        "data": locate_source(data, home, options),
        "data_options": options,
        "dataset": None,
        "seed": resolved["seed"],
        "device": resolved.get("device", "auto") if created.capabilities.gpu else "cpu",
        "versions": read_versions(),
        "cluster": cluster,
        "ranks": ranks,
        "calibration": choose_calibration(calibration, method, ranks),
        "label_map": label_map,
    }


def check_ranks(method: str, able: bool, ranks: int) -> None:
    """Reject several ranks where one would do all the work."""
    if not 1 <= ranks <= MAX_RANKS:
        raise ConfigError(f"ranks must lie between 1 and {MAX_RANKS}, got {ranks}")
    if ranks > 1 and not able:
        from xcwork.methods import registry

        able_ones = [
            name for name in registry.list_usable_methods() if registry.find_method_class(name).capabilities.ranks
        ]
        usable = ", ".join(able_ones) or "none: install torch"
        raise ConfigError(f"{method} does not share its labels among ranks; use one of {usable}")


def choose_calibration(calibration: str, method: str, ranks: int) -> str:
    """Return how a new run is calibrated; ways that do not exist or that ranks, which train once, cannot take are not.

    A method that trains for minutes on few documents is not trained again for its probabilities unless asked to.
    """
    from xcwork.decisions.held_out_documents import AUTO, CHOICES, REFIT, SPARING
    from xcwork.methods.names import SLOW_METHODS

    if calibration not in CHOICES:
        raise ConfigError(f"the calibration must be one of {', '.join(CHOICES)}, got {calibration!r}")
    if calibration == REFIT and ranks > 1:
        raise ConfigError("several ranks cannot refit; use the calibration held_out or none")
    return SPARING if calibration == AUTO and method in SLOW_METHODS else calibration


def read_calibration_choice(config: Mapping[str, Any]) -> str:
    """Return how a run is calibrated; older runs are not, and ranks train only once."""
    choice = config.get("calibration", "none")
    if choice in ("auto", "sparing") and read_place(config)[1] > 1:
        return "held_out"
    return choice


def read_place(config: Mapping[str, Any]) -> tuple[str, int]:
    """Return (address of the cluster or nothing, number of ranks) of a run; older runs name neither."""
    cluster, ranks = config.get("cluster", ""), config.get("ranks", 1)
    if not isinstance(cluster, str) or type(ranks) is not int or not 1 <= ranks <= MAX_RANKS:
        raise RunError("the run has no usable 'cluster' or 'ranks' in its config.json; start a new run")
    return cluster, ranks


def wants_map(config: Mapping[str, Any]) -> bool:
    """Return whether the label map of a run is made when it is finished; older runs do not say so."""
    return config.get("label_map") is True


def read_config(folder: Path) -> dict[str, Any]:
    """Return the configuration of the run in `folder`; anything that cannot be used is one clear error."""
    path = folder / CONFIG_FILE
    try:
        config = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder} is not a run: it has no {CONFIG_FILE}") from None
    except (OSError, ValueError, RecursionError) as damage:
        raise RunError(f"{path} cannot be read ({damage}); start a new run") from None
    if not isinstance(config, dict):
        raise RunError(f"{path} does not describe a run; start a new one")
    if config.get("schema") != SCHEMA_VERSION:
        raise RunError(
            f"{path} has layout {config.get('schema')!r}, but this xcwork reads {SCHEMA_VERSION}; update xcwork"
        )
    for name, kind in REQUIRED_TYPES.items():
        if not isinstance(config.get(name), kind):
            raise RunError(f"{path} has no usable {name!r}; start a new run")
    return config


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    """Replace the file in one step."""
    write_json(folder / CONFIG_FILE, dict(config))


def locate_source(data: str | Path, home: Path | None = None, options: Mapping[str, Any] | None = None) -> str:
    """Return the data source as a worker finds it from any working directory: a built-in name or an absolute path.

    A name of the data folder of `home` becomes its path; what `load_dataset` could not begin to read is rejected.
    """
    from xcwork.data.load import resolve_source

    text = str(data)
    if text != text.encode("utf-8", "replace").decode("utf-8"):
        raise RunError(f"the name {text!r} is not valid UTF-8, so a run cannot record it; rename the file or folder")
    try:
        return resolve_source(text, home=home, **(options or {})).location
    except OSError as refusal:  # a name that is too long, a folder that may not be read
        raise RunError(f"{text[:80]!r} cannot be looked up ({refusal.strerror}); check the path") from None


def read_versions() -> dict[str, str]:
    """Return those of Python, xcwork and the libraries that decide results, without importing them."""
    import xcwork

    found = {"python": platform.python_version(), "xcwork": xcwork.__version__}
    for library in LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found


def _to_plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as JSON can hold them; paths become text."""
    try:
        return json.loads(json.dumps(dict(options), default=lambda value: str(Path(value).absolute())))
    except (TypeError, ValueError) as problem:
        raise RunError(f"the data options cannot be stored ({problem}); use texts, numbers and lists") from None
