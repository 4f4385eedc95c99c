"""Pages under test: what fixtures give, text that must stay text, reading and clicking tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import pandas as pd
import pytest
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest, app_test, local_script_runner
from streamlit.testing.v1.element_tree import Selectbox

from xcwork.runs import Run

HOSTILE = "<script>alert(1)</script>"
FORMULA = "=cmd()"
Open = Callable[..., AppTest]
Train = Callable[..., Run]


@contextmanager
def prepare_pages_once() -> Iterator[None]:
    """Let Streamlit do once what it would do for every page that is opened, or as our server does it.

    It looks for components in the installed packages and compiles scripts; it does not count what they call.
    """
    compiled = ScriptCache()
    counts = config.get_option("browser.gatherUsageStats")
    with pytest.MonkeyPatch.context() as patch:
        found_once = cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found_once)
        for module in (app_test, local_script_runner):
            patch.setattr(module, "ScriptCache", lambda: compiled)
        config.set_option("browser.gatherUsageStats", False)
        yield
        config.set_option("browser.gatherUsageStats", counts)


def table(page: AppTest, *columns: str) -> pd.DataFrame:
    """The first table with these columns."""
    return next(each.value for each in page.dataframe if set(columns) <= set(each.value.columns))


def choose_row(page: AppTest, key: str, row: int) -> AppTest:
    """Click a row of the table with this key, or of a table of pages, whose key goes on with a number."""
    wanted = re.compile(rf"-({re.escape(key)}(\.-?\d+)?)$")
    found = next(match[1] for each in page.dataframe if (match := wanted.search(each.proto.id)))
    page.session_state[found] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    page.run()
    assert not page.exception
    return page


def go_back(page: AppTest, address: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """Let the browser return to an address, as Back and Forward do."""
    page.query_params.clear()
    page.query_params.update(address)
    with monkeypatch.context() as patch:
        patch.setattr(local_script_runner, "RerunData", partial(RerunData, is_history_navigation=True))
        page.run()
    assert not page.exception
    return page


def find_box(page: AppTest, name: str) -> Selectbox:
    """Return a select box of the side bar; a number follows its name once something else changed what it shows."""
    wanted = re.compile(rf"{re.escape(name)}(\.\d+)?")
    return next(box for box in page.selectbox if wanted.fullmatch(box.key or ""))


def read_component(page: AppTest, key: str) -> dict[str, Any]:
    """What the component with this key was given to show."""
    return json.loads(_find_component(page, key).proto.json)


def send_event(page: AppTest, key: str, value: object, event: str = "chosen") -> AppTest:
    """Let the component with this key say that something was chosen, as a browser would."""
    states = page._tree.get_widget_states()
    said = states.widgets.add()
    said.id = f"$$STREAMLIT_INTERNAL_KEY_{_find_component(page, key).proto.id}__events"
    said.json_trigger_value = json.dumps([{"event": event, "value": value}])
    page._run(states)
    assert not page.exception
    return page


def _find_component(page: AppTest, key: str) -> Any:
    return next(each for each in page.get("bidi_component") if each.proto.id.endswith(f"-{key}"))
