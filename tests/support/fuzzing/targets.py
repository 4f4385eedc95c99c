"""What is fed: each target draws an input and does with it what xcwork does with such a thing.

A target has `draw(rng)`, which gives files, and `run(folder)`, which reads them from a folder. The only outcomes
allowed are a sound result and an error of `xcwork.errors`.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.fuzzing import samples
from tests.support.fuzzing.mutation_values import NUMBERS, TOKENS, VALUES
from tests.support.fuzzing.mutations import Files, mutated, mutated_tree
from xcwork.errors import XcworkError

CACHED = 12  # of so many inputs of a reader one goes through the cache, and one through the card and the preview


class Target(ABC):
    """One way into xcwork."""

    @abstractmethod
    def draw(self, rng: random.Random) -> Files:
        """An input."""

    @abstractmethod
    def run(self, folder: Path, files: Files) -> None:
        """Read the input, which lies in `folder`. An error of xcwork is as good as a result."""


class Readers(Target):
    """Every dataset format, through the recognition of formats, the cache, the card and the preview of tables."""

    def __init__(self, _: Path, forms: tuple[str, ...] = ()) -> None:
        made = samples.datasets()
        self.samples = {form: made[form] for form in forms or made}

    def draw(self, rng: random.Random) -> Files:
        return mutated(rng, self.samples[rng.choice(sorted(self.samples))])

    def run(self, folder: Path, files: Files) -> None:
        from xcwork.data.card import describe
        from xcwork.data.load import list_datasets, load_dataset
        from xcwork.data.readers import choose_reader, read
        from xcwork.data.readers.preview import preview_table

        visible = [name for name in files if not name.startswith(".")]
        path = folder / visible[0] if len(visible) == 1 else folder
        way = sum(map(len, files.values())) % CACHED
        if way == 0 or len(visible) < len(files):  # stored options are read with the cache
            home = folder.with_name("home")
            shutil.rmtree(home, ignore_errors=True)
            try:
                check_sound(load_dataset(path, home=home))
                check_sound(load_dataset(path, home=home))  # from the cache
            finally:
                left = [file.name for file in home.rglob("*") if file.name.endswith((".tmp", ".old"))]
                if left:
                    raise AssertionError(f"the cache holds {left}")
            return
        if way == 1:
            list_datasets(folder.parent)
        if way == 2 and path.is_file():
            with contextlib.suppress(XcworkError):
                preview_table(path)
        dataset = read(choose_reader(path), path, "fuzz", {})
        check_sound(dataset)
        if way == 3:
            describe(dataset)


def check_sound(dataset: Any) -> None:
    """What every method relies on."""
    for split in (dataset.train, dataset.test):
        for matrix in (split.X, split.Y):
            matrix.check_format(full_check=True)
            if matrix.dtype != np.float32 or not np.isfinite(matrix.data).all() or not matrix.has_canonical_format:
                raise AssertionError("a matrix of the dataset is not sound")
        if not len(split) or (split.Y.data != 1).any():
            raise AssertionError("a part is empty, or Y holds something else than ones")
    if not all(isinstance(name, str) for name in dataset.labels.names):
        raise AssertionError("a label is not named by a text")


class Models(Target):
    """`Method.load` of a changed model of every method; what loads must predict, explain and add labels."""

    def __init__(self, scratch: Path, methods: tuple[str, ...] | None = None) -> None:
        from xcwork.methods.registry import METHODS

        chosen = methods or tuple(METHODS)
        self.samples = {name: samples.model(name, scratch / f"model-{name}") for name in chosen}

    def draw(self, rng: random.Random) -> Files:
        return mutated(rng, self.samples[rng.choice(sorted(self.samples))])

    def run(self, folder: Path, files: Files) -> None:
        from xcwork.methods.base import Method

        model = Method.load(folder)
        top = model.predict(list(samples.TEXTS), k=3)
        top.to_frame()
        if len(model.labels_):
            model.explain(samples.TEXTS[0], 0)
        model.label_embeddings()
        if model.capabilities.zero_shot:
            model.add_labels(["green triangle"])
            model.predict(samples.TEXTS[0], k=3)


class Runs(Target):
    """Everything the command line, the dashboard and reports read from a run folder."""

    def __init__(self, scratch: Path) -> None:
        made = samples.run_folder(scratch)
        self.files = {name: content for name, content in made.items() if not name.startswith("model/")}
        self.heavy = {name: self.files[name] for name in self.files if name != "log.txt"}

    def draw(self, rng: random.Random) -> Files:
        return mutated(rng, self.files)

    def run(self, folder: Path, files: Files) -> None:
        from xcwork.cli.output import build_record
        from xcwork.export.json_text import to_json
        from xcwork.runs import Run, RunStore, evaluation
        from xcwork.runs.card import render_card

        store = RunStore(folder.parent.parent)
        for run in store.list():
            to_json(build_record(run))
            repr(run), run.read_log(5), run.read_notes(), run.read_events()
            run.make_next_attempt(run.status)

            def describe(run: Run = run) -> str:
                labels = evaluation.read_label_table(run.folder / "eval")
                return render_card(run, run.read_report(), labels, run.status)

            for part in (run.read_report, run.read_topk, describe):
                with contextlib.suppress(XcworkError):
                    part()
        store.open("last").check()


class Config(Target):
    """Texts that people and links give: `--set`, `--option`, `synthetic:…`, groups, run ids, addresses, run configs."""

    OPTIONS = ("text_column", "test_share", "encoding", "one_based", "vectorizer", "label_file", "x")
    SPECS = (
        "synthetic:n_labels=500,seed=1",
        "synthetic:n_documents=100,n_topics=3",
        "synthetic:labels_per_document=0.5",
        "random:size=10,seed=1",
        "clusters:depth=5,noise=0.5",
        "names:level=module,aggregate=true",
        "pyseealso",
    )

    def __init__(self, _: Path) -> None:
        from xcwork.methods.registry import METHODS, find_method_class

        self.parameters = [
            (method, parameter) for method in METHODS for parameter in find_method_class(method).parameters().values()
        ]

    def draw(self, rng: random.Random) -> Files:
        kind = rng.randrange(4)
        if kind == 0:
            method, parameter = rng.choice(self.parameters)
            given = {parameter.name: rng.choice((parameter.default, rng.choice(VALUES), rng.choice(NUMBERS)))}
            asked: Any = {
                "method": method,
                "text": self._text(rng, str(parameter.default)),
                "name": parameter.name,
                "params": mutated_tree(rng, given),
            }
        elif kind == 1:
            asked = {"options": [f"{rng.choice(self.OPTIONS)}={self._text(rng, 'both')}", self._text(rng, "a=b")]}
        elif kind == 2:
            asked = {"spec": self._text(rng, rng.choice(self.SPECS))}
        else:
            asked = {"run": self._text(rng, "20260101-000000-abcd-popularity"), "query": self._text(rng, "5")}
        return {"asked.json": json.dumps(asked).encode()}

    def _text(self, rng: random.Random, text: str) -> str:
        for _ in range(rng.randrange(3)):
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice((rng.choice(NUMBERS), rng.choice(TOKENS))) + text[at + rng.randrange(4) :]
        return text

    def run(self, folder: Path, files: Files) -> None:
        from xcwork.data.group_recipes import parse_recipe
        from xcwork.data.load import parse_synthetic
        from xcwork.data.planted_model import Planted
        from xcwork.methods.registry import create, find_method_class
        from xcwork.options import parse_data_options, parse_pairs
        from xcwork.runs import RunStore
        from xcwork.runs.config import locate_source

        asked = json.loads(files["asked.json"])
        if "method" in asked:
            parameter = find_method_class(asked["method"]).parameters()[asked["name"]]
            with contextlib.suppress(XcworkError):
                parameter.check(parameter.parse(asked["text"]))
            if isinstance(asked["params"], dict):
                create(asked["method"], **asked["params"])
        elif "options" in asked:
            with contextlib.suppress(XcworkError):
                parse_pairs(asked["options"], "--set")
            parse_data_options(asked["options"])
        elif "spec" in asked:
            with contextlib.suppress(XcworkError):
                parse_recipe(asked["spec"])
            with contextlib.suppress(XcworkError):
                locate_source(asked["spec"])
            name, _, arguments = asked["spec"].partition(":")
            if name == "synthetic":
                Planted(**parse_synthetic(arguments, {}))
        else:
            RunStore(folder).open(asked["run"])


TARGETS = {"readers": Readers, "model": Models, "run": Runs, "config": Config}
