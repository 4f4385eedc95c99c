"""Sparse helpers: what they compute, and that nothing writes into a matrix it was given."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from xcwork import sparse as helpers

PACKAGE = Path(helpers.__file__).parent
IN_PLACE = {"sort_indices", "sum_duplicates", "eliminate_zeros", "prune", "setdiag"}
PARTS = {"data", "indices", "indptr"}
# Kernels and torch layers have arrays of their own that they are made to change.
OWN_ARRAYS = ("kernels/", "methods/multihead/network.py")
UNORDERED = sparse.csr_array(
    (np.array([3.0, 0.0, 4.0, 1.0, 1.0], np.float32), np.array([2, 1, 0, 3, 3], np.int32), np.array([0, 3, 3, 5])),
    shape=(3, 4),
)
DENSE = np.array([[4, 0, 3, 0], [0, 0, 0, 0], [0, 0, 0, 2]], np.float32)
ORDERED = sparse.csr_array(DENSE)
# Every helper with arguments for a matrix, and the dense result of it for `DENSE`.
CALLS: dict[str, tuple[Callable[[sparse.csr_array], Any], np.ndarray]] = {
    "to_rows": (helpers.to_rows, DENSE),
    "take_rows": (lambda m: helpers.take_rows(helpers.to_rows(m), np.arange(3)), DENSE),
    "to_unit_rows": (helpers.to_unit_rows, np.array([[0.8, 0, 0.6, 0], [0] * 4, [0, 0, 0, 1]])),
    "make_canonical": (helpers.make_canonical, DENSE),
    "merge_duplicates": (helpers.merge_duplicates, DENSE),
    "sort_entries": (helpers.sort_entries, DENSE),
    "drop_zeros": (helpers.drop_zeros, DENSE),
    "keep_entries": (lambda m: helpers.keep_entries(m, m.data > 3), np.where(DENSE > 3, DENSE, 0)),
    "replace_values": (lambda m: helpers.replace_values(m, m.data * 2), DENSE * 2),
    "fill_with_ones": (lambda m: helpers.fill_with_ones(helpers.make_canonical(m)), np.sign(DENSE)),
    "narrow_indices": (helpers.narrow_indices, DENSE),
    "enlarge": (lambda m: helpers.enlarge(m, (4, 6)), np.pad(DENSE, ((0, 1), (0, 2)))),
    "renumber_columns": (lambda m: helpers.renumber_columns(m, np.array([4, 0, 1, 2]), 5), DENSE[:, [1, 2, 3, 1, 0]]),
    "order_by_frequency": (lambda m: helpers.order_by_frequency(helpers.make_canonical(m))[0], DENSE[:, [0, 2, 3, 1]]),
    "number_by_frequency": (
        lambda m: helpers.number_by_frequency(helpers.make_canonical(m))[0],
        DENSE[:, [0, 2, 3, 1]],
    ),
    "count_in_columns": (
        lambda m: sparse.csr_array(helpers.count_in_columns(helpers.make_canonical(m))[None, :]),
        np.array([[1, 0, 1, 1]]),
    ),
    "scale_to_unit": (helpers.scale_to_unit, np.array([[0.8, 0, 0.6, 0], [0] * 4, [0, 0, 0, 1]])),
    "cut_rows": (
        lambda m: sparse.csr_array(np.array(list(helpers.cut_rows(helpers.make_canonical(m).indptr)))),
        np.array([[0, 3]]),
    ),
    "pack_rows": (
        lambda m: helpers.pack_rows(np.array([[3, 1]]), np.array([[7.0, 8.0]]), np.array([[True, True]]), 4),
        np.array([[0, 8, 0, 7]]),
    ),
    "gather_filled": (
        lambda m: helpers.gather_filled(np.array([[3, 1]]), np.array([[7.0, 8.0]]), np.array([1]), 4),
        np.array([[0, 0, 0, 7]]),
    ),
    "sum_squares": (
        lambda m: sparse.csr_array(helpers.sum_squares(helpers.make_canonical(m))[None, :]),
        np.array([[25, 0, 4]]),
    ),
    "normalise_rows": (helpers.normalise_rows, np.array([[0.8, 0, 0.6, 0], [0] * 4, [0, 0, 0, 1]])),
    "normalise_values": (
        lambda m: sparse.csr_array((helpers.normalise_values(m), m.indices, m.indptr), shape=m.shape),
        np.array([[0.8, 0, 0.6, 0], [0] * 4, [0, 0, 0, 1]]),
    ),
}


def arrays_of(matrix: sparse.csr_array) -> list[np.ndarray]:
    return [matrix.data, matrix.indices, matrix.indptr]


def test_every_helper_is_held_to_the_rule() -> None:
    functions = inspect.getmembers(helpers, inspect.isfunction)
    own = [name for name, made in functions if made.__module__ == helpers.__name__ and not name.startswith("_")]
    assert sorted(CALLS) == sorted(own)


@pytest.mark.parametrize("is_frozen", [True, False])
@pytest.mark.parametrize("given", [ORDERED, UNORDERED], ids=["canonical", "unordered, with a zero and a double entry"])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_helper_computes_without_writing_into_its_argument(
    name: str, given: sparse.csr_array, is_frozen: bool
) -> None:
    matrix = given.copy()
    for part in arrays_of(matrix):
        part.flags.writeable = not is_frozen
    before = [part.tobytes() for part in arrays_of(matrix)]
    call, expected = CALLS[name]
    found = call(matrix)
    assert [part.tobytes() for part in arrays_of(matrix)] == before
    if isinstance(found, helpers.Rows):
        found = sparse.csr_array(tuple(found), shape=matrix.shape)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)


def test_a_canonical_matrix_is_not_copied() -> None:
    compact = helpers.narrow_indices(ORDERED)
    assert helpers.make_canonical(compact) is compact
    assert helpers.sort_entries(compact) is compact


def test_a_canonical_matrix_has_each_entry_once_in_order_and_narrow() -> None:
    wide = sparse.csr_array(UNORDERED)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for matrix in (wide, sparse.coo_array(UNORDERED), sparse.csc_matrix(UNORDERED)):
        found = helpers.make_canonical(matrix)
        assert found.indices.tolist() == [0, 2, 3]
        assert found.data.tolist() == [4, 3, 2]
        assert found.indices.dtype == np.int32


def test_columns_by_frequency_remember_where_they_came_from() -> None:
    X = sparse.random_array((40, 15), density=0.3, format="csr", rng=np.random.default_rng(0))
    ordered, columns = helpers.order_by_frequency(X)
    assert (np.diff(np.bincount(ordered.indices, minlength=15)) <= 0).all()
    assert (ordered.toarray() == X.toarray()[:, columns]).all()
    assert ordered.has_sorted_indices


def writes_into_matrices(source: str) -> Iterator[int]:
    """Yield the lines that call an in-place method of scipy or assign to the arrays of a matrix."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in IN_PLACE:
            yield node.lineno
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AugAssign):
            for target in (one for t in targets for one in (t.elts if isinstance(t, ast.Tuple) else [t])):
                part = target.value if isinstance(target, ast.Subscript) else target
                is_own = isinstance(part, ast.Attribute) and getattr(part.value, "id", "") == "self"
                if isinstance(part, ast.Attribute) and part.attr in PARTS and not is_own:
                    yield node.lineno


