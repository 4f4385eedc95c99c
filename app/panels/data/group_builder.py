"""The group builder: what a dataset looks like when labels are known for groups of documents only."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.panels.data.staging import show_source
from xcwork_app.sources import Source

KINDS = {"data": "as in the data", "random": "at random", "clusters": "similar documents", "names": "by name"}
LEVELS = ("class", "module", "package")


def show(source: Source) -> None:
    """Choose how to group, see what it does, use it."""
    widgets.show_section("Labels known only for groups")
    kind = st.segmented_control(
        "Group training documents",
        list(KINDS),
        default="data",
        required=True,
        format_func=KINDS.__getitem__,
        key="data.groups",
        persist_state="session",
        help="Some data have labels for groups of documents only: all images of an album, all functions of a module.",
    )
    recipe = "" if kind == "data" else _choose_recipe(kind)
    plain_options = {name: value for name, value in source.options if name != "groups"}
    wanted = Source.from_data(source.data, plain_options | ({"groups": recipe} if recipe else {}))
    facts = _compute_facts(source if kind == "data" else wanted, source.make_stamp())
    if facts is None:
        st.caption("This dataset has no groups of its own. Choose another way to see what aggregation does.")
    else:
        _show_facts(facts)
    if wanted != source and (recipe or "groups" in dict(source.options)):
        label = "Use these groups" if recipe else "Use without these groups"
        if st.button(label, key="data.groups.use", icon=":material/group_work:"):
            show_source(wanted)


def _choose_recipe(kind: str) -> str:
    first, second, third = st.columns(3)
    with first:
        settings: dict[str, Any] = {}
        if kind == "random":
            settings["size"] = st.slider("Members of a group", 2, 50, 10, key="data.groups.size")
        elif kind == "clusters":
            settings["depth"] = st.slider(
                "Depth",
                1,
                12,
                7,
                key="data.groups.depth",
                help="There are 2 to this power groups, all of about equal size.",
            )
        else:
            settings["level"] = st.selectbox("Level", LEVELS, key="data.groups.level")
    if kind == "clusters":
        with second:
            settings["noise"] = st.slider(
                "Heterogeneity",
                0.0,
                3.0,
                0.0,
                0.25,
                key="data.groups.noise",
                help="Noise added before clustering: 0 gives the most similar members, 3 nearly random ones.",
            )
    with third:
        if st.toggle(
            "Write labels to all members",
            key="data.groups.aggregate",
            help="Hide which member has which label from methods that cannot use groups.",
        ):
            settings["aggregate"] = "true"
    return f"{kind}:" + ",".join(f"{name}={value}" for name, value in settings.items())


@st.cache_data(max_entries=50, show_spinner="Grouping documents.")
def _compute_facts(source: Source, stamp: str) -> dict[str, float] | None:
    from xcwork.data.group_recipes import measure_groups, regroup_dataset

    recipe = dict(source.options).get("groups")
    base = Source(source.data, tuple(pair for pair in source.options if pair[0] != "groups"))
    split = caches.get_dataset(base).train
    if recipe is not None:
        split = regroup_dataset(caches.get_dataset(base), recipe.replace(",aggregate=true", "")).train
    return None if split.groups is None else asdict(measure_groups(split))


def _show_facts(facts: dict[str, float]) -> None:
    shown = (
        ("Groups", f"{facts['groups']:,}", None),
        ("Documents per group", f"{facts['members']:.1f}", None),
        ("Labels per group", f"{facts['labels']:.1f}", None),
        (
            "Labels too many",
            f"{facts['dilution']:.1f} ×",
            "Labels a document seems to have, for each one it really has.",
        ),
    )
    widgets.show_metrics(shown)
    st.caption("Aggregation keeps the labels of a group and forgets which member has which.")
