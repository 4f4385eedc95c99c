from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from xcwork.errors import DataError
from xcwork.search import top_k_product
from xcwork.sparse import normalise_rows


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_get_length_one_and_zero_rows_stay(form):
    rows = normalise_rows(form(np.array([[3.0, 4.0], [0.0, 0.0], [-2.0, 0.0]])))
    dense = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0, 0], [-1, 0]], rtol=1e-6)
    assert dense.dtype == np.float32


def test_the_original_rows_are_left_alone():
    matrix = sparse.csr_array(np.array([[3.0, 4.0]], np.float32))
    normalise_rows(matrix)
    assert matrix.toarray().tolist() == [[3, 4]]


def test_matrices_that_do_not_fit_together_never_reach_the_kernel():
    X, terms = sparse.csr_array(np.ones((2, 3), np.float32)), sparse.csr_array(np.ones((3, 4), np.float32))
    for rows, start in ((X[:, :2], None), (X, np.zeros(3, np.float32)), (X, np.zeros((4, 1), np.float32))):
        with pytest.raises(DataError, match="cannot meet a 3 × 4 matrix of terms"):
            top_k_product(rows, terms, 2, start=start)


THREADS = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from scipy import sparse
from xcwork.search import top_k_product, top_k_rows
X = sparse.random_array((300, 50), density=0.3, rng=np.random.default_rng(0), dtype=np.float32).tocsr()
def search(_):
    found = (top_k_product(X, X.T.tocsr(), 3), top_k_rows(X, 3), top_k_rows(X.toarray(), 3))
    return b"".join(best.ids.tobytes() for best in found)
with ThreadPoolExecutor(4) as pool:
    print(len(set(pool.map(search, range(60)))))
"""


def test_threads_may_search_at_once_whatever_numba_finds():
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue", "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", THREADS], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1", done.stderr


@pytest.mark.parametrize("density", [0.001, 0.05, 0.4])
def test_one_row_alone_becomes_a_unit_row_to_the_same_bits(density: float) -> None:
    X = sparse.csr_array(sparse.random(60, 2000, density, format="csr", dtype=np.float32, random_state=1))
    together = normalise_rows(X)
    for row in range(60):
        assert (normalise_rows(X[[row]]).data == together[[row]].data).all()


def test_entries_of_one_row_that_occur_twice_count_as_their_sum() -> None:
    twice = sparse.csr_array((np.float32([1, 2, 4]), np.int32([0, 0, 1]), np.int32([0, 3])), shape=(1, 2))
    assert normalise_rows(twice).toarray() == pytest.approx(np.array([[0.6, 0.8]]))


@pytest.mark.parametrize("start", [None, np.array([0.5, np.nan, -0.2, 0.1, 0.3, 0.0, 0.2], np.float32)])
def test_a_row_alone_is_ranked_as_among_many(start: np.ndarray | None) -> None:
    """Up to a chunk of rows is ranked on the calling thread, more on all."""
    X = sparse.csr_array(sparse.random(200, 40, 0.2, format="csr", dtype=np.float32, random_state=1))
    terms = sparse.csr_array(sparse.random(40, 7, 0.3, format="csr", dtype=np.float32, random_state=2))
    for unit in (False, True):
        together = top_k_product(X, terms, 4, start=start, unit=unit)
        alone = [top_k_product(X[[row]], terms, 4, start=start, unit=unit) for row in range(200)]
        np.testing.assert_array_equal(np.vstack([best.ids for best in alone]), together.ids)
        np.testing.assert_array_equal(np.vstack([best.scores for best in alone]), together.scores)