@pytest.mark.parametrize(
    "line", ["m.sort_indices()", "m.data[:] = 1", "m.data *= 2", "a, m.indices[0] = 1, 2", "m.data = d"]
)
def test_a_write_is_recognised(line: str) -> None:
    assert list(writes_into_matrices(line)) == [1]


def test_only_the_helpers_change_matrices_in_place() -> None:
    """A matrix may be shared or read-only, so whoever changes one takes a function of `xcwork.sparse` that copies."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place != "sparse.py" and not place.startswith(OWN_ARRAYS):
            found += [f"{place}:{line}" for line in writes_into_matrices(path.read_text(encoding="utf-8"))]
    assert not found


def test_unit_rows_are_not_copied() -> None:
    unit = helpers.normalise_rows(ORDERED)
    assert helpers.scale_to_unit(unit) is unit
    numbered, columns = helpers.number_by_frequency(unit)
    assert np.shares_memory(numbered.data, unit.data)
    np.testing.assert_array_equal(numbered.toarray(), unit.toarray()[:, columns])


def test_stretches_of_rows_have_few_entries_or_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helpers, "ENTRIES_PER_BLOCK", 5)
    lengths = [2, 2, 9, 0, 0, 5, 1, 1]
    found = list(helpers.cut_rows(np.concatenate([[0], np.cumsum(lengths)])))
    assert found == [(0, 2), (2, 3), (3, 6), (6, 8)]
    X = sparse.random_array((40, 9), density=0.4, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
    np.testing.assert_allclose(helpers.sum_squares(X), (X.toarray() ** 2).sum(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(helpers.count_in_columns(X), (X.toarray() != 0).sum(axis=0))
