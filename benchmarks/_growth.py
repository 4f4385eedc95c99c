"""What one method needs on synthetic data of several sizes, measured in a process of its own (see `growth`).

    python -m benchmarks._growth METHOD SECONDS GIB FOLDER …

prints a JSON line for every folder, which `write_data` has filled. The process is ended by the system when one training
takes more processor seconds than it may, so the lines printed before are kept.

Steps of the neural methods take the same time however many documents there are, so these are trained on few and on some
more documents, and the time of an epoch over all of them follows: what stays is preparation, what grows is steps.
"""

from __future__ import annotations

import ctypes
import gc
import json
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import Timing, cpu_seconds, folder_bytes, peak_memory_mb, timed

TEST_DOCUMENTS = 1_000
STEPPED = ("flat", "mhc", "mhp", "mhs")
FEW, SOME = 640, 1_920  # documents on which these are measured
ONE_EPOCH = {"epochs": 1, "min_steps": 0, "backbone": "text", "device": "cpu"}
SETTINGS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(STEPPED, ONE_EPOCH),
    "deep_miml": {"epochs": 1, "device": "cpu"},
    "siamesexml": {"epochs": 1, "classifier_epochs": 1, "device": "cpu"},
    "landmarks": {"device": "cpu", "one_vs_rest": False},
    "eagle": {"device": "cpu"},
}
EXCEEDED = 9  # exit code of a measurement that ran out of memory


def synthetic(n_labels: int, n_documents: int) -> Any:
    """The planted data of a size."""
    from xcwork.data.synthetic import make_synthetic

    n_test = min(TEST_DOCUMENTS, n_documents)
    return make_synthetic(
        n_labels=n_labels,
        n_documents=n_documents + n_test,
        n_topics=max(2, n_labels // 50),
        test_share=n_test / (n_documents + n_test),
        unseen_share=0.05,
    )


def write_data(n_labels: int, n_documents: int, folder: Path) -> None:
    """The planted data of a size without raw texts, stored."""
    from dataclasses import replace

    data = synthetic(n_labels, n_documents)
    bare = replace(data, train=replace(data.train, texts=None), test=replace(data.test, texts=None))
    bare.save(folder)


def measure(method: str, folder: Path, seconds: float) -> dict[str, Any]:
    """One row, in this process."""
    import xcwork
    from xcwork.core.dataset import Dataset
    from xcwork.metrics import evaluate_topk

    data, params = Dataset.load(folder, mapped=False), SETTINGS.get(method, {})
    n_documents = len(data.train)
    parts = (FEW, SOME) if method in STEPPED and n_documents > SOME else (n_documents,)
    timings = []
    before = _resident_now()
    for size in parts:
        train = data.train.take(np.arange(size)) if size < n_documents else data.train
        with processor_limit(seconds), timed() as training:
            model = xcwork.create(method, **params).fit(train)
        timings.append(training)
    added = _memory("VmHWM") - before
    test = data.test.take(np.arange(min(len(data.test), TEST_DOCUMENTS)))
    model.predict(test, 5)
    with timed() as predicting:
        best = model.predict(test, 5)
    with tempfile.TemporaryDirectory() as place:
        model.save(Path(place) / "model")
        size = folder_bytes(Path(place))
    whole = timings[0] if len(parts) == 1 else extended(*timings, n_documents)
    frequencies = data.train.label_frequencies
    metrics = evaluate_topk(best, test.Y, frequencies=frequencies, n_train=n_documents, propensity=data.propensity)
    return {
        "train s": whole.seconds,
        "CPU s": whole.cpu_seconds,
        "measured CPU s": timings[-1].cpu_seconds,
        "memory MB": max(added, 0.1),
        "CPU ms/document": 1000 * predicting.cpu_seconds / len(test),
        "model MB": size / 1e6,
        "P@1": metrics["P@1"] if len(parts) == 1 else None,
    }


def extended(few: Timing, some: Timing, n_documents: int) -> Timing:
    """The time of all documents, from that of FEW and of SOME of them."""
    times = (n_documents - FEW) / (SOME - FEW)
    return Timing(
        few.seconds + times * max(some.seconds - few.seconds, 0),
        few.cpu_seconds + times * max(some.cpu_seconds - few.cpu_seconds, 0),
    )


@contextmanager
def processor_limit(seconds: float) -> Iterator[None]:
    """The system ends this process when the block takes more processor time than that."""
    limit = int(cpu_seconds() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _resident_now() -> float:
    """Resident memory in MB after what is free was given back; a new peak begins here."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(field: str) -> float:
    """A figure of this process in MB; the peak so far where the system keeps no such account."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return peak_memory_mb()
    return next(float(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main(method: str, seconds: float, gib: float, folders: list[str]) -> None:
    import xcwork

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (int(gib * 2**30),) * 2)
    small = synthetic(200, 400)
    xcwork.create(method, **SETTINGS.get(method, {})).fit(small.train).predict(small.test, 5)  # compiles
    for folder in folders:
        print(json.dumps(measure(method, Path(folder), seconds)), flush=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
    except MemoryError:
        raise SystemExit(EXCEEDED) from None
