"""Hyper-parameters: declared once in a method, read by forms, command lines and stored configurations."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field
from typing import Any

import numpy as np

from xcwork.compute.device import DEVICES, DeviceNames
from xcwork.errors import ConfigError

MAX_WHOLE_NUMBER = 2**53 - 1  # what every format, every kernel and every browser can hold
TYPE_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def param(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[Any] | None = None,
    advanced: bool = False,
    at_prediction: bool = False,
    formerly: str | None = None,
) -> Any:
    """Declare a hyper-parameter: default, one line of help, inclusive bounds or a list of choices.

    One with `at_prediction` says how predictions are computed rather than what is learned, such as the width of a
    search or the device, so it can be changed in a trained method. `formerly` is the name it had in earlier versions,
    which stored configurations may still use.
    """
    declared = {"help": help, "low": low, "high": high, "choices": choices, "advanced": advanced}
    return field(default=default, metadata=declared | {"at_prediction": at_prediction, "formerly": formerly})


def device_param() -> Any:
    """Declare `device`, which means the same in every method: where it trains and where it predicts."""
    return param(
        "auto",
        "where training and prediction compute: auto takes a GPU if there is one, otherwise the CPU",
        choices=DEVICES,
        advanced=True,
        at_prediction=True,
    )


@dataclass(frozen=True)
class Preset:
    """Named settings of a method, declared beside its class: what differs from the defaults and what to know about it.

    `ours_adds` lists what the defaults have and these settings leave out; `not_yet` what no parameter can express.
    """

    name: str  # quick or paper
    params: Mapping[str, Any]
    ours_adds: str = ""
    not_yet: str = ""

    @property
    def note(self) -> str:
        """Both lists as sentences; empty where there is nothing to say."""
        parts = (("Ours adds", self.ours_adds), ("Not yet", self.not_yet))
        return " ".join(f"{title}: {text}." for title, text in parts if text)


@dataclass(frozen=True)
class Parameter:
    """A declared hyper-parameter, as forms and command lines need it."""

    name: str
    type: type
    optional: bool
    default: Any
    help: str
    low: float | None
    high: float | None
    choices: Sequence[Any] | None
    advanced: bool
    at_prediction: bool = False
    formerly: str | None = None

    @classmethod
    def from_field(cls, declared: Field, hint: Any) -> Parameter:
        """Read the declaration of a field whose type is `hint`."""
        kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType] or [hint]
        choices = declared.metadata["choices"]
        return cls(
            name=declared.name,
            type=kinds[0],
            optional=types.NoneType in typing.get_args(hint),
            default=declared.default,
            **{**declared.metadata, "choices": choices if isinstance(choices, DeviceNames | None) else tuple(choices)},
        )

    def parse(self, text: str) -> Any:
        """Return the value that `text` stands for on a command line."""
        if self.optional and text.lower() in ("none", ""):
            return None
        if self.type is bool:
            if text.lower() in ("true", "yes", "on", "1"):
                return True
            if text.lower() in ("false", "no", "off", "0"):
                return False
            raise ConfigError(f"{self.name} must be true or false, got {text!r}")
        try:
            return self.type(text)
        except (ValueError, OverflowError):
            raise ConfigError(f"{self.name} must be {TYPE_NAMES[self.type]}, got {text!r}") from None

    def check(self, value: Any) -> Any:
        """Return `value` as this parameter's type, or raise a `ConfigError` that says what is allowed."""
        if value is None and self.optional:
            return None
        if isinstance(value, np.generic):
            value = value.item()
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            try:
                value = float(value)
            except OverflowError:
                raise ConfigError(f"{self.name} must be a finite number, got one that is far too large") from None
        is_right_type = isinstance(value, self.type) and (self.type is bool or not isinstance(value, bool))
        if not is_right_type:
            raise ConfigError(f"{self.name} must be {TYPE_NAMES[self.type]}, got {value!r}")
        if self.choices is not None and value not in self.choices:
            raise ConfigError(f"{self.name} must be one of {', '.join(map(str, self.choices))}, got {value!r}")
        if self.type is float and not np.isfinite(value):
            raise ConfigError(f"{self.name} must be a finite number, got {value!r}")
        if self.type is int and abs(value) > MAX_WHOLE_NUMBER:
            raise ConfigError(f"{self.name} must be at most {MAX_WHOLE_NUMBER:,}")
        if self.low is not None and value < self.low:
            raise ConfigError(f"{self.name} must be at least {self.low}, got {value}")
        if self.high is not None and value > self.high:
            raise ConfigError(f"{self.name} must be at most {self.high}, got {value}")
        return value
