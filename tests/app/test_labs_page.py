"""The labs page: every lab answers, follows its settings, and says so when it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.slow

SMALL = "synthetic:n_documents=80,n_labels=20,n_topics=3,labels_per_document=2"


def lab(open_page, name: str, data: str = SMALL) -> AppTest:
    page = open_page("labs", data=data)
    return page.segmented_control(key="labs.lab").set_value(name).run()


def said(page: AppTest) -> str:
    return " ".join(each.value for each in (*page.markdown, *page.caption, *page.error)).replace("\\", "")


def test_groups_are_learned_from_and_settings_matter(open_page) -> None:
    page = open_page("labs", data=SMALL)
    assert len(page.get("plotly_chart")) == 2
    before = page.dataframe[0].value
    assert list(before.iloc[:, 0]) == ["oracle", "baseline", "EAGLE-0", "EAGLE", "EAGLE, centred"]
    page.select_slider(key="labs.size").set_value(32).run()
    after = page.dataframe[0].value
    assert not page.exception
    assert after["P@1"].iloc[0] == before["P@1"].iloc[0]  # the oracle does not see the groups
    assert after["P@1"].iloc[1] != before["P@1"].iloc[1]


def test_codes_follow_the_lengths_of_the_heads(open_page) -> None:
    page = lab(open_page, "codes")
    page.number_input(key="labs.n").set_value(100).run()
    page.text_input(key="labs.heads.100").set_value("4,5,5").run()
    codes = next(each.value for each in page.dataframe if "head 3" in each.value)
    digits = codes[["head 1", "head 2", "head 3"]].to_numpy()
    assert (digits @ [25, 5, 1] == codes["label"]).all()
    assert page.metric[0].value == "14"


@pytest.mark.parametrize("heads", ["3,3", "1,100", "many"])
def test_heads_that_cannot_work_are_a_sentence(open_page, heads: str) -> None:
    page = lab(open_page, "codes")
    page.number_input(key="labs.n").set_value(100).run()
    page.text_input(key="labs.heads.100").set_value(heads).run()
    assert not page.exception
    assert page.error


def test_the_regret_stays_below_its_bound(open_page) -> None:
    page = lab(open_page, "regret")
    frame = next(each.value for each in page.dataframe if "mean_bound" in each.value)
    assert (frame["largest_regret"] <= frame["mean_bound"].max()).all()
    assert (frame["broken"] == 0).all()


def test_without_label_texts_the_regret_lab_says_so(open_page, home: Path) -> None:
    (home / "data" / "plain.txt").write_text("3 2 2\n0 0:1\n1 1:1\n0,1 0:1 1:1\n")
    page = lab(open_page, "regret", data="plain.txt")
    assert not page.exception
    assert "no text" in said(page)


def test_a_narrow_layer_and_its_limits(open_page) -> None:
    page = lab(open_page, "rank")
    assert len(page.get("plotly_chart")) == 2
    frame = next(each.value for each in page.dataframe if "series" in each.value)
    last = frame.groupby("series")["mean"].last()
    assert last["cross-entropy"] > last["squared error"]
    assert "percent of them right" in said(page)
