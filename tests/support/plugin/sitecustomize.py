"""Python imports this file at start-up when its folder is on PYTHONPATH.

Worker processes then know the method of the tests, die where XCWORK_TEST_KILL ("number fragment") says, and wait after
their first answers at the gate XCWORK_TEST_PAUSE, a folder.
"""

import os
from pathlib import Path

from kills import kill_before
from pauses import pause_after_answers

from xcwork.methods import registry

registry.METHODS["gated"] = "gated:Gated"
if "XCWORK_TEST_KILL" in os.environ:
    number, fragment = os.environ["XCWORK_TEST_KILL"].split()
    kill_before(int(number), fragment)
if "XCWORK_TEST_PAUSE" in os.environ:
    pause_after_answers(Path(os.environ["XCWORK_TEST_PAUSE"]))
