"""Imports point one way: every layer may import the layers before it, whether lazily or for types alone."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.paths import ROOT
from tests.support.syntax_trees import read_modules

# From the bottom to the top, as drawn in docs/architecture.md.
LAYERS = [
    "errors",
    "extras",
    "sparse",
    "paths",
    "options",
    "storage",
    "progress",
    "compute",
    "export",
    "kernels",
    "text",
    "core",
    "data",
    "metrics",
    "decisions",
    "search",
    "published",
    "methods",
    "layout",
    "runs",
    "advice",
    "analysis",
    "review",
    "viz",
    "studies",
    "cli",
    "xcwork_app",
]
# What a method may import of `methods` besides its own package.
SHARED = {"base", "calibrating", "common", "inputs", "model", "names", "params", "presets", "registry"}
MODULES = read_modules()
LONGEST_FILE_LINES = 400


def imports_of(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Find every imported module of ours with its line, inside functions and type-checking blocks too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in MODULES else node.module), node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno


IMPORTS = [
    (module, imported, line)
    for module, tree in MODULES.items()
    for imported, line in imports_of(tree)
    if imported in MODULES and imported != "xcwork"
]


def layer_of(module: str) -> str:
    return module.split(".")[1] if module.startswith("xcwork.") else module.split(".")[0]


def test_every_module_has_a_layer() -> None:
    assert {layer_of(module) for module in MODULES} - {"xcwork", "__main__"} == set(LAYERS)


def test_no_layer_imports_one_above_it() -> None:
    assert [
        f"{module}:{line} imports {imported}"
        for module, imported, line in IMPORTS
        if layer_of(module) in LAYERS and LAYERS.index(layer_of(imported)) > LAYERS.index(layer_of(module))
    ] == []


def test_no_method_imports_another() -> None:
    inside = [item for item in IMPORTS if layer_of(item[0]) == layer_of(item[1]) == "methods"]
    methods = {module.split(".")[2] for module in MODULES if module.startswith("xcwork.methods.")} - SHARED
    assert methods
    assert [
        f"{module}:{line} imports {imported}"
        for module, imported, line in inside
        if imported.count(".") >= 2 and (name := imported.split(".")[2]) in methods and name not in module.split(".")
    ] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = defaultdict(set)
    for module, imported, _ in IMPORTS:
        # A package exports what its own modules define; a module run as a program may import itself.
        if imported != module and not imported.startswith(f"{module}."):
            graph[module].add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" → ".join(reversed(problem.args[1])))


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_the_picture_shows_every_layer() -> None:
    picture = (ROOT / "docs" / "layers.svg").read_text("utf-8")
    shown = {name for line in re.findall(r'font-weight="600"[^>]*>([^<]+)<', picture) for name in line.split(" · ")}
    assert shown == {"app" if name == "xcwork_app" else name for name in LAYERS}


def test_no_file_is_long_and_the_formatter_is_never_switched_off() -> None:
    folders = ("app", "benchmarks", "scripts", "tests", "xcwork")
    texts = {path: path.read_text("utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py")}
    assert len(texts) > 900
    assert {path.name: lines for path, text in texts.items() if (lines := text.count("\n")) > LONGEST_FILE_LINES} == {}
    switched_off = re.compile(r"# fmt: ?(?:skip|off)$", re.MULTILINE)
    assert [path.name for path, text in texts.items() if switched_off.search(text)] == []
