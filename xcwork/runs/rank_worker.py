"""A run whose labels are shared by several processes: torchrun starts one worker per rank on the same run folder.

The first rank is the worker that everybody sees: it waits for its turn, writes status and checkpoints, saves and
evaluates. The others only train, and read the checkpoint from the same folder. When the first rank ends other than
finished (failed, cancelled), its exit code makes torchrun end the others, wherever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xcwork.compute import ranks
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.runs.calibration import plan_run
from xcwork.runs.store import Run

NOT_FINISHED_CODE = 3


def work_as_rank(run: Run, first: Callable[[Run], int]) -> int:
    """Work on the run as this rank; `first` is what the first rank does."""
    with ranks.join_ranks() as group:
        if group is not None and group.rank > 0:
            return _assist(run, group)
        code = first(run)
    return code if run.state == "finished" else code or NOT_FINISHED_CODE


def announce_training(*, trains: bool) -> None:
    """Tell the other ranks whether there is something to train; without ranks nothing happens."""
    group = ranks.get_group()
    if group is not None:
        group.agree(trains)


def _assist(run: Run, group: ranks.Group) -> int:
    """Train beside the first rank, as soon as it begins."""
    if not group.agree(None):
        return 0
    from xcwork.data.load import load_dataset
    from xcwork.methods import registry

    config = run.config
    dataset = load_dataset(config["data"], home=run.home, **config["data_options"])
    method = registry.create(config["method"], **config["params"])
    plan = plan_run(config, dataset)
    method.fit(plan.take_training_split(dataset.train), checkpoint=_ReadOnlyCheckpoint(run.folder / "checkpoint"))
    return 0


class _ReadOnlyCheckpoint(Checkpoint):
    """The checkpoint that the first rank writes."""

    def save(self, state: Mapping[str, Any]) -> None:
        """Do nothing: making `state` has already sent this rank's part to the first one."""
