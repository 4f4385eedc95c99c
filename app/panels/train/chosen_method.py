"""The chosen method: what it can do, what it will cost, its settings, a name for the run, and the button."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import tokens, widgets
from xcwork_app.panels.train import launcher, settings_drawer
from xcwork_app.sources import Source
from xcwork_app.views import run_progress, training_plan

from xcwork.advice.guide import MethodNote, get_note
from xcwork.compute.cores import count_cores
from xcwork.compute.device import describe_device_without_torch
from xcwork.compute.memory import measure_available_memory
from xcwork.methods.registry import find_method_class
from xcwork.runs.estimates import Estimate, estimate_cost

if TYPE_CHECKING:
    from xcwork.advice.traits import DatasetTraits
    from xcwork.methods.base import Method

ABILITIES = {
    "zero_shot": ("finds unseen labels", "Predicts labels that no training document has, from their texts."),
    "exact_explanations": ("exact reasons", "The parts of an explanation add up to the score."),
    "resumable": ("can be resumed", "A cancelled or stopped run resumes from its checkpoint."),
    "aggregated_labels": ("learns from groups", "Learns from labels that are known for groups of documents only."),
}
MAX_MEMORY_SHARE = 0.8  # of what is free, above which there is a warning


def show_chosen(method: str, source: Source, obstacle: str) -> list[str]:
    """Show the card of the chosen method; return the command that does what its button does."""
    cls, note = find_method_class(method), get_note(method)
    _show_title(cls, note, method)
    cost_place = st.container(key="train_cost")
    traits = training_plan.get_traits(source)
    preset, start = settings_drawer.choose_preset(method, source, traits.n_labels)
    params = settings_drawer.read_params(method, preset, start)
    sizes = {name: getattr(traits, name) for name in ("n_train", "n_labels", "n_features")}
    known, load = training_plan.list_measurements(), training_plan.measure_other_load()
    cost = estimate_cost(method, params, **sizes, known=known, other_load=load)
    with cost_place:
        _show_cost(cost, describe_place(cls, params, traits))
    name = _ask_name(method, source)
    is_too_long = widgets.warn_if_too_long(name, launcher.MAX_NAME_CHARACTERS, "name")
    if obstacle:
        st.warning(f"{obstacle} Add a labels file, or choose another method.", icon=":material/warning:")
    _warn_about_memory(cost)
    st.button(
        "Train",
        type="primary",
        key="train.start",
        disabled=bool(obstacle) or is_too_long,
        width="stretch",
        on_click=launcher.start_run,
        args=(method, params, source, name),
    )
    settings_drawer.offer_settings(method, preset, start)
    launcher.show_note()
    return launcher.build_command(method, params, source, name)


def _show_title(cls: type[Method], note: MethodNote, method: str) -> None:
    with st.container(key="train_title", horizontal=True, vertical_alignment="center"):
        st.html(f'<div class="train-name">{html.escape(note.title)}</div>', width="stretch")
        with st.popover("How it works", key="train.how", type="tertiary", width="content"):
            show_how(cls, note, method)
    if cls.paper:
        st.caption(widgets.escape_text(shorten_paper(cls.paper)))
    can = [(words, meaning) for name, (words, meaning) in ABILITIES.items() if getattr(cls.capabilities, name)]
    tags = "".join(f'<span title="{html.escape(meaning)}">{html.escape(words)}</span>' for words, meaning in can)
    if tags:
        st.html(f'<div class="train-tags">{tags}</div>')


def show_how(cls: type[Method], note: MethodNote, method: str) -> None:
    """Show how a method works: a picture of three boxes, three sentences, and its paper."""
    boxes = '<i aria-hidden="true">→</i>'.join(f"<span>{html.escape(words)}</span>" for words in note.flow)
    st.html(f'<div class="train-flow">{boxes}</div>')
    sentences = " ".join(filter(None, note.how)) or (cls.__doc__ or method).split("\n")[0]
    st.markdown(widgets.escape_text(sentences))
    if cls.paper:
        st.caption(widgets.escape_text(cls.paper))
    st.caption(f"More: `xcwork methods {method}`")


def shorten_paper(paper: str) -> str:
    """Return authors, venue and year of the first paper, without its title."""
    parts = paper.split(";")[0].split(", ")
    return ", ".join(dict.fromkeys([parts[0], parts[-1]]))


def _show_cost(cost: Estimate | None, place: str) -> None:
    where = f'<div class="train-range">{html.escape(place)}</div>'
    if cost is None:
        st.html(
            '<div class="train-costs"><div><span>Time</span><b class="words">not yet measured here</b></div></div>'
            + where
        )
        return
    time, memory = widgets.shorten_seconds(cost.seconds), widgets.format_megabytes(cost.memory_mb)
    figures = "".join(
        f"<div><span>{name}, about</span><b>{value}</b></div>" for name, value in (("Time", time), ("Memory", memory))
    )
    span = f"{widgets.shorten_seconds(cost.low)} to {widgets.shorten_seconds(cost.high)}, with test"
    waiting = run_progress.estimate_queue_seconds()
    queue = f"; starts in {widgets.shorten_seconds(waiting)}" if waiting else ""
    st.html(
        f'<div class="train-costs">{figures}</div>'
        f'<div class="train-range" title="Estimated {html.escape(cost.basis)}. Reading the data, training, calibration '
        f'and evaluation are included.">{html.escape(span + queue)}</div>{where}'
    )


def describe_place(cls: type[Method], params: Mapping[str, object], traits: DatasetTraits) -> str:
    """Return where the training will run, and how much memory is free there; of a GPU also how much it will take."""
    wanted = str(params.get("device", "auto")) if cls.capabilities.gpu else "cpu"
    device = _describe_device() if wanted == "auto" else f"CPU, {count_cores()} threads" if wanted == "cpu" else wanted
    if not device.startswith("CPU"):
        needed = training_plan.estimate_device_memory(cls, params, traits)
        return f"On {device}" + (f"; training takes about {widgets.format_megabytes(needed)} of it" if needed else "")
    return f"On the {device}; {widgets.format_megabytes(measure_available_memory() / 1e6)} free"


@lru_cache(maxsize=1)
def _describe_device() -> str:
    """Return the device that `auto` gives; where there may be a GPU another process is asked, so once is enough."""
    return describe_device_without_torch()


def _warn_about_memory(cost: Estimate | None) -> None:
    free = measure_available_memory() / 1e6
    if cost is not None and cost.memory_mb > MAX_MEMORY_SHARE * free:
        needed, there = widgets.format_megabytes(cost.memory_mb), widgets.format_megabytes(free)
        st.warning(f"This may need {needed} of memory, and {there} are free.", icon=":material/warning:")


def _ask_name(method: str, source: Source) -> str:
    """Ask for the name of the run, beside the mark it will have."""
    with st.container(key="train_name"):
        st.html(tokens.make_mark(training_plan.find_next_number(source)))
        return st.text_input(
            "Name",
            key=f"train.name.{launcher.count_launched()}",
            placeholder=launcher.suggest_name(method, source),
            max_chars=None,
        )
