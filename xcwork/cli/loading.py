"""The datasets that verbs work on, read with a progress bar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xcwork.errors import RunError

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset
    from xcwork.runs import Run


def read_data(source: str, options: Mapping[str, Any]) -> Dataset:
    """Return the dataset called `source`, with a bar while it loads."""
    from xcwork.data.load import load_dataset
    from xcwork.export.terminal import ProgressBar
    from xcwork.paths import find_home
    from xcwork.progress import listen

    with ProgressBar() as bar, listen([bar]):
        return load_dataset(source, home=find_home(), **options)


def read_run_data(run: Run) -> Dataset:
    """Return the dataset a run was trained and tested on, which must not have changed since."""
    config = run.config
    dataset = read_data(config["data"], config.get("data_options", {}))
    if not dataset.recognises((config.get("dataset") or {}).get("fingerprint")):
        raise RunError(f"the data of run {run.id} ({config['data']}) changed since it was trained; train a new run")
    return dataset
