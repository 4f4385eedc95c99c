"""SIGKILL for this process right before one of its changes to files, chosen by number: a crash that can be repeated."""

from __future__ import annotations

import os
import signal
import sys
from itertools import count

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate"}


def kill_before(number: int, fragment: str) -> None:
    """Die before the `number`-th change to a file whose path contains `fragment`."""
    numbers = count(1)

    def watch(event: str, arguments: tuple) -> None:
        if changes_file(event, arguments) and fragment in str(arguments[0]) and next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def changes_file(event: str, arguments: tuple) -> bool:
    if event == "open":
        _, mode, flags = arguments
        return any(sign in (mode or "") for sign in "wax+") or bool((flags or 0) & (os.O_WRONLY | os.O_RDWR))
    # Removing what is not there changes nothing: xcwork does so after every successful renaming.
    return event in CHANGES and (event != "os.remove" or os.path.lexists(arguments[0]))
