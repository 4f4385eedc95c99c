"""Settings of every method: each parameter at each of its choices and at other numbers, generated from declarations.

What a declaration cannot say is in the tables below: values of free texts, parameters that only make sense together,
and a few combinations of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.support.brief_training import BRIEF
from xcwork.compute import device
from xcwork.errors import ConfigError
from xcwork.methods.params import Parameter
from xcwork.methods.presets import list_preset_names
from xcwork.methods.registry import METHODS, find_method_class
from xcwork.methods.siamesexml.method import make_supplement_variant

FOLDER = "{folder}"  # of the files that settings name: word vectors and a sentence encoder

# Values of free texts, by method and parameter.
TEXTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("eagle", "learner_params"): ("prune=0.2,trees=1",),
    ("mhc", "heads"): ("4,3", "2,2,3"),
    ("mhp", "heads"): ("4,3",),
    ("mhs", "heads"): ("4,3",),
    ("siamesexml", "graphs"): ("text", "documents", "centroids, text"),
    ("siamesexml", "vectors"): (f"{FOLDER}/vectors.txt",),
}
# What a parameter, or one value of it, only makes sense with; by parameter, or by method and parameter.
TOGETHER: dict[tuple[str, ...], dict[str, Any]] = {
    ("backbone=sentence",): {"encoder": FOLDER},
    ("decoding_alpha",): {"decoding": "l1"},
    ("depth",): {"grouping": "clusters"},
    ("group_size",): {"grouping": "random"},
    ("landmarks", "C"): {"predictor": "svm"},
    ("landmarks", "tolerance"): {"ridge_solver": "cg"},
    ("mhp", "heads"): {"coding": "label"},
    ("mhp", "n_heads"): {"coding": "label"},
    ("mhs", "margin"): {"loss": "ce"},
    ("mhs", "sampled"): {"heads": "4,3"},
    ("noise",): {"grouping": "clusters"},
    ("patience",): {"epochs": 3},
    ("zestxml", "batch_size"): {"epochs": 2},
    ("zestxml", "overfetch"): {"shortlister": "lazy", "shortlist": 2},
    ("zestxml", "learning_rate"): {"epochs": 2},
    ("zestxml", "refined"): {"epochs": 2, "learning_rate": 0.5},
    ("zestxml", "alpha"): {"refined": "pairs", "epochs": 2, "learning_rate": 0.5},
}
COMBINATIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "eagle": (
        {"learner": "siamesexml", "learner_params": "epochs=1,classifier_epochs=1,graphs=text,centroids,nu=0.1"},
        {"learner": "flat", "learner_params": f"backbone=sentence,encoder={FOLDER},epochs=1,min_steps=0"},
        {"learner": "zestxml", "learner_params": "variant=xhtp", "grouping": "random", "assign": "one"},
    ),
    "label_tree": ({"kind": "bonsai", "branching": 3, "max_depth": 1, "leaf_size": 2}, {"leaf_size": 1, "beam": 1}),
    "landmarks": ({"solver": "admm", "decoding": "l1", "landmarks": 3}, {"predictor": "svm", "one_vs_rest": False}),
    "mhp": ({"coding": "label", "loss": "bce"}, {"coding": "label", "n_heads": 3, "label_order": "cluster"}),
    "mhs": ({"loss": "ce", "sampling": "document", "margin": 0.2},),
    "siamesexml": (
        make_supplement_variant().get_params() | BRIEF["siamesexml"],
        {"nu": 0.1, "search": "hnsw", "members": 2, "shortlist": 2},
        {"nu": 0.1, "plus": False, "alpha": 0.3, "activation": "relu"},
    ),
    "zestxml": (
        {"variant": "xhtp", "plain": True},
        {"epochs": 2, "loss": "logistic", "plain": True},
        {"refined": "pairs", "epochs": 3, "columns": False, "learning_rate": 0.5, "alpha": 0.7},
        {"refined": "pairs", "epochs": 2, "loss": "logistic", "learning_rate": 0.5},
    ),
}


class Setting(NamedTuple):
    """A method with some parameters that are not at their default."""

    method: str
    params: dict[str, Any]
    changed: str  # the parameter that this setting is about; empty for a combination

    def __str__(self) -> str:
        shown = ",".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.method}-{shown if len(shown) < 60 else shown[:60] + '...'}"

    @property
    def needs_single_labels(self) -> bool:
        """Tell whether it only works where no document has more than one label."""
        return (self.params.get("loss") == "ce" and self.method != "mhp") or self.params.get("coding") == "label"

    @property
    def reads_text(self) -> bool:
        """Tell whether a sentence encoder takes part whose explanations are approximate."""
        return "sentence_match" in (self.method, self.params.get("learner")) or self.params.get("start") == "sentence"


def every_setting() -> Iterator[Setting]:
    """One parameter changed at a time, then presets and combinations."""
    for method in sorted(METHODS):
        declared = find_method_class(method).parameters()
        for name, parameter in declared.items():
            for value in TEXTS.get((method, name), ()) or other_values(parameter):
                yield Setting(method, needed_with(method, name, value) | {name: value}, name)
        for name in list_preset_names(method)[1:]:
            yield Setting(method, make_brief(method, find_method_class(method).find_preset(name).params), "")
        for params in COMBINATIONS.get(method, ()):
            changes = {name: value for name, value in params.items() if value != declared[name].default}
            yield Setting(method, changes, "")


def make_brief(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a preset, but no larger network and no longer training than tests have time for."""
    brief = BRIEF.get(method, {})
    return {name: min(value, brief[name]) if name in brief else value for name, value in params.items()}


def needed_with(method: str, name: str, value: Any) -> dict[str, Any]:
    """Look up the parameters that a value must be combined with."""
    if (method, name) == ("eagle", "learner"):
        return {"learner_params": ",".join(f"{key}={at}" for key, at in BRIEF.get(value, {}).items())}
    keys = ((method, name), (name,), (f"{name}={value}",))
    return next((TOGETHER[key] for key in keys if key in TOGETHER), {})


def other_values(parameter: Parameter) -> list[Any]:
    """Legal values besides the default: every choice, or for a number its lower bound, and one near a usual value."""
    if parameter.name == "device":
        return [name for name in parameter.choices or () if name != parameter.default and is_present(name)]
    if parameter.choices is not None:
        values: list[Any] = list(parameter.choices)
    elif parameter.type is bool:
        values = [True, False]
    elif parameter.type is int:
        values = [parameter.low, 2 if parameter.default != 2 else 3]
    elif parameter.type is float:
        values = [parameter.low, parameter.default / 2 if parameter.default else 0.1, parameter.high]
    else:
        values = []
    low, high = parameter.low, parameter.high
    legal = [v for v in values if v is not None and (low is None or v >= low) and (high is None or v <= high)]
    return [value for value in dict.fromkeys(legal) if value != parameter.default]


def is_present(name: str) -> bool:
    """Tell whether this machine has the device."""
    try:
        device.resolve_device(name)
    except ConfigError:
        return False
    return True
