from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import pytest

import xcwork
from xcwork.errors import ConfigError
from xcwork.methods import names
from xcwork.methods.base import Method
from xcwork.methods.popularity.method import Popularity
from xcwork.methods.registry import METHODS, create, find_method_class, find_name


def test_a_method_is_made_by_name_with_its_parameters():
    assert isinstance(create("popularity", seed=4), Popularity)
    assert xcwork.create("nearest_documents", neighbours=3).neighbours == 3


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"there is no method called 'svm'; choose one of bm25, .*popularity"):
        find_method_class("svm")


def test_a_class_that_is_not_registered_says_where_to_add_it():
    @dataclass(kw_only=True, eq=False)
    class Mine(Popularity):
        """Somebody's own method."""

    with pytest.raises(ConfigError, match=r"Mine is not registered; add it to xcwork/methods/names\.py"):
        find_name(Mine)


def test_a_class_registered_under_another_module_is_found(monkeypatch):
    others = {name: place for name, place in METHODS.items() if name != "popularity"}
    monkeypatch.setattr(names, "METHODS", others | {"again": f"{__name__}:Popularity"})
    assert find_name(Popularity) == "again"


def test_every_registered_class_is_a_method():
    for name in METHODS:
        assert issubclass(find_method_class(name), Method)


def test_listing_methods_imports_none_of_them():
    program = (
        "import sys, xcwork.methods; print(*sorted(m for m in sys.modules if m.startswith('xcwork.methods.') "
        "or m.split('.')[0] in ('torch', 'numba', 'sklearn', 'pandas')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "xcwork.methods.registry" in imported
    assert not {f"xcwork.methods.{place.split('.')[2]}" for place in METHODS.values()} & imported
    assert all(name.startswith("xcwork.methods.") for name in imported), "a large library"
