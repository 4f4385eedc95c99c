"""The bounded heap against sorting everything."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from xcwork.core.topk import MISSING
from xcwork.search import top_k_product, top_k_rows

# Few distinct values, so that ties are the rule.
few_values = st.sampled_from([-np.inf, np.nan, -1.0, 0.0, 0.5, 2.0])
shapes = st.tuples(st.integers(0, 4), st.integers(1, 9))
small = arrays.arrays(np.float32, shapes, elements=st.sampled_from([0.0, 1, 2, -1]))


def sorted_rows(matrix: np.ndarray, candidates: np.ndarray, k: int) -> list[list[tuple[int, float]]]:
    """The plain twin: sort the candidates of every row."""
    rows = []
    for values, allowed in zip(matrix, candidates, strict=True):
        entries = [(column, float(value)) for column, value in enumerate(values) if allowed[column]]
        rows.append(sorted(entries, key=lambda entry: (-entry[1], entry[0]))[:k])
    return rows


@given(arrays.arrays(np.float32, shapes, elements=few_values), st.integers(1, 12))
def test_dense_rows(matrix, k):
    best = top_k_rows(matrix, k)
    assert best.ids.shape == (len(matrix), min(k, matrix.shape[1]))
    expected = sorted_rows(matrix, matrix > -np.inf, k)
    assert [best.get_row(i) for i in range(len(matrix))] == expected


@given(small, st.integers(1, 12))
def test_sparse_rows_count_explicit_entries_only(matrix, k):
    best = top_k_rows(sparse.csr_array(matrix), k)
    assert [best.get_row(i) for i in range(len(matrix))] == sorted_rows(matrix, matrix != 0, k)


def test_explicit_zeros_compete_and_nan_does_not():
    matrix = sparse.csr_array((np.array([0, np.nan, -1], np.float32), [2, 0, 1], [0, 3]), shape=(1, 4))
    best = top_k_rows(matrix, 4)
    assert best.ids.tolist() == [[2, 1, MISSING, MISSING]]


@given(st.data(), st.integers(1, 8), st.booleans(), st.booleans())
def test_products_without_forming_them(data, k, with_start, restricted):
    rows, terms, columns = (data.draw(st.integers(low, 6)) for low in (0, 1, 1))
    values = st.sampled_from([0.0, 0.0, 1.0, 0.5, -1.0])
    X = data.draw(arrays.arrays(np.float32, (rows, terms), elements=values))
    T = data.draw(arrays.arrays(np.float32, (terms, columns), elements=values))
    start = data.draw(arrays.arrays(np.float32, columns, elements=few_values)) if with_start else None
    among = np.array(sorted(data.draw(st.sets(st.integers(0, columns - 1)))), np.int64) if restricted else None
    best = top_k_product(sparse.csr_array(X), sparse.csr_array(T), k, start=start, among=among)

    scores = X @ T + (0 if start is None else start)
    touched = (X != 0).astype(int) @ (T != 0).astype(int) > 0
    candidates = touched if start is None else np.broadcast_to(~np.isnan(start), scores.shape)
    if among is not None:
        candidates = candidates & np.isin(np.arange(columns), among)
    expected = sorted_rows(np.where(np.isnan(scores), 0, scores), candidates, k)
    assert [best.get_row(i) for i in range(rows)] == expected


def test_a_product_over_more_rows_than_a_chunk():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 40), density=0.2, rng=rng, dtype=np.float32).tocsr()
    T = sparse.random_array((40, 90), density=0.2, rng=rng, dtype=np.float32).tocsr()
    best, expected = top_k_product(X, T, 7), top_k_rows(X @ T, 7)
    np.testing.assert_allclose(best.scores, expected.scores, rtol=1e-5)
    assert (
        best.ids == expected.ids
    ).mean() > 0.99  # the order of additions may swap entries that are equal but for rounding
