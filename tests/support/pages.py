"""Pages under test: what fixtures give, text that must stay text, reading and clicking tables."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
from streamlit.testing.v1 import AppTest

from xcwork.runs import Run

HOSTILE = "<script>alert(1)</script>"
FORMULA = "=cmd()"
Open = Callable[..., AppTest]
Train = Callable[..., Run]


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
