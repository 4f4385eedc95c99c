"""Whatever happens to the bytes of a dataset, loading it gives a sound dataset or one `DataError`, nothing else."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fuzzing.mutations import Files
from tests.support.fuzzing.samples import datasets
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.errors import DataError

FORMS = ("xc", "xc gzipped", "splits", "zestxml", "svmlight", "pecos", "mulan", "idx", "lf json", "jsonl", "csv")
FORMS += ("csv lists", "parquet")
VALID = {form: datasets()[form] for form in FORMS}


@st.composite
def damage(draw: st.DrawFn, files: Files) -> Files:
    """The files with one to three edits of their bytes."""
    files = dict(files)
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(files)))
        content = files[name]
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.integers(0, 12)))
        interesting = [
            b"",
            b"\n",
            b" ",
            b"-1",
            b"0",
            b"9" * 20,
            b"nan",
            b"1e400",
            b":",
            b",",
            b'"',
            b"[",
            b"\xff",
            b"\0",
        ]
        filler = draw(st.sampled_from(interesting) | st.binary(max_size=6))
        files[name] = draw(
            st.sampled_from([content[:start] + filler + content[end:], content[:start], content + content[start:end]])
        )
    return files


def check_sound(dataset: Dataset) -> None:
    """What every method relies on."""
    for split in (dataset.train, dataset.test):
        assert len(split) > 0
        for matrix in (split.X, split.Y):
            matrix.check_format(full_check=True)
            assert matrix.dtype == np.float32
            assert np.isfinite(matrix.data).all()
            assert matrix.has_canonical_format
        assert (split.Y.data == 1).all()
    assert len(dataset.labels.names) == dataset.train.n_labels


def load_files(files: Files) -> Dataset:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        before = sorted(Path(folder).rglob("*"))
        try:
            return load_dataset(folder, home=Path(folder) / "home")
        except DataError as error:
            assert error.remedy, f"{error} does not say what to do"  # noqa: PT017
            assert sorted(Path(folder).rglob("*")) == before, "a failed load left files behind"
            raise


@pytest.mark.parametrize("form", sorted(VALID))
def test_undamaged_files_load(form):
    check_sound(load_files(VALID[form]))


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(VALID))
def test_damaged_files_give_a_sound_dataset_or_one_data_error(form):
    files = VALID[form]

    @settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
    @given(damage(files))
    def run(damaged: Files) -> None:
        with contextlib.suppress(DataError):
            check_sound(load_files(damaged))

    run()


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from(["a.txt", "a.csv", "a.jsonl", "a.svm", "a.arff", "a.csv.gz", "a.parquet"])
)
def test_random_bytes(content, name):
    with contextlib.suppress(DataError):
        check_sound(load_files({name: content}))


entries = st.dictionaries(st.integers(0, 30), st.floats(0, 1e6, width=32), max_size=6)
rows = st.lists(st.tuples(st.sets(st.integers(0, 9), max_size=4), entries), min_size=2, max_size=8)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])


@settings(max_examples=80, deadline=None)
@given(rows, blanks, st.sampled_from(["\n", "\r\n", " \n"]), st.randoms())
def test_order_and_blanks_do_not_matter(documents, blank, end, random):
    """Rows written in any order of entries, with any blanks, are the rows that were meant."""
    text = f"{len(documents)} 31 10{end}"
    for labels, values in documents:
        shuffled = random.sample(sorted(values.items()), len(values))
        line = blank.join(f"{i}:{value!r}" for i, value in shuffled)
        text += ",".join(map(str, random.sample(sorted(labels), len(labels)))) + blank + line + end
    dataset = load_files({"train.txt": text.encode(), "test.txt": b"1 31 10\n0 0:1\n"})
    for row, (labels, values) in enumerate(documents):
        expected = np.zeros(31, np.float32)
        expected[list(values)] = list(values.values())
        np.testing.assert_array_equal(dataset.train.X[[row]].toarray()[0], expected)
        assert set(np.flatnonzero(dataset.train.Y[[row]].toarray()[0])) == labels
