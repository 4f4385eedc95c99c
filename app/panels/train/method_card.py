"""Methods to choose from: what each is, where it comes from and what it can do."""

from __future__ import annotations

import inspect

import streamlit as st
from xcwork_app import state, widgets

from xcwork.methods.base import Capabilities, Method
from xcwork.methods.registry import method_class, usable_methods

FIRST = "zestxml"
ABILITIES = {
    "zero_shot": ("Zero-shot", "Predicts labels that no training document has, from their text."),
    "exact_explanations": ("Exact explanations", "The parts of an explanation add up to the score."),
    "aggregated_labels": ("Aggregated labels", "Learns from labels that are known for groups of documents only."),
    "resumable": ("Resumes", "A cancelled or lost run resumes from its checkpoint."),
    "gpu": ("GPU", "Uses an accelerator where there is one."),
    "needs_label_text": ("Needs label text", "The labels of the dataset must have texts or features of their own."),
}


def choose() -> str:
    """Return the method to train, by the name that commands use; the choice is part of the address.

    Only the chosen method is imported: some bring large libraries with them.
    """
    names = usable_methods()
    usual = FIRST if FIRST in names else names[0]
    st.session_state["train.method"] = state.pick_option("method", names, usual, usual)
    chosen = st.pills(
        "Method",
        names,
        key="train.method",
        required=True,
        wrap=True,
        on_change=lambda: state.update(method=st.session_state["train.method"]),
    )
    return chosen or usual


def show(name: str) -> None:
    """Show the card of one method."""
    cls = method_class(name)
    with st.container(border=True):
        st.markdown(f"**{widgets.plain(cls.title or name)}**  \n{widgets.plain(get_idea(cls))}")
        with st.container(horizontal=True, gap="small"):
            for ability, (short, meaning) in ABILITIES.items():
                if getattr(cls.capabilities, ability):
                    warns = ability == "needs_label_text"
                    st.badge(short, help=meaning, color="orange" if warns else "blue")
        if cls.paper:
            st.caption(widgets.plain(cls.paper))
        with st.expander("How it works"):
            st.text(inspect.getdoc(inspect.getmodule(cls)) or "")
        everything = st.expander("All methods", key="train.all_methods", on_change="rerun")
        if everything.open:
            with everything:
                _show_all()


def get_idea(cls: type[Method]) -> str:
    """Return what the method is, in a sentence."""
    return (inspect.getdoc(cls) or "").split("\n")[0]


def _show_all() -> None:
    import pandas as pd

    rows = [_make_row(name, method_class(name)) for name in usable_methods()]
    widgets.show_table(
        pd.DataFrame(rows), key="train.methods", name="methods", alt=f"{len(rows)} methods and what they can do"
    )


def _make_row(name: str, cls: type[Method]) -> dict[str, str]:
    can: Capabilities = cls.capabilities
    return {
        "method": name,
        "idea": get_idea(cls),
        "zero-shot": _yes(can.zero_shot),
        "explains": "exactly" if can.exact_explanations else "approximately",
        "resumes": _yes(can.resumable),
        "aggregated labels": _yes(can.aggregated_labels),
        "GPU": _yes(can.gpu),
        "paper": cls.paper or "–",
    }


def _yes(able: bool) -> str:
    return "yes" if able else "–"
