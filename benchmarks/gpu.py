"""What methods do on a device, without one: the contract on an emulated accelerator, and the work of a training step.

    python -m benchmarks.gpu [--labels 4000 100000] [--contract REPORT.xml] [--out FILE.json]

The contract is `CONTRACT`, method by check; `--contract` reads what an earlier run of it
wrote (`pytest --junitxml`), and with `--contract-only` the rest of `--out` stays. The work of a step, or of a whole
training where there are no epochs, is counted on the emulation: operations, bytes that kernels read and write, kernels,
copies. From that follows how long an A100 would take at the least, by the roofline: of each kernel the larger of
operations over its peak and bytes over its bandwidth, added
up, since kernels run one after the other. **This is arithmetic from data sheets, not a measurement**; launching
kernels, the host's share and all that is not a step come on top.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._common import conditions, described, markdown_table, write_json
from xcwork.compute.precision import BYTES_PER_SECOND, OPERATIONS_PER_SECOND
from xcwork.progress import Callback

ROOT = Path(__file__).resolve().parents[1]
CONTRACT = ("tests/contract/test_contract_devices.py", "tests/contract/test_contract_device_copies.py")
N_FEATURES = 50_000
WORDS_PER_DOCUMENT = 100
LABELS_PER_DOCUMENT = 5
N_STEPS = 4  # of an epoch: methods take smaller batches of fewer documents
NETWORK = {"epochs": 1, "min_steps": 0, "batch_size": 128}
# Stage, parameters, the parameter that adds an epoch, most labels that are worth the wait on a CPU.
STAGES: list[tuple[str, str, dict[str, Any], str, int]] = [
    ("flat", "training", NETWORK, "epochs", 10**6),
    ("mhs", "training", NETWORK, "epochs", 10**6),
    ("mhc", "training", NETWORK, "epochs", 10**6),
    ("mhp", "training", NETWORK, "epochs", 10_000),
    ("deep_miml", "training", NETWORK | {"batch_size": 32}, "epochs", 10_000),
    ("siamesexml", "encoder", {"epochs": 1, "classifier_epochs": 0, "validation": 0.0}, "epochs", 10_000),
    (
        "siamesexml",
        "classifiers",
        {"epochs": 1, "classifier_epochs": 1, "validation": 0.0},
        "classifier_epochs",
        10_000,
    ),
]
# What is trained at once, on documents so few that it can be counted on a CPU.
TRAININGS: list[tuple[str, dict[str, Any]]] = [
    ("one_vs_all", {}),
    ("label_tree", {"trees": 1}),
    ("label_tree", {"trees": 1, "kind": "bonsai"}),
    ("zestxml", {"shortlister": "exact"}),
    ("landmarks", {"solver": "square_root_lasso"}),
    ("landmarks", {"predictor": "svm"}),
    ("eagle", {"learner": "tfidf"}),
]
N_DOCUMENTS, N_LABELS, N_WORDS = 512, 1_000, 10_000  # of these


def run_contract(report: Path) -> None:
    """Run the contract suite, which writes what passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *CONTRACT, f"--junitxml={report}"]
    subprocess.run(command, cwd=ROOT, check=False, stdout=sys.stderr)


def read_contract(report: Path) -> list[dict[str, Any]]:
    """Return one row per method: how many of its tests passed, by check."""
    cases = list(ET.parse(report).getroot().iter("testcase"))
    from xcwork.methods.names import METHODS

    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        test = case.get("name", "")
        check = re.sub(r"\[.*", "", test).removeprefix("test_").replace("_", " ")
        named = [name for name in METHODS if re.search(rf"(\[|-|_){name}(\]|-|_|$)", test)]
        passed = case.find("failure") is None and case.find("error") is None
        for name in named or ["all"]:
            found[name][check].append(passed)
    return [
        {
            "method": name,
            "checks": len(checks),
            "tests": sum(len(results) for results in checks.values()),
            "passed": sum(sum(results) for results in checks.values()),
            "failed": ", ".join(check for check, results in checks.items() if not all(results)),
        }
        for name, checks in sorted(found.items())
    ]


