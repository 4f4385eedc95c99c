"""A real cluster of two worker processes, started once, and data small enough for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from xcwork.compute import cluster
from xcwork.core.dataset import Dataset
from xcwork.data.synthetic import make_synthetic


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may let a scheduler wait; where nobody listens, the answer comes at once."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 120)


@pytest.fixture(scope="session")
def topics() -> Dataset:
    return make_synthetic(n_documents=300, n_labels=40, n_topics=5, seed=3)


@pytest.fixture(scope="session")
def scheduler() -> Iterator[str]:
    """The address of a scheduler with two workers of one thread each."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed; pip install 'xcwork[cluster]'")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
        env={"NUMBA_NUM_THREADS": "1"},
    ) as started:
        yield started.scheduler_address


@pytest.fixture
def on_cluster(scheduler: str) -> Iterator[cluster.Cluster]:
    with cluster.use_cluster(scheduler) as connected:
        yield connected
