"""What a recommendation says: three methods with reason, expected quality and cost; written as JSON and read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from xcwork.errors import DataError

BY_RULE = "rule"
BY_PILOT = "pilot"


@dataclass(frozen=True)
class Expectation:
    """The P@1 to expect on new documents when all training documents are used, with an interval of 95 %."""

    value: float  # percent
    low: float
    high: float
    basis: str  # how it was found, in a sentence


@dataclass(frozen=True)
class Suggestion:
    """One recommended method."""

    method: str
    preset: str
    role: str  # what it is recommended for
    reason: str
    expected: Expectation | None  # None: nothing was tried
    seconds: float | None  # of the whole run; None: nothing like it was measured
    memory_mb: float | None


@dataclass(frozen=True)
class TriedMethod:
    """What a pilot found about one method."""

    method: str
    documents: tuple[int, ...]  # it was trained on, in each round
    precisions: tuple[float, ...]  # P@1 on documents that were held out, in percent, in each round
    seconds: tuple[float, ...]
    expected: Expectation | None = None
    note: str = ""  # why it was not tried, or not tried to the end


@dataclass(frozen=True)
class Recommendation:
    """Methods for a dataset, best first."""

    data: str
    fingerprint: str
    traits: str  # the dataset in words
    level: str  # BY_RULE or BY_PILOT
    suggestions: tuple[Suggestion, ...]
    tried: tuple[TriedMethod, ...] = ()
    seconds: float = 0.0  # that finding it took

    def to_dict(self) -> dict[str, Any]:
        content = asdict(self)
        return {"recommended": content.pop("suggestions"), **content}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Recommendation:
        """Return what `to_dict` gave; anything else is a `DataError`."""
        try:
            suggestions = tuple(
                Suggestion(**_pick_fields(Suggestion, each) | {"expected": _read_expectation(each.get("expected"))})
                for each in content["recommended"]
            )
            tried = tuple(
                TriedMethod(
                    **_pick_fields(TriedMethod, each)
                    | {name: tuple(each[name]) for name in ("documents", "precisions", "seconds")}
                    | {"expected": _read_expectation(each.get("expected"))}
                )
                for each in content["tried"]
            )
            kept = {name: content[name] for name in ("data", "fingerprint", "traits", "level", "seconds")}
            return cls(**kept, suggestions=suggestions, tried=tried)
        except (KeyError, TypeError, AttributeError) as damage:
            raise DataError(f"this is not a recommendation ({damage})", remedy="run `xcwork recommend` again") from None


def _pick_fields(kind: type[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: content[field.name] for field in fields(kind)}


def _read_expectation(content: Mapping[str, Any] | None) -> Expectation | None:
    return None if content is None else Expectation(**_pick_fields(Expectation, content))
