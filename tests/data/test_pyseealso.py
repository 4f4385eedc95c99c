"""The embedded dataset: parsing, resolving and splitting on handmade docstrings, then the real one once."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from xcwork.core.dataset import Dataset
from xcwork.data import docstrings
from xcwork.data import pyseealso as seealso
from xcwork.data.docstrings import Documented
from xcwork.data.pyseealso import build_pyseealso, drop_see_also, list_see_also, load_pyseealso
from xcwork.text.vectorizer import TextVectorizer

NUMPYDOC = """Mean of the values.

Parameters
----------
a : array

See Also
--------
average : Weighted average.
    Continued, with a, comma : and colon.
std, :meth:`Thing.var`
:func:`~numpy.nanmean`, `median` : Others
fft.ifft(): inverse
:ref:`some-guide`
This is a sentence without a name in front.

Notes
-----
The average is not the median.
"""


def test_entries_are_read_as_numpydoc_defines_them():
    assert list_see_also(NUMPYDOC) == ["average", "std", "Thing.var", "numpy.nanmean", "median", "fft.ifft"]
    assert list_see_also("Text only. See also the other function.") == []
    assert list_see_also("x\n\nSee Also\n--------") == []
    assert list_see_also("x\n\n    See also\n    --------\n    indented : all of it\n        more\n") == ["indented"]


def test_the_section_is_cut_out_and_the_rest_stays():
    rest = drop_see_also(NUMPYDOC)
    assert rest.startswith("Mean of the values.")
    assert rest.endswith("Notes\n-----\nThe average is not the median.")
    assert "a : array" in rest
    for word in ("See Also", "std", "nanmean", "Continued"):
        assert word not in rest
    twice = "A.\n\nSee Also\n--------\nb\n\nNotes\n-----\nkept\n\nSee Also\n--------\nc"
    assert drop_see_also(twice) == "A.\n\nNotes\n-----\nkept"
    assert list_see_also(twice) == ["b", "c"]
    directive = "A.\n\n.. seealso::\n   b : no\n\n   c\n\nKept.\n"
    assert drop_see_also(directive) == "A.\n\nKept."


def entry(name: str, links: str = "", *, names: tuple[str, ...] = (), summary: str = "") -> Documented:
    section = f"\n\nSee Also\n--------\n{links}\n" if links else ""
    return Documented(name, sorted({name, *names}), (summary or f"Summary of {name}.") + section)


OBJECTS = [
    entry("numpy.sum", "mean\nndarray.sum\nself_made\nnumpy.sum"),
    entry("numpy.mean", "np.sum", names=("numpy.lib.mean",), summary="mean(a, /) -> float\n\nThe mean\nof values."),
    entry("numpy.ndarray.sum", "numpy.sum"),
    entry("numpy.ndarray.mean", "sum"),
    entry("pandas.Series.sum", "Series.mean\nndarray.sum\nstr.lower"),
    entry("pandas.Series.mean", "sum"),
    entry("pandas.Index.str.lower", "core.strings.Index.str.lower\ncore.series.Series.sum"),
    entry("scipy.a.twice", "only_here"),
    entry("scipy.b.only_here"),
    entry("scipy.c.both", "ambiguous"),
    entry("scipy.d.ambiguous"),
    entry("scipy.e.ambiguous"),
    Documented("scipy.copy", ["scipy.copy"], "Same.\n\nSee Also\n--------\nnumpy.sum\n"),
    Documented("scipy.long.copy", ["scipy.long.copy"], "Same.\n\nSee Also\n--------\nnumpy.sum\n"),
]


@pytest.fixture(scope="module")
def handmade() -> Dataset:
    return build_pyseealso(OBJECTS, TextVectorizer())


def links(dataset: Dataset) -> dict[str, list[str]]:
    found = {}
    for part in (dataset.train, dataset.test):
        for row, uid in enumerate(part.uids):
            found[uid] = sorted(dataset.labels.names[label] for label in part.Y[[row]].indices)
    return found


def test_names_are_resolved_from_near_to_far(handmade):
    assert links(handmade) == {
        "numpy.sum": ["numpy.mean", "numpy.ndarray.sum"],  # neither itself nor what nobody documents
        "numpy.mean": ["numpy.sum"],
        "numpy.ndarray.sum": ["numpy.sum"],
        "numpy.ndarray.mean": ["numpy.ndarray.sum"],  # its own class before the module
        "pandas.Series.sum": ["numpy.ndarray.sum", "pandas.Index.str.lower", "pandas.Series.mean"],
        "pandas.Series.mean": ["pandas.Series.sum"],
        "pandas.Index.str.lower": ["pandas.Series.sum"],  # private path to a public class
        "scipy.a.twice": ["scipy.b.only_here"],  # anywhere in the package, as only one has that name
        "scipy.copy": ["numpy.sum"],  # the copy of its docstring is no second document
    }


def test_label_text_is_name_words_and_summary(handmade):
    text = handmade.labels.texts[handmade.labels.find_id("numpy.mean")]
    assert text == "numpy.mean\nnumpy mean\nThe mean of values."
    text = handmade.labels.texts[handmade.labels.find_id("scipy.b.only_here")]
    assert text == "scipy.b.only_here\nscipy b only here\nSummary of scipy.b.only_here."


def test_groups_filter_pairs_and_labels_of_documents_that_have_none(handmade):
    names = handmade.labels.names
    for part in (handmade.train, handmade.test):
        for uid, group in zip(part.uids, part.groups, strict=True):
            assert uid.startswith(group + ".")
        own = [[row, names.index(uid)] for row, uid in enumerate(part.uids) if uid in names]
        assert part.filter_pairs.tolist() == own
    assert "scipy.b.only_here" in names
    assert "scipy.b.only_here" not in handmade.train.uids + handmade.test.uids
    assert names == sorted(names)


def test_objects_in_any_order_give_the_same_dataset(handmade):
    assert build_pyseealso(OBJECTS[::-1], TextVectorizer()).fingerprint == handmade.fingerprint


@pytest.fixture
def small_package(tmp_path, monkeypatch) -> None:
    """A package with the traps of the real ones."""
    files = {
        "__init__.py": "from ._hidden import shown, Thing, alias\nfrom os import getcwd\nfrom . import plain\n"
        "__version__ = '1'\nthing = Thing()\nnumber = 3",
        "_hidden.py": "def shown():\n    'Doc of shown at 0x7f12ab, kept.'\nalias = shown\n"
        "class Base:\n    def inherited(self):\n        'From the base.'\n"
        "class Thing(Base):\n    'A thing.'\n    def method(self):\n        'Of the thing.'\n"
        "    def _private(self):\n        'No.'\n    def silent(self): pass\n"
        "    @property\n    def size(self):\n        'How large.'\n"
        "    @classmethod\n    def make(cls):\n        'Makes.'\n",
        "plain.py": "from ._hidden import shown\ndef own():\n    'Defined here.'\n",
        "needs.py": "import a_package_that_nobody_has\ndef lost():\n    'Lost.'\n",
        "tests/__init__.py": "def test_it():\n    'A test.'\n",
    }
    for name, content in files.items():
        path = tmp_path / "smallpackage" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_walk_finds_public_objects_under_canonical_names(small_package):
    walk = docstrings._Walk()
    walk.add_package("smallpackage")
    found = {entry["name"]: entry for entry in walk.list_entries()}
    assert {name: entry["doc"] for name, entry in found.items()} == {
        "smallpackage.shown": "Doc of shown, kept.",  # no memory address
        "smallpackage.Thing": "A thing.",
        "smallpackage.Thing.method": "Of the thing.",
        "smallpackage.Thing.inherited": "From the base.",
        "smallpackage.Thing.size": "How large.",
        "smallpackage.Thing.make": "Makes.",
        "smallpackage.plain.own": "Defined here.",
    }
    assert found["smallpackage.shown"]["names"] == ["smallpackage.alias", "smallpackage.shown"]


@pytest.fixture(scope="module")
def pyseealso(pyseealso_home) -> Dataset:
    return load_pyseealso(pyseealso_home)


@pytest.mark.slow
def test_the_real_dataset_has_the_expected_shape(pyseealso):
    assert 2_500 < len(pyseealso.train) < 4_500
    assert 0.2 < len(pyseealso.test) / (len(pyseealso.train) + len(pyseealso.test)) < 0.3
    assert 2_500 < len(pyseealso.labels) < 4_500
    assert np.diff(pyseealso.train.Y.indptr).min() >= 1
    unseen = pyseealso.test.Y[:, pyseealso.unseen_labels].nnz / pyseealso.test.Y.nnz
    assert 0.1 < unseen < 0.3
    uids = pyseealso.train.uids + pyseealso.test.uids
    assert {name.partition(".")[0] for name in uids} == set(docstrings.PACKAGES)
    assert len(set(uids)) == len(uids)
    assert links(pyseealso)["numpy.linalg.solve"] == ["scipy.linalg.solve"]


@pytest.mark.slow
def test_the_real_see_also_sections_are_gone(pyseealso):
    section = re.compile(r"see also:?\s*\n\s*[-=~]{3,}|\.\. seealso::", re.IGNORECASE)
    for text in pyseealso.train.texts + pyseealso.test.texts + pyseealso.labels.texts:
        assert not section.search(text)
        assert not re.search(r" at 0x[0-9a-f]", text)


@pytest.mark.slow
def test_no_document_is_its_own_label_or_a_copy_of_another(pyseealso):
    for part in (pyseealso.train, pyseealso.test):
        assert len(part.filter_pairs) > 100
        for row, label in part.filter_pairs.tolist():
            assert part.uids[row] == pyseealso.labels.names[label]
            assert part.Y[row, label] == 0
    bodies = [text.split("\n", 2)[2] for text in pyseealso.train.texts + pyseealso.test.texts]
    assert len(set(bodies)) > 0.98 * len(bodies)


@pytest.mark.slow
def test_label_text_finds_about_half_of_the_first_labels(pyseealso):
    test = pyseealso.test
    scores = (test.X @ pyseealso.labels.Z.T).toarray()
    scores[tuple(test.filter_pairs.T)] = -1
    hits = test.Y.toarray()[np.arange(len(test)), scores.argmax(axis=1)]
    assert 0.4 < hits.mean() < 0.7


@pytest.mark.slow
def test_every_build_is_byte_identical_and_the_cache_gives_it_back(pyseealso_home, tmp_path):
    code = "import sys; from xcwork.data.pyseealso import load_pyseealso; load_pyseealso(sys.argv[1])"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True)
    ours, theirs = ((folder / "data" / ".cache") for folder in (pyseealso_home, tmp_path))
    files = sorted(path.relative_to(ours) for path in ours.rglob("*") if path.is_file())
    assert len(files) == 2
    assert files == sorted(path.relative_to(theirs) for path in theirs.rglob("*") if path.is_file())
    for file in files:
        assert (ours / file).read_bytes() == (theirs / file).read_bytes()


def test_the_cache_is_used_and_a_damaged_one_is_built_again(tmp_path, monkeypatch, caplog):
    calls = []
    monkeypatch.setattr(seealso, "collect_documented", lambda: calls.append(1) or OBJECTS)
    first = load_pyseealso(tmp_path)
    assert load_pyseealso(tmp_path).fingerprint == first.fingerprint
    assert len(calls) == 1
    (state,) = tmp_path.rglob("state.json")
    state.write_text("{")
    assert load_pyseealso(tmp_path).fingerprint == first.fingerprint
    assert len(calls) == 2
    assert "built again" in caplog.text
    load_pyseealso(tmp_path, vectorizer=TextVectorizer(ngrams=1))
    assert len(calls) == 3
    (tmp_path / "closed").write_text("a file where a folder should be")
    assert load_pyseealso(tmp_path / "closed").fingerprint == first.fingerprint
    assert "cannot be cached" in caplog.text
