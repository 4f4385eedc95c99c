"""The syntax tree of every module of the engine and the dashboard, for tests that hold the code to rules."""

from __future__ import annotations

import ast
import functools

from tests.support.paths import ROOT


@functools.cache
def read_modules() -> dict[str, ast.Module]:
    """Return the syntax tree of every module by its dotted name; nobody changes them."""
    modules = {}
    for folder, package in (("xcwork", "xcwork"), ("app", "xcwork_app")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = [package, *path.relative_to(ROOT / folder).with_suffix("").parts]
            modules[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text("utf-8"))
    return modules