def count_copies() -> list[dict[str, Any]]:
    """Return one row per method: copies per epoch, or in a training that has none, and in a prediction."""
    import pytest

    from tests.conftest import make_checkerboard
    from tests.contract.test_contract_device_copies import COPIES_PER_TRAINING
    from tests.support.device_contract import ON_DEVICE, make
    from tests.support.device_traffic import Traffic
    from tests.support.emulated_accelerator import emulate
    from tests.support.stub_encoder import HashedWords, use_encoder

    dataset = make_checkerboard()

    def train(name: str, **params: Any) -> tuple[Traffic, Traffic]:
        with emulate() as traffic:
            method = make(name, **params).fit(dataset.train)
            trained = traffic.copy()
            method.predict(dataset.test, k=5)
            before = traffic.copy()
            method.predict(dataset.test, k=5)
        return trained, traffic.subtract(before)

    rows: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        use_encoder(patch, HashedWords())
        for name in ON_DEVICE:
            trained, predicted = train(name)
            row: dict[str, Any] = {"method": name, "counted": "–", "to": 0, "back": 0}
            if name in COPIES_PER_TRAINING:
                row |= {"counted": "training", "to": trained.to_device, "back": trained.from_device}
            elif trained.to_device:
                names = ("epochs", "classifier_epochs") if name == "siamesexml" else ("epochs",)
                few, more = (train(name, **dict.fromkeys(names, n), patience=100)[0] for n in (2, 4))
                back = (more.from_device - few.from_device) / 2
                row |= {"counted": "epoch", "to": (more.to_device - few.to_device) / 2, "back": back}
            rows.append(row | {"prediction to": predicted.to_device, "prediction back": predicted.from_device})
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def make_split(n_documents: int, n_labels: int, n_features: int = N_FEATURES) -> Any:
    """Return documents of random words with random labels, whose texts are random words too."""
    from xcwork.core.features import Features
    from xcwork.core.labels import LabelSpace
    from xcwork.core.split import Split

    rng = np.random.default_rng(0)

    def draw(n_rows: int, n_columns: int, per_row: int) -> sparse.csr_array:
        columns = np.sort(rng.integers(0, n_columns, (n_rows, per_row)), axis=1).ravel()
        values = np.ones(len(columns), np.float32)
        matrix = sparse.csr_array((values, columns, np.arange(n_rows + 1) * per_row), shape=(n_rows, n_columns))
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return matrix

    Z = draw(n_labels, n_features, 5)
    labels = LabelSpace([f"label {label}" for label in range(n_labels)], Z=Z)
    X = draw(n_documents, n_features, WORDS_PER_DOCUMENT)
    Y = draw(n_documents, n_labels, LABELS_PER_DOCUMENT)
    return Split(X=X, Y=Y, labels=labels, features=Features(n_features))


class StepCounter(Callback):
    """Counts the steps of training."""

    def __init__(self) -> None:
        self.total = 0

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        self.total += phase.startswith("training")
        return False


def count_step(method: str, params: dict[str, Any], more: str, n_labels: int, precision: str) -> dict[str, Any]:
    """Return what one more epoch costs, divided by its steps."""
    from tests.support.emulated_accelerator import emulate
    from xcwork.methods.registry import create

    batch = "classifier_batch_size" if more == "classifier_epochs" else "batch_size"
    split = make_split(N_STEPS * create(method, **params).get_params()[batch], n_labels)
    with emulate() as traffic:
        counted, counters = [], []
        for epochs in (params[more], params[more] + 1):
            before, counter = traffic.copy(), StepCounter()
            method_ = create(method, **params | {more: epochs, "device": "emu", "precision": precision})
            method_.fit(split, callbacks=[counter])
            counted.append(traffic.subtract(before))
            counters.append(counter.total)
    few, all_ = counted
    steps = counters[1] - counters[0]
    per_step = {
        name: (getattr(all_, name) - getattr(few, name)) / steps
        for name in (
            "operations",
            "moved_bytes",
            "a100_seconds",
            "kernels",
            "to_device",
            "to_device_bytes",
            "from_device",
        )
    }
    return per_step | {"steps": steps, "peak_bytes": traffic.peak_bytes}


