"""The public objects of a few scientific packages, with their docstrings: the raw material of `pyseealso`.

`collect_documented` walks the public modules of the packages and notes every documented function, class, method and
property under all its public names. An object that many modules re-export is one object; its canonical name is the
shortest one that ends as the object calls itself.

Many docstrings exist only at run time (compiled functions, generated ones), so the packages have to be imported. That
happens in a fresh Python process: the importing program keeps its memory and its warnings settings, and what it
imported before cannot change the result.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xcwork.errors import DataError

PACKAGES = ("networkx", "numpy", "pandas", "scipy", "sklearn")
# Tests, build tools, vendored code, and modules whose import switches something on.
PRIVATE_NAMES = {
    "compat",
    "conftest",
    "core",
    "distutils",
    "experimental",
    "externals",
    "f2py",
    "matlib",
    "setup",
    "testing",
    "tests",
    "testutils",
}
MAX_ACCESSOR_DEPTH = 2  # the methods of pandas.Series.str are two levels below the class
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Documented:
    """A public object: its canonical name, every public name, and its docstring without indentation."""

    name: str
    names: list[str]
    doc: str


def collect_documented() -> list[Documented]:
    """Return every documented public object of the installed packages, sorted by name."""
    # Docstrings vanish under PYTHONOPTIMIZE=2, and a fixed hash seed fixes the order of sets printed inside them.
    environment = {**os.environ, "PYTHONOPTIMIZE": "", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "objects.json"
        # -P: a file called numpy.py in the current folder must not stand in for the package.
        command = [sys.executable, "-P", "-m", __name__, str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise DataError(
                f"the docstrings of {', '.join(PACKAGES)} cannot be read ({reason})",
                remedy="repair the installation, for example with pip install --force-reinstall of the package named",
            )
        return [Documented(**entry) for entry in json.loads(path.read_text("utf-8"))]


class _Walk:
    """Names by object. Objects are compared by identity, so all of them are kept alive during the walk."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Any, list[str]]] = {}

    def add_package(self, package: str) -> None:
        for module in _walk_modules(package):
            for name in sorted(_list_exports(module)):
                value = _get_attribute(module, name)
                if _belongs_to(value, package):
                    self.add(f"{module.__name__}.{name}", value)
                    if inspect.isclass(value):
                        self.add_members(f"{module.__name__}.{name}", value, package)

    def add_members(self, class_name: str, owner: type, package: str, depth: int = 1) -> None:
        """Add the methods and properties of a class, and of the accessor classes that hang below it."""
        for base in owner.__mro__:
            if not _belongs_to(base, package):
                continue
            for name, value in sorted(vars(base).items()):
                if name.startswith("_") or inspect.getattr_static(owner, name) is not value:
                    continue
                value = getattr(value, "__func__", value)  # behind staticmethod and classmethod
                accessor = getattr(value, "_accessor", None)
                if inspect.isclass(accessor) and depth < MAX_ACCESSOR_DEPTH:
                    self.add(f"{class_name}.{name}", accessor)
                    self.add_members(f"{class_name}.{name}", accessor, package, depth + 1)
                elif not inspect.isclass(value) and (callable(value) or hasattr(value, "__get__")):
                    self.add(f"{class_name}.{name}", value)

    def add(self, name: str, value: Any) -> None:
        if isinstance(getattr(value, "__doc__", None), str):
            self.found.setdefault(id(value), (value, []))[1].append(name)

    def list_entries(self) -> list[dict[str, Any]]:
        entries = [
            {
                "name": _choose_name(names, value),
                "names": sorted(set(names)),
                "doc": _ADDRESS.sub("", inspect.cleandoc(value.__doc__)).strip(),
            }
            for value, names in self.found.values()
            if not self._has_borrowed_doc(value)
        ]
        return sorted((entry for entry in entries if entry["doc"]), key=lambda entry: entry["name"])

    def _has_borrowed_doc(self, value: Any) -> bool:
        """Return whether all that is said about the object is the docstring of a type made for others too."""
        if inspect.isclass(value) or value.__doc__ != type(value).__doc__:
            return False
        return id(type(value)) in self.found or _get_package(type(value).__module__) not in PACKAGES


def _walk_modules(name: str) -> Iterator[types.ModuleType]:
    """Yield a module and every public module below it; one that needs a package that is not installed is left out."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        if name in PACKAGES:
            raise
        return
    yield module
    for below in sorted(found.name for found in pkgutil.iter_modules(getattr(module, "__path__", []))):
        if not below.startswith("_") and below not in PRIVATE_NAMES:
            yield from _walk_modules(f"{name}.{below}")


def _list_exports(module: types.ModuleType) -> set[str]:
    """Return the names a module offers: what it lists, else what a package gathers or a plain module defines itself."""
    if hasattr(module, "__all__"):
        return {name for name in module.__all__ if not name.startswith("_")}
    names = {name for name in dir(module) if not name.startswith("_")}
    if hasattr(module, "__path__"):
        return names
    return {name for name in names if getattr(_get_attribute(module, name), "__module__", None) == module.__name__}


def _get_attribute(module: types.ModuleType, name: str) -> Any:
    """Return the attribute, or None where a lazy module cannot deliver what it lists."""
    try:
        return getattr(module, name, None)
    except ImportError:
        return None


def _belongs_to(value: Any, package: str) -> bool:
    """Return whether `value` is a function or class of the package or an object of one; no module, no plain value."""
    if inspect.ismodule(value):
        return False
    module = getattr(value, "__module__", None)
    if callable(value) and isinstance(module, str):
        return _get_package(module) == package
    # Compiled functions and universal functions may not say where they come from; whoever exports them owns them.
    return _get_package(type(value).__module__) == package or callable(value)


def _get_package(module: str) -> str:
    return module.partition(".")[0]


def _choose_name(names: list[str], value: Any) -> str:
    """Return the shortest name among those that end as the object calls itself, class included where possible."""
    itself = getattr(value, "fget", None) or value  # a property is named after its getter
    in_class = getattr(itself, "__qualname__", "") or "?"
    alone = getattr(itself, "__name__", "") or "?"

    def rank(name: str) -> tuple[bool, bool, int, int, str]:
        return not name.endswith(f".{in_class}"), not name.endswith(f".{alone}"), name.count("."), len(name), name

    return min(names, key=rank)


def main(path: str) -> None:
    """Walk the packages and write what was found to the file `path`."""
    warnings.simplefilter("ignore")
    walk = _Walk()
    for package in PACKAGES:
        walk.add_package(package)
    Path(path).write_text(json.dumps(walk.list_entries()), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
