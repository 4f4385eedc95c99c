"""A page with nothing but the components and what they said last, for a real browser."""

import streamlit as st
from xcwork_app.components.copy_link import show_copy_link
from xcwork_app.components.label_list import LabelGroup, LabelRow, show_label_list
from xcwork_app.components.marked_text import TextMark, show_marked_text

SCRIPT = "<script>window.hit = 1</script><img src=x onerror='window.hit=1'>"
LONG = "x" * 300
TEXT = f"😀 depth first search {SCRIPT} 深さ of the graph\nand a second line"


def mark(word: str, strength: str) -> TextMark:
    start = TEXT.index(word)
    return TextMark(start, start + len(word), strength, title="+0.53")


def remember(name: str):
    def take(value: str) -> None:
        st.session_state[f"said.{name}"] = value

    return take


def said(name: str) -> str:
    return st.session_state.get(f"said.{name}", "")


rows = [
    LabelRow.from_label("a", "networkx.algorithms.dfs_tree", sign="right", share=0.86),
    LabelRow("b", SCRIPT, sign="wrong", share=0.74, note="unseen label"),
    LabelRow("c", LONG, sign="missed", share=0.5),
    LabelRow("d", "emoji 😀 and *bold* _text_", sign="unsure", value="rank 6", below="for networkx.graph"),
]
if "fits" in st.query_params:  # two of them down to the lower edge of the window, and nothing else
    one, other = st.columns(2)
    with one:
        show_label_list([LabelGroup(rows)], key="fits.labels", label="Labels", height="window", has_border=True)
    with other:
        show_marked_text(TEXT * 50, key="fits.text", height="window", has_border=True)
    st.stop()
left, right = st.columns(2)
with left, st.container(border=True, height=400):
    show_label_list(
        [LabelGroup(rows[:2], "Assign", "80 % or more"), LabelGroup(rows[2:], "Suggest")],
        key="labels",
        label="Labels",
        selected=said("labels"),
        on_choose=remember("labels"),
        more="Show the next 20 labels",
        on_more=lambda: remember("more")("yes"),
        has_legend=True,
        height="stretch",
    )
with right:
    show_label_list(
        [LabelGroup([LabelRow(f"run {at}", f"run {at}", run=at, share=at / 30) for at in range(21)])],
        key="runs",
        label="Runs",
        selected=said("runs"),
        lights=True,
        foot="Nobody has looked at this.",
        foot_action="Look at it",
        on_foot=lambda: remember("foot")("yes"),
        on_choose=remember("runs"),
        choose_on_move=True,
        height=200,
    )
    show_marked_text(
        TEXT,
        [mark("depth", "strong"), mark("search", "medium"), mark("深さ", "weak"), mark("graph", "against")],
        key="text",
        chosen=said("text"),
        on_choose=remember("text"),
        height=180,
    )
    show_copy_link(key="copy")
for name in ("labels", "runs", "more", "foot", "text"):
    st.text(f"{name}: {said(name)}")