def count_training(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return a row for a training that is no sequence of steps; its time is arithmetic."""
    from tests.support.emulated_accelerator import emulate
    from xcwork.methods.registry import create

    split = make_split(N_DOCUMENTS, N_LABELS, N_WORDS)
    with emulate() as traffic:
        create(method, **params | {"device": "emu"}).fit(split)
    return {
        "method": method,
        "parameters": ", ".join(f"{name}={value}" for name, value in params.items()) or "defaults",
        "Gflop": round(traffic.operations / 1e9, 2),
        "MB moved": round(traffic.moved_bytes / 1e6),
        "kernels": traffic.kernels,
        "copies to": traffic.to_device,
        "KB copied": round(traffic.to_device_bytes / 1e3),
        "copies from": traffic.from_device,
        "peak MB": round(traffic.peak_bytes / 1e6),
        "A100 ms, arithmetic": round(1000 * traffic.a100_seconds, 2),
        "of it moving, %": round(100 * traffic.moved_bytes / BYTES_PER_SECOND / traffic.a100_seconds),
    }


def describe_step(method: str, stage: str, n_labels: int, precision: str, counted: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table; times are arithmetic."""
    by_bytes = counted["moved_bytes"] / BYTES_PER_SECOND
    return {
        "method": method,
        "stage": stage,
        "labels": n_labels,
        "precision": precision,
        "Gflop": round(counted["operations"] / 1e9, 3),
        "MB moved": round(counted["moved_bytes"] / 1e6, 1),
        "kernels": round(counted["kernels"]),
        "copies to": round(counted["to_device"], 1),
        "KB copied": round(counted["to_device_bytes"] / 1e3, 1),
        "copies from": round(counted["from_device"], 2),
        "peak MB": round(counted["peak_bytes"] / 1e6),
        "A100 ms, arithmetic": round(1000 * counted["a100_seconds"], 4),
        "of it moving, %": round(100 * by_bytes / counted["a100_seconds"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[4_000, 100_000], help="numbers of labels")
    parser.add_argument("--methods", nargs="+", help="count the steps of these methods only")
    parser.add_argument("--contract", type=Path, help="report of an earlier run of the contract; otherwise it is run")
    parser.add_argument("--contract-only", action="store_true", help="renew the contract in --out alone")
    parser.add_argument("--out", type=Path, help="also write everything as JSON to this file")
    options = parser.parse_args()
    facts = conditions()
    with tempfile.TemporaryDirectory() as place:
        report = options.contract or Path(place) / "report.xml"
        if not options.contract:
            run_contract(report)
        copies = {row["method"]: row for row in count_copies()}
        contract = [row | copies.get(row["method"], {}) for row in read_contract(report)]
    print(f"Contract on the emulated accelerator\n\n{markdown_table(contract)}\n")
    if options.contract_only:
        write_json(options.out, json.loads(options.out.read_text("utf-8")) | {"contract": contract})
        return
    trainings = []
    for method, params in TRAININGS:
        if not options.methods or method in options.methods:
            trainings.append(count_training(method, params))
            print(trainings[-1], file=sys.stderr, flush=True)
    rows = []
    for n_labels in options.labels:
        for method, stage, params, more, most in STAGES:
            if n_labels > most or (options.methods and method not in options.methods):
                continue
            for precision in OPERATIONS_PER_SECOND:
                counted = count_step(method, params, more, n_labels, precision)
                rows.append(describe_step(method, stage, n_labels, precision, counted))
                print(rows[-1], file=sys.stderr, flush=True)
    print(f"Work of whole trainings; times are arithmetic, not measured\n\n{markdown_table(trainings)}\n")
    print(
        f"Work of a training step; times are arithmetic, not measured\n\n{markdown_table(rows)}\n\n{described(facts)}"
    )
    if options.out:
        sheet = {"peaks": OPERATIONS_PER_SECOND, "bytes_per_second": BYTES_PER_SECOND, "is_arithmetic": True}
        sizes = {"documents": N_DOCUMENTS, "labels": N_LABELS, "features": N_WORDS}
        found = {"contract": contract, "trainings": trainings, "trained_on": sizes, "steps": rows, "a100": sheet}
        write_json(options.out, found | facts)


if __name__ == "__main__":
    main()
