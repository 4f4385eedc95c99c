"""One seed in, the same model out: neither the number of threads nor who comes first among them changes a bit of it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits

from tests.support.state_bytes import list_bytes
from xcwork.core.split import Split
from xcwork.data.synthetic import make_synthetic
from xcwork.methods.siamesexml.initial_embeddings import make_initial_table
from xcwork.methods.siamesexml.method import SiameseXML
from xcwork.search import ExactIndex

pytestmark = pytest.mark.slow

MANY = 4  # threads; of compiled kernels as many as there are cores


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Let every library use n threads."""
    usual = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(n)
    numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(n, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(usual[0])
        numba.set_num_threads(usual[1])


@functools.cache
def documents() -> Split:
    return make_synthetic(n_documents=3000, n_labels=400, n_topics=20, labels_per_document=3, seed=1).train


@pytest.mark.parametrize("changes", [{}, {"plus": False, "likelihood": "logistic"}, {"offline_negatives": True}])
def test_trainings_on_one_thread_and_on_many_are_the_same_to_the_last_bit(changes: dict):
    def train(n: int) -> dict[str, bytes]:
        model = SiameseXML(dimension=256, epochs=2, classifier_epochs=2, seed=3, **changes)
        with threads(n):
            model.fit(documents())
        return list_bytes(model.to_state())

    alone = train(1)
    for again in (train(MANY), train(MANY)):
        assert again.keys() == alone.keys()
        assert [name for name in alone if again[name] != alone[name]] == []


def test_first_embeddings_do_not_depend_on_threads():
    tables = []
    for n in (1, MANY):
        with threads(n):
            tables.append(make_initial_table(documents().X, "svd", 64, seed=0))
    assert np.array_equal(*tables)


def test_an_exact_search_of_many_queries_does_not_depend_on_threads():
    rng = np.random.default_rng(0)
    vectors, queries = (rng.standard_normal((n, 256), np.float32) for n in (9123, 1100))
    found = []
    for n in (1, MANY):
        with threads(n):
            found.append(ExactIndex().build(vectors).query(queries, 20))
    assert np.array_equal(found[0].ids, found[1].ids)
    assert np.array_equal(found[0].scores, found[1].scores)
