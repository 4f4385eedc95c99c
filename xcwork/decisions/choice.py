"""What is done with a prediction: assign the label without asking, suggest it to a person, or leave it out.

`decisions.json` in the folder of a run holds the choice: probabilities from which a label is assigned or suggested, one
for all labels, one per band of frequency or one per label, and how many labels a document gets at most. Without the
file the usual ones apply: assign from 80 %, suggest from 20 %.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xcwork.core.bands import make_absolute_bands
from xcwork.core.topk import MISSING, TopK
from xcwork.decisions.goals import COVERAGE, GOALS, MACRO_F1, choose_labels
from xcwork.errors import ConfigError, DataError
from xcwork.storage.atomic import write_json

DECISIONS_FILE = "decisions.json"
SCHEMA = 1
ASSIGN = "assign"
SUGGEST = "suggest"
LEAVE = "leave"
WORDS = (LEAVE, SUGGEST, ASSIGN)
BY = ("one", "band", "label")
DEFAULT_ASSIGN = 0.8
DEFAULT_SUGGEST = 0.2
NEVER_ASSIGN = math.inf  # a threshold that no probability reaches; null in the file


@dataclass(frozen=True)
class Decisions:
    """Thresholds of probabilities, from 0 to 1."""

    assign: float = DEFAULT_ASSIGN  # NEVER_ASSIGN where the precision that was asked for cannot be promised
    suggest: float = DEFAULT_SUGGEST
    by: str = "one"
    bands: dict[str, float] = field(default_factory=dict)  # assign threshold by band of `make_absolute_bands`
    labels: dict[int, float] = field(default_factory=dict)  # assign threshold by label id, where evidence allows it
    limit: int | None = None  # labels per document that are assigned or suggested at most
    goal: str = "precision"
    asked_precision: float | None = None  # from 0 to 1

    def __post_init__(self) -> None:
        thresholds = [self.assign, self.suggest, *self.bands.values(), *self.labels.values()]
        if not all(is_threshold(value) for value in thresholds):
            raise ConfigError("a threshold must be a probability between 0 and 1")
        if self.suggest > self.assign:
            raise ConfigError(
                f"labels are suggested from a lower probability than they are assigned from, got {self.suggest} and "
                f"{self.assign}"
            )
        if self.by not in BY:
            raise ConfigError(f"thresholds are set by one of {', '.join(BY)}, got {self.by!r}")
        if self.goal not in GOALS:
            raise ConfigError(f"the goal must be one of {', '.join(GOALS)}, got {self.goal!r}")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"at least 1 label per document must be allowed, got {self.limit}")

    def assign_thresholds(self, ids: np.ndarray, label_frequencies: np.ndarray) -> np.ndarray:
        """Return the probability from which each predicted label is assigned, (n_documents, k) float64."""
        thresholds = np.full(ids.shape, self.assign)
        if self.by == "one":
            return thresholds
        bands = make_absolute_bands(label_frequencies)
        of_band = np.array([self.bands.get(name, self.assign) for name in bands.names])
        of_label = of_band[bands.of_label]
        if self.by == "label":
            for label, threshold in self.labels.items():
                if label < len(of_label):
                    of_label[label] = threshold
        present = ids != MISSING
        thresholds[present] = of_label[ids[present]]
        return thresholds

    def decide(self, topk: TopK, label_frequencies: np.ndarray) -> np.ndarray:
        """Return the word for every slot, (n_documents, k); '' where there is no label.

        For the goals macro-F1 and coverage the documents are decided about together, each gets `limit` labels.
        """
        if topk.probabilities is None:
            raise DataError("these predictions have no probabilities to decide by", remedy="predict with proba=True")
        if self.goal in (MACRO_F1, COVERAGE) and self.limit is not None:
            assigned = choose_labels(topk, len(label_frequencies), self.limit, self.goal)
            return np.where(topk.ids == MISSING, "", np.where(assigned, ASSIGN, LEAVE).astype(object))
        assigned = topk.probabilities >= self.assign_thresholds(topk.ids, label_frequencies)
        codes = np.where(assigned, 2, (topk.probabilities >= self.suggest).astype(np.int64))
        if self.limit is not None:
            codes[:, self.limit :] = 0
        return np.where(topk.ids == MISSING, "", np.array(WORDS, dtype=object)[codes])

    def to_dict(self) -> dict[str, Any]:
        """Return the choice for JSON."""
        plain = asdict(self) | {"labels": {str(label): value for label, value in self.labels.items()}}
        return {"schema": SCHEMA} | _hide_infinite(plain)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Decisions:
        """Return the choice that `to_dict` described."""
        try:
            if content["schema"] != SCHEMA:
                raise ValueError(f"its layout is {content['schema']!r}")
            values = {name: content[name] for name in cls.__dataclass_fields__}
            values["assign"] = _show_infinite(values["assign"])
            values["bands"] = {str(name): _show_infinite(value) for name, value in values["bands"].items()}
            values["labels"] = {int(label): _show_infinite(value) for label, value in values["labels"].items()}
            if values["limit"] is not None and type(values["limit"]) is not int:
                raise ValueError("the limit is not a whole number")
            return cls(**values)
        except (LookupError, TypeError, ValueError, AttributeError, ConfigError) as damage:
            raise DataError(f"the decisions cannot be used ({damage})", remedy="choose thresholds again") from None


def is_threshold(value: Any) -> bool:
    """Return whether a value is a probability or NEVER_ASSIGN."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (0.0 <= value <= 1.0 or value == NEVER_ASSIGN)


def write_decisions(folder: str | Path, decisions: Decisions) -> None:
    """Store the choice with the run in `folder`, replacing an earlier one in one step."""
    write_json(Path(folder) / DECISIONS_FILE, decisions.to_dict())


def read_decisions(folder: str | Path) -> Decisions:
    """Return the choice stored with the run in `folder`, or the usual one."""
    path = Path(folder) / DECISIONS_FILE
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Decisions()
    except (OSError, ValueError, RecursionError) as damage:
        raise DataError(
            f"the decisions cannot be read ({damage})", file=path, remedy="delete the file or choose again"
        ) from None
    try:
        return Decisions.from_dict(content)
    except DataError as refusal:
        raise DataError(refusal.problem, file=path, remedy=refusal.remedy) from None


def _hide_infinite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _hide_infinite(item) for key, item in value.items()}
    return None if value == NEVER_ASSIGN else value


def _show_infinite(value: Any) -> Any:
    return NEVER_ASSIGN if value is None else value
