"""Python imports this file at start-up when its folder is on PYTHONPATH.

Worker processes then know the method of the tests, and die where XCWORK_TEST_KILL ("number fragment") says.
"""

import os

from kills import kill_before

from xcwork.methods import registry

registry.METHODS["gated"] = "gated:Gated"
if "XCWORK_TEST_KILL" in os.environ:
    number, fragment = os.environ["XCWORK_TEST_KILL"].split()
    kill_before(int(number), fragment)
