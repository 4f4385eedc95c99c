"""The labs page: every lab has one chart and one sentence, follows its settings, and asks for a prediction first."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from xcwork_app.panels.labs import bounds, codes, groups, theorems
from xcwork_app.panels.labs.lab import Lab

pytestmark = pytest.mark.slow

LABS: dict[str, Lab] = groups.LABS | codes.LABS | theorems.LABS | bounds.LABS
SMALL = "synthetic:n_documents=80,n_labels=20,n_topics=3,labels_per_document=2"


@pytest.fixture(scope="module")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labs")
    (folder / "data").mkdir()
    st.cache_data.clear()
    st.cache_resource.clear()
    return folder


@pytest.fixture(autouse=True)
def home(lab_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One home for all labs, with caches that stay: an experiment with the same settings is done once."""
    monkeypatch.setenv("XCWORK_HOME", str(lab_home))
    return lab_home


def get_sentence(page: AppTest) -> str:
    """What the chart says now: the text that names a theorem."""
    return next(each.value for each in page.markdown if "heorem" in each.value and not each.value.startswith("**"))


@pytest.mark.parametrize("name", LABS)
def test_a_lab_has_a_claim_one_chart_and_a_sentence_with_its_theorem(open_page, name: str) -> None:
    page = open_page("labs", data=SMALL, section=name)
    assert not page.error
    assert f"**{LABS[name].claim}**" in [each.value for each in page.markdown]
    assert len(page.get("plotly_chart")) == 1
    assert len(page.dataframe) == 1, "the numbers of the chart, in its menu"
    assert get_sentence(page)


@pytest.mark.parametrize("name", LABS)
def test_a_prediction_is_revealed_by_its_settings(open_page, name: str) -> None:
    page = open_page("labs", data=SMALL, section=name)
    assert page.button(key="labs.reveal").disabled
    prediction = LABS[name].prediction
    before = get_sentence(page)
    page.radio(key=f"labs.{name}.prediction").set_value(prediction.answers[0]).run()
    assert not page.success
    assert not page.warning
    page.button(key="labs.reveal").click().run()
    assert not page.exception
    assert len(page.success) + len(page.warning) == 1
    for key, value in prediction.settings.items():
        assert page.session_state[key] == value
    assert get_sentence(page) != before
    right = next(each for each in prediction.answers if each == said_right(page, prediction.answers))
    page.radio(key=f"labs.{name}.prediction").set_value(right).run()
    assert bool(page.success) == (right == prediction.answers[0]), "another answer is revealed by itself"
    page.button(key="labs.reveal").click().run()
    assert [each.value for each in page.success] == ["Right."]


def said_right(page: AppTest, answers: tuple[str, ...]) -> str:
    """The answer that the page calls right, after the first was revealed."""
    if page.success:
        return answers[0]
    return next(each for each in answers if page.warning[0].value.lower() == f"no: {each}.".lower())


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("groups", "labs.size", 32),
        ("groups", "labs.noise", 0.0),
        ("assignment", "labs.members", 3),
        ("assignment", "labs.sigma_e", 0.2),
        ("codes", "labs.n", 1000),
        ("codes", "labs.n_heads", 3),
        ("codes", "labs.heads", "5,5"),
        ("codes", "labs.label", 7),
        ("order", "labs.order", "At random"),
        ("regret", "labs.epsilon", 0.3),
        ("regret", "labs.pairs", 5),
        ("rank", "labs.units", 6),
        ("rank", "labs.bias", False),
        ("quadrants", "labs.direction", 90),
        ("limits", "labs.own_groups", False),
        ("chain", "labs.chance", 0.25),
        ("movement", "labs.module", "Classifiers"),
        ("minima", "labs.minima", 2),
        ("softmax", "labs.off", 0.1),
    ],
)
def test_every_setting_changes_the_sentence_and_is_in_the_address(
    open_page, name: str, key: str, value: object
) -> None:
    page = open_page("labs", data=SMALL, section=name)
    before = get_sentence(page)
    kinds = (page.slider, page.select_slider, page.number_input, page.text_input, page.toggle, page.segmented_control)
    kinds += (page.radio,)
    next(each for kind in kinds for each in kind if each.key == key).set_value(value).run()
    assert get_sentence(page) != before
    again = open_page("labs", data=SMALL, section=name, **{key: str(value)})
    assert get_sentence(again) == get_sentence(page)
    assert not again.warning


def test_learning_from_groups_leaves_the_oracle_alone(open_page) -> None:
    page = open_page("labs", data=SMALL)
    before = page.dataframe[0].value
    assert list(before.iloc[:, 0]) == ["oracle", "baseline", "EAGLE-0", "EAGLE", "EAGLE, centred"]
    page.select_slider(key="labs.size").set_value(32).run()
    after = page.dataframe[0].value
    assert after["P@1"].iloc[0] == before["P@1"].iloc[0]
    assert after["P@1"].iloc[1] != before["P@1"].iloc[1]


def test_codes_follow_the_lengths_of_the_heads(open_page) -> None:
    page = open_page(
        "labs", data=SMALL, section="codes", **{"labs.n": "100", "labs.heads": "4,5,5", "labs.label": "38"}
    )
    assert "**14 outputs**" in get_sentence(page)
    assert "**1, 2, 3**" in get_sentence(page), "38 = 1 * 25 + 2 * 5 + 3"


@pytest.mark.parametrize("heads", ["3,3", "1,100", "many"])
def test_heads_that_cannot_work_are_a_sentence(open_page, heads: str) -> None:
    page = open_page("labs", data=SMALL, section="codes", **{"labs.n": "100", "labs.heads": heads})
    assert page.error


def test_the_regret_stays_below_its_bound(open_page) -> None:
    page = open_page("labs", data=SMALL, section="regret")
    curves = page.dataframe[0].value.pivot(index="x", columns="series", values="mean")
    assert (curves["mean regret"] <= curves["bound of the theorem"]).all()
    assert "no document exceeds it" in get_sentence(page)


def test_without_label_texts_the_regret_lab_says_so(open_page, home: Path) -> None:
    (home / "data" / "plain.txt").write_text("3 2 2\n0 0:1\n1 1:1\n0,1 0:1 1:1\n")
    page = open_page("labs", data="plain.txt", section="regret")
    assert "no text" in " ".join(each.value for each in page.markdown)


def test_cross_entropy_passes_a_narrow_layer(open_page) -> None:
    page = open_page("labs", data=SMALL, section="rank")
    last = page.dataframe[0].value.groupby("series")["mean"].last()
    assert last["cross-entropy"] > last["squared error"]
