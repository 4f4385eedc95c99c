"""Recommendations kept with their dataset: one file in the cache of the data folder, gone when the dataset is deleted.

The file is found by the dataset's place and the fingerprint of its content, so changed data has no recommendation.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from pathlib import Path

from xcwork.advice.recommendation import Recommendation
from xcwork.data.load import DatasetSource, make_cache_prefix
from xcwork.errors import DataError
from xcwork.runs.estimates import Measurement, measure_run
from xcwork.runs.store import RunStore
from xcwork.storage.atomic import write_json

logger = logging.getLogger(__name__)


def locate_recommendation(source: DatasetSource, fingerprint: str) -> Path:
    """Return the file in which the pilot of a dataset is kept."""
    prefix = source.name if source.path is None else make_cache_prefix(source.path)
    kind = "".join(sign for sign in fingerprint if sign.isalnum())
    return source.home / "data" / ".cache" / f"{prefix}-recommended-{kind}.json"


def read_recommendation(source: DatasetSource, fingerprint: str) -> Recommendation | None:
    """Return what a pilot found about a dataset; None if there was none, or its file is damaged."""
    file = locate_recommendation(source, fingerprint)
    try:
        found = Recommendation.from_dict(json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError, DataError) as damage:
        logger.warning("%s cannot be read: %s", file, damage)
        return None
    return found if found.fingerprint == fingerprint else None


def write_recommendation(source: DatasetSource, found: Recommendation) -> None:
    """Keep a recommendation with its dataset; a cache that cannot be written is only worth a line in the log."""
    file = locate_recommendation(source, found.fingerprint)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_json(file, found.to_dict())
    except OSError as refusal:
        logger.warning("the recommendation is not kept: %s", refusal)


def list_measurements(home: Path) -> Iterable[Measurement]:
    """Return what the finished runs of a home folder cost."""
    return [found for run in RunStore(home).list() if (found := measure_run(run)) is not None]
