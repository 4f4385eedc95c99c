"""How work in the background ended: one state and one sentence, whatever happened."""

from __future__ import annotations

import logging
import traceback
from types import TracebackType

from xcwork.errors import Cancelled, XcworkError

logger = logging.getLogger(__name__)

# torch and Python's threads tell of missing memory with a RuntimeError; compiled code may lose the error on its way,
# which Python then reports as a SystemError in the last of these words.
MEMORY_WORDS = (
    "OutOfMemoryError",
    "can't allocate memory",
    "can't start new thread",
    "bad_alloc",
    "return without exception set",
)


class AttemptOutcome:
    """Turns the way the block ended into the last state of the attempt: the one place where every error is met."""

    state, message = "finished", ""

    def __enter__(self) -> AttemptOutcome:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is not None:
            self.state = "cancelled" if isinstance(error, Cancelled) else "failed"
            self.message = explain_error(error)
            logger.info("%s: %s", self.state, self.message)
            if not isinstance(error, XcworkError):
                logger.error("the traceback", exc_info=error)
        return True


def explain_error(error: BaseException) -> str:
    """Return what happened, for a user."""
    if isinstance(error, XcworkError):
        return str(error)
    if isinstance(error, MemoryError) or any(words in f"{type(error).__name__} {error}" for words in MEMORY_WORDS):
        return f"there was not enough memory ({error}); use a smaller dataset, smaller parameters or a bigger machine"
    if isinstance(error, OSError):
        return f"{error}; check the disk space and the permissions of the files"
    last = traceback.format_exception_only(error)[-1].strip()
    return f"unexpected error, see log.txt: {last}"
