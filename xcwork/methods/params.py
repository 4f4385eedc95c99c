"""Hyper-parameters: declared once in a method, read by forms, command lines and stored configurations."""

from __future__ import annotations

import logging
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from xcwork.compute.device import DEVICES, DeviceNames
from xcwork.compute.precision import PRECISIONS
from xcwork.errors import ConfigError

DEFAULT_PRESET = "default"
MAX_WHOLE_NUMBER = 2**53 - 1  # what every format, every kernel and every browser can hold
TYPE_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}

log = logging.getLogger(__name__)


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


def precision_param() -> Any:
    """Declare `precision`, which means the same in every neural method."""
    return param(
        "auto",
        "precision of matrix products in training; auto: bfloat16 on GPUs made for it, otherwise float32",
        choices=PRECISIONS,
        advanced=True,
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

    @property
    def allowed(self) -> str:
        """What may be chosen, in words: the choices, the bounds, or the type."""
        if self.choices is not None:
            return ", ".join(map(str, self.choices))
        if self.low is not None and self.high is not None:
            return f"{self.low} to {self.high}"
        if self.low is not None:
            return f"at least {self.low}"
        return f"at most {self.high}" if self.high is not None else self.type.__name__

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


@dataclass(kw_only=True, eq=False)
class Parametrised:
    """Something whose declared fields are hyper-parameters."""

    presets: ClassVar[tuple[Preset, ...]] = ()  # besides the declared defaults

    @classmethod
    @cache
    def parameters(cls) -> Mapping[str, Parameter]:
        """Return the declared hyper-parameters by name."""
        hints = typing.get_type_hints(cls)
        declared = [each for each in fields(cls) if "help" in each.metadata]
        return MappingProxyType({each.name: Parameter.from_field(each, hints[each.name]) for each in declared})

    @classmethod
    @cache
    def list_prediction_parameters(cls) -> tuple[tuple[str, Parameter], ...]:
        """Return the names and declarations of those that a trained model follows immediately."""
        return tuple((name, declared) for name, declared in cls.parameters().items() if declared.at_prediction)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Return an instance with `params`, rejecting names and values it does not know."""
        method = cls(**cls.rename_params(params))
        method.validate()
        return method

    @classmethod
    def find_preset(cls, name: str) -> Preset:
        """Return the settings called `name`."""
        known = {preset.name: preset for preset in (Preset(DEFAULT_PRESET, {}), *cls.presets)}
        if name not in known:
            raise ConfigError(f"{cls.__name__} has no preset {name!r}; it has {', '.join(known)}")
        return known[name]

    @classmethod
    def rename_params(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return `params` under the names of this version, with a note in the log; unknown names are rejected."""
        known = cls.parameters()
        former = cls.list_former_names()
        renamed: dict[str, Any] = {}
        for given, value in params.items():
            name = former.get(given, given)
            if name not in known:
                raise ConfigError(f"{cls.__name__} has no parameter {given!r}; it has {', '.join(known)}")
            if name in renamed:
                raise ConfigError(f"{name} is given twice: {given} was its former name")
            if name != given:
                log.warning("the parameter %s of %s is now called %s", given, cls.__name__, name)
            renamed[name] = value
        return renamed

    @classmethod
    def list_former_names(cls) -> dict[str, str]:
        """Return the present name of every parameter by the name it had in earlier versions."""
        return {declared.formerly: name for name, declared in cls.parameters().items() if declared.formerly}

    def get_params(self) -> dict[str, Any]:
        """Return the hyper-parameters that the next `fit` uses."""
        return {name: getattr(self, name) for name in self.parameters()}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters for the next `fit`.

        What was learned stays as it is, with the parameters it was learned with, until then. Only parameters declared
        with `at_prediction`, such as `beam` and `device`, take effect immediately.
        """
        wanted = self.from_params(self.get_params() | self.rename_params(params))
        for name, value in wanted.get_params().items():
            setattr(self, name, value)
        return self

    def validate(self) -> None:
        """Check every hyper-parameter against its declaration."""
        for name, declared in self.parameters().items():
            setattr(self, name, declared.check(getattr(self, name)))
