"""The errors xcwork raises on purpose: each message says what is wrong, where, and what to do about it.

The command line, the dashboard and notebooks show the same sentence. Anything else that escapes is a bug.
"""

from __future__ import annotations

from pathlib import Path


class XcworkError(Exception):
    """Base of every error a user can act on."""


class DataError(XcworkError):
    """A dataset cannot be used as it is.

    >>> print(DataError("the label id 7 is beyond the header's 5 labels", file="train.txt", line=3,
    ...                 remedy="correct the header or the id"))
    train.txt, line 3: the label id 7 is beyond the header's 5 labels; correct the header or the id
    """

    def __init__(
        self, problem: str, *, file: str | Path | None = None, line: int | None = None, remedy: str | None = None
    ) -> None:
        self.problem, self.file, self.line, self.remedy = problem, file, line, remedy
        where = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(where + problem + ("" if remedy is None else f"; {remedy}"))


class MissingVectorsError(DataError):
    """Neither the method nor the data say which labels are alike."""


class ConfigError(XcworkError):
    """A parameter has a value that cannot work."""


class NotFittedError(XcworkError):
    """The method has not been trained yet."""


class RunError(XcworkError):
    """A run folder cannot be opened, resumed or changed as asked."""


class Cancelled(XcworkError):
    """A callback asked to stop. What was checkpointed before stays on disk and can be resumed."""
