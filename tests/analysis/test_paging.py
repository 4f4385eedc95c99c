"""Pages of large tables: what is found, in which order, and how much there is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.analysis.paging import MAX_ROWS_PER_PAGE, filter_rows, find_labels, look_up_names, shorten_text, take_page
from xcwork.core.labels import LabelSpace
from xcwork.errors import ConfigError

TABLE = pd.DataFrame(
    {"label": ["Apple pie", "banana", "crab apple", None], "band": ["head", "tail", "tail", "head"], "n": [4, 3, 2, 1]}
)


def test_search_looks_at_text_whatever_the_case():
    assert take_page(TABLE, search=" APPLE ").rows["n"].tolist() == [4, 2]
    assert take_page(TABLE, search="apple", within=["band"]).total == 0
    assert take_page(TABLE, search="tail").rows["n"].tolist() == [3, 2]


def test_filters_sorting_and_the_caption():
    page = take_page(TABLE, where={"band": ["tail"]}, sort="n", size=1, start=1)
    assert (page.rows["n"].tolist(), page.total, page.caption) == ([3], 2, "rows 2 to 2 of 2")
    assert take_page(TABLE, sort="n", descending=True).rows["n"].tolist() == [4, 3, 2, 1]
    assert take_page(TABLE, search="nowhere").caption == "no rows"
    assert len(filter_rows(TABLE, where={"band": []})) == 0


@given(st.integers(0, 30), st.integers(-5, 60), st.integers(1, 12))
def test_a_page_never_lies_behind_the_end(rows, start, size):
    page = take_page(pd.DataFrame({"n": range(rows)}), start=start, size=size)
    assert page.total == rows
    assert (len(page.rows) > 0) == (rows > 0)
    assert page.rows["n"].tolist() == list(range(page.start, min(page.start + size, rows)))


@pytest.mark.parametrize("size", [0, MAX_ROWS_PER_PAGE + 1])
def test_a_page_is_never_too_large(size):
    with pytest.raises(ConfigError, match="1 to 1000 rows"):
        take_page(TABLE, size=size)


def test_labels_are_found_best_match_first():
    labels = LabelSpace(["pineapple", "Apple", "apple pie", "pear"])
    assert find_labels(labels, "apple") == [1, 2, 0]
    assert find_labels(labels, "apple", limit=1) == [1]
    assert find_labels(labels, "  ") == []
    assert look_up_names(labels, np.array([3, -1])) == ["pear", None]


def test_a_snippet_is_one_short_line():
    assert shorten_text("a\n b\t c") == "a b c"
    assert shorten_text("word " * 100, 10) == "word word…"
