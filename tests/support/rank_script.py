"""What one rank does in test_ranks.py: trains every case beside the others and writes what the first rank has.

Without torchrun it is the one process that the ranks are compared with.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import xcwork
from xcwork.compute import ranks
from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import Cancelled, ConfigError
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.progress import Callback, listen
from xcwork.storage.atomic import write_json

SMALL = {"width": 16, "epochs": 3, "min_steps": 0, "batch_size": 32, "backbone": "text", "device": "cpu"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "flat, many labels": ("flat", {}),
    "flat, one label": ("flat", {"loss": "ce"}),
    "mhs, many labels": ("mhs", {"heads": "8,5"}),
    "mhs, one label": ("mhs", {"loss": "ce", "heads": "8,5", "label_order": "random"}),
    "mhc, many labels": ("mhc", {"label_dimension": 8, "training_beam": 3, "beam": 4}),
    "mhc, one label, three heads": ("mhc", {"loss": "ce", "heads": "3,4,4", "label_dimension": 8, "swa": 1}),
    "mhp, label sets": ("mhp", {"bits": 3}),
    "mhp, label sets, sigmoids": ("mhp", {"bits": 2, "loss": "bce", "layers": 1}),
    "best epoch of an average": ("flat", {"validation": 0.2, "swa": 2, "layers": 1}),
}


RESUMED = ["mhc, many labels", "mhp, label sets"]  # stopped after two epochs


def one_label(split: Split) -> Split:
    """Every document with its first label alone."""
    first = split.Y.indices[split.Y.indptr[:-1]]
    Y = sparse.csr_array((np.ones(len(split), np.float32), first, np.arange(len(split) + 1)), shape=split.Y.shape)
    return Split(split.X, Y, split.labels, split.features)


def data() -> Dataset:
    return make_synthetic(n_documents=200, n_labels=37, n_topics=5, seed=1)


def trained(case: str, train: Split, checkpoint: Checkpoint | None = None, **changes: Any) -> Any:
    method, params = CASES[case]
    train = one_label(train) if params.get("loss") == "ce" else train
    return xcwork.create(method, **SMALL | params | changes).fit(train, checkpoint=checkpoint)


class ReadOnly(Checkpoint):
    def save(self, state: Any) -> None:
        """The first rank saves."""


class StopAfterTwoEpochs(Callback):
    def on_values(self, phase: str, values: Any) -> None:
        self.epochs = getattr(self, "epochs", 0) + 1

    def on_step(self, phase: str, step: int, total: int | None) -> bool:
        return getattr(self, "epochs", 0) >= 2


def stop_early(case: str, train: Split, checkpoint: Checkpoint) -> None:
    with listen([StopAfterTwoEpochs()]), suppress(Cancelled):
        trained(case, train, checkpoint)


def main(folder: Path) -> None:
    dataset = data()
    with ranks.join_ranks() as group:
        rank = 0 if group is None else group.rank
        for number, case in enumerate(CASES):
            model = trained(case, dataset.train)
            found = model.predict(dataset.test, 5)
            if rank == 0:
                model.save(folder / f"model{number}")
                np.savez(folder / f"found{number}.npz", ids=found.ids, scores=found.scores)
                write_json(folder / f"facts{number}.json", {"curve": model.model_.curve})
        # A checkpoint of all ranks is an ordinary one.
        place = Checkpoint(folder / "checkpoint") if rank == 0 else ReadOnly(folder / "checkpoint")
        trained("flat, many labels", dataset.train, place, swa=1)
        for number, case in enumerate(CASES):
            if case in RESUMED:
                begun = folder / f"begun{number}"
                stop_early(case, dataset.train, Checkpoint(begun) if rank == 0 else ReadOnly(begun))
                again = folder / f"alone{number}"
                if rank == 0:
                    with ranks.work_alone():
                        stop_early(case, dataset.train, Checkpoint(again))
                if group is not None:
                    group.agree(True)  # that the checkpoint is there
                resumed = trained(case, dataset.train, Checkpoint(again) if rank == 0 else ReadOnly(again))
                if rank == 0:
                    resumed.save(folder / f"resumed{number}")
        if group is not None:
            refusals = []
            for params in ({"margin": 0.2, "loss": "ce"}, {"sampling": "document"}):
                try:
                    xcwork.create("mhs", **SMALL | params).fit(one_label(dataset.train))
                except ConfigError as refusal:
                    refusals.append(str(refusal))
            try:
                xcwork.create("mhp", **SMALL).fit(one_label(dataset.train))
            except ConfigError as refusal:
                of_products = str(refusal)
            held = len(model.model_.weights["heads.labels.weight"])
            (folder / f"rank{rank}.json").write_text(
                json.dumps({"rows": held, "refusals": refusals, "of products": of_products})
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
