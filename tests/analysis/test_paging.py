"""What is typed finds rows and labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from xcwork.analysis.paging import filter_rows, find_labels, look_up_names, shorten_text
from xcwork.core.labels import LabelSpace

TABLE = pd.DataFrame(
    {"label": ["Apple pie", "banana", "crab apple", None], "band": ["head", "tail", "tail", "head"], "n": [4, 3, 2, 1]}
)


def test_search_looks_at_text_whatever_the_case():
    assert filter_rows(TABLE, search=" APPLE ")["n"].tolist() == [4, 2]
    assert len(filter_rows(TABLE, search="apple", within=["band"])) == 0
    assert filter_rows(TABLE, search="tail")["n"].tolist() == [3, 2]
    assert len(filter_rows(TABLE, search=" ")) == 4
    assert len(filter_rows(TABLE, search="nowhere")) == 0


def test_labels_are_found_best_match_first():
    labels = LabelSpace(["pineapple", "Apple", "apple pie", "pear"])
    assert find_labels(labels, "apple") == [1, 2, 0]
    assert find_labels(labels, "apple", limit=1) == [1]
    assert find_labels(labels, "  ") == []
    assert look_up_names(labels, np.array([3, -1])) == ["pear", None]


def test_a_snippet_is_one_short_line():
    assert shorten_text("a\n b\t c") == "a b c"
    assert shorten_text("word " * 100, 10) == "word word…"
