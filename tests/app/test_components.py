"""The components: what they send to the browser, and what becomes of what it says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest
from xcwork_app import tokens
from xcwork_app.components import label_list
from xcwork_app.components.label_list import LabelRow, split_path
from xcwork_app.components.marked_text import STRENGTHS, TextMark, grade_contribution, split_text

from tests.support.pages import read_component, send_event
from tests.support.paths import ROOT
from xcwork.export.palette import DARK, LIGHT

FOLDER = Path(label_list.__file__).parent
PAGE = ROOT / "tests" / "support" / "component_page.py"


@pytest.fixture
def page() -> AppTest:
    opened = AppTest.from_file(str(PAGE), default_timeout=300).run()
    assert not opened.exception
    return opened


def list_said(page: AppTest) -> list[str]:
    return [each.value for each in page.text]


@pytest.mark.parametrize(("key", "value"), [("labels", "b"), ("runs", "run 20"), ("text", "depth")])
def test_a_choice_reaches_the_page_before_it_is_drawn(page: AppTest, key: str, value: str) -> None:
    send_event(page, key, value)
    assert f"{key}: {value}" in list_said(page)
    given = read_component(page, key)
    assert given["chosen" if key == "text" else "selected"] == value


def test_the_button_below_the_rows_calls_back(page: AppTest) -> None:
    send_event(page, "labels", "more", event="more")
    assert "more: yes" in list_said(page)
    assert "labels:" in list_said(page)


@pytest.mark.parametrize("value", [None, 7, ["b"], {"id": "b"}, "x" * 100_000])
def test_what_is_no_text_of_reasonable_length_is_ignored(page: AppTest, value: object) -> None:
    send_event(page, "labels", value)
    assert "labels:" in list_said(page)


def test_rows_say_all_that_they_show(page: AppTest) -> None:
    given = read_component(page, "labels")
    rows = [row for group in given["groups"] for row in group["rows"]]
    assert next((row["path"], row["name"]) for row in rows) == ("networkx.algorithms.", "dfs_tree")
    assert [row["value"] for row in rows] == ["86 %", "74 %", "50 %", "rank 6"]
    assert given["signs"]["wrong"] == {"sign": "✗", "word": "not annotated"}
    assert rows[1]["name"].startswith("<script>"), "text goes over as it is, and is set as text"
    marks = [row["mark"]["shape"] for row in read_component(page, "runs")["groups"][0]["rows"]]
    assert marks == ["disc"] * 7 + ["ring"] * 7 + ["square"] * 7


def script_with_many_rows() -> None:
    from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list

    rows = [LabelRow(str(at), f"label {at}") for at in range(1500)]
    show_label_list([LabelGroup(rows[:600]), LabelGroup(rows[600:1400]), LabelGroup(rows[1400:])], key="l", label="L")
    show_label_list([], key="none", label="Nothing", empty="No label fits.")


def test_long_lists_are_cut_for_the_browser_and_say_so() -> None:
    page = AppTest.from_function(script_with_many_rows, default_timeout=300).run()
    assert not page.exception
    given = read_component(page, "l")
    assert [len(group["rows"]) for group in given["groups"]] == [600, 400]
    assert given["rest"] == "The first 1,000 of 1,500 rows."
    assert read_component(page, "none")["empty"] == "No label fits."


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("networkx.algorithms.dfs_tree", ("networkx.algorithms.", "dfs_tree")),
        ("dfs_tree", ("", "dfs_tree")),
        ("e.g. a sentence.", ("", "e.g. a sentence.")),
        ("ends.with.", ("", "ends.with.")),
        ("...", ("", "...")),
        ("", ("", "")),
    ],
)
def test_a_path_is_split_off_dotted_names_alone(label: str, parts: tuple[str, str]) -> None:
    assert split_path(label) == parts
    assert LabelRow.from_label("1", label).name == parts[1]


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70), st.sampled_from([*STRENGTHS, "other"])), max_size=8),
)
def test_the_parts_of_a_text_are_the_text(text: str, places: list[tuple[int, int, str]]) -> None:
    marks = [TextMark(max(start, 0), end, strength, word="w") for start, end, strength in places]
    parts = split_text(text, marks)
    assert "".join(part["text"] for part in parts) == text
    assert all(part["text"] for part in parts)
    at = 0
    for part in parts:
        if part["strength"]:
            inside = range(at, at + len(part["text"]))
            assert any(mark.start <= inside[0] and inside[-1] < mark.end for mark in marks)
        at += len(part["text"])


def test_a_mark_returns_the_marked_text_unless_it_has_a_word() -> None:
    parts = split_text("😀 Nodes of nodes", [TextMark(2, 7, "strong"), TextMark(11, 16, "against", word="node")])
    assert [(part["text"], part.get("word")) for part in parts] == [
        ("😀 ", None),
        ("Nodes", "Nodes"),
        (" of ", None),
        ("nodes", "node"),
    ]


def test_contributions_are_graded_by_the_largest() -> None:
    assert [grade_contribution(value, 0.9) for value in (0.9, 0.6, 0.5, 0.3, 0.1, 0.0, -0.1)] == [
        "strong",
        "strong",
        "medium",
        "medium",
        "weak",
        "weak",
        "against",
    ]
    assert grade_contribution(0.0, 0.0) == "weak"


@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.css")))
def test_components_are_short_and_never_make_html_of_text(name: str) -> None:
    script = (FOLDER / "frame.js").read_text() + (FOLDER / f"{name}.js").read_text()
    assert len(script.splitlines()) < 300
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("):
        assert way not in script
    assert "#" not in "".join(part for part in (FOLDER / f"{name}.css").read_text().split("*/")[1:]), "colours are data"


def test_colours_have_a_light_and_a_dark_side() -> None:
    assert tokens.COLOURS["text"] == "light-dark(#17202A, #E8EDF2)"
    assert tokens.COLOURS["right_ground"] == "light-dark(#E2F3EC, #11352A)"
    assert tokens.COLOURS["runs_6"] == "light-dark(#1C2440, #F2F5F8)"
    json.dumps(tokens.COLOURS)


@pytest.mark.parametrize("number", [0, 7, 14, 20, 21])
def test_the_mark_of_a_run_has_its_colour_and_shape(number: int) -> None:
    mark, look = tokens.make_mark(number), tokens.get_look(number)
    assert look.colour in mark
    assert f'data-mark="{look.mark}"' in mark
    assert ("background:transparent" in mark) == (look.mark == "ring")


def test_the_theme_has_the_colours_of_the_palette() -> None:
    theme = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text())["theme"]
    for name, palette in (("light", LIGHT), ("dark", DARK)):
        given = theme[name]
        assert given["chartCategoricalColors"] == list(palette.runs)
        expected = {
            "primaryColor": palette.primary.ground,
            "backgroundColor": palette.background,
            "secondaryBackgroundColor": palette.second,
            "textColor": palette.text,
            "borderColor": palette.line,
            "greenTextColor": palette.right.ink,
            "greenBackgroundColor": palette.right.ground,
            "redTextColor": palette.wrong.ink,
            "violetTextColor": palette.missed.ink,
            "yellowTextColor": palette.warning.ink,
            "grayTextColor": palette.muted,
        }
        assert {key: given[key] for key in expected} == expected
