"""The settings of a method, as a form made from its own declaration: help, bounds, choices and presets.

It is not a Streamlit form, because the estimate and the command line beside it follow every change.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import caches, widgets
from xcwork_app.sources import Source
from xcwork_app.views import selection

from xcwork.methods.base import Parameter
from xcwork.methods.presets import list_presets, read_run_settings
from xcwork.methods.registry import method_class
from xcwork.viz import shorten

if TYPE_CHECKING:
    from xcwork.data.card import Card

COLUMNS = 3  # fields side by side
MAX_REASON_CHARACTERS = 500


def show(method: str, source: Source, card: Card) -> dict[str, Any]:
    """Show the form and return the parameters as the user wants them."""
    named = list_presets(method, n_labels=card.n_labels)
    like_best, settings, left_out = _find_best_run(method, source)
    if like_best:
        named[like_best] = settings
    chosen = st.selectbox(
        "Start from",
        list(named),
        key=f"train.{method}.preset",
        persist_state="session",
        help="Sets every parameter below; change what you like afterwards.",
    )
    if chosen == like_best and left_out:
        reasons = shorten("; ".join(left_out), MAX_REASON_CHARACTERS)
        st.warning(f"Not taken over from the run: {widgets.plain(reasons)}.", icon=":material/warning:")
    declared = sorted(method_class(method).parameters().values(), key=lambda each: each.name == "seed")
    start, key = named[chosen], f"train.{method}.{chosen}"
    params = _show_grid([each for each in declared if not each.advanced], start, key)
    advanced = [each for each in declared if each.advanced]
    if advanced:
        with st.expander(f"Advanced settings ({len(advanced)})"):
            params |= _show_grid(advanced, start, key)
    return {each.name: params[each.name] for each in declared}


def _find_best_run(method: str, source: Source) -> tuple[str, dict[str, Any], list[str]]:
    """Return title and settings of the best finished run of this method, and which settings cannot be used."""
    runs = [run for run in selection.list_runs(source) if caches.get_record(run).get("method") == method]
    best = selection.find_best_run(runs)
    if best is None:
        return "", {}, []
    facts = caches.get_record(best)
    title = f"Like the best run, {best.name} (P@1 {facts['metrics'].get('P@1', 0.0):.1f})"
    return title, *read_run_settings(method, facts["params"])


def _show_grid(parameters: list[Parameter], start: dict[str, Any], key: str) -> dict[str, Any]:
    values = {}
    for first in range(0, len(parameters), COLUMNS):
        row = parameters[first : first + COLUMNS]
        for column, parameter in zip(st.columns(COLUMNS), row, strict=False):
            with column:
                values[parameter.name] = show_field(parameter, start[parameter.name], f"{key}.{parameter.name}")
    return values


def show_field(parameter: Parameter, value: Any, key: str) -> Any:
    """Show the input for one parameter and return its value."""
    label = parameter.name[:1].upper() + parameter.name[1:].replace("_", " ")
    kept: dict[str, Any] = {"key": key, "help": _write_help(parameter), "persist_state": "session"}
    if parameter.choices is not None:
        choices = ([None] if parameter.optional else []) + list(parameter.choices)
        return st.selectbox(label, choices, index=choices.index(value), **kept)
    if parameter.type is bool:
        return st.selectbox(
            label, [True, False], index=int(not value), format_func=lambda yes: "yes" if yes else "no", **kept
        )
    if parameter.type is str:
        return st.text_input(label, value=value or "", **kept) or (None if parameter.optional else "")
    number = parameter.type
    kept |= {"step": 1} if number is int else {"step": _choose_step(parameter.default), "format": "%g"}
    for name, bound in (("min_value", parameter.low), ("max_value", parameter.high), ("value", value)):
        kept[name] = None if bound is None else number(bound)
    found: float | None = st.number_input(label, placeholder="automatic", **kept)
    return None if found is None and parameter.optional else number(kept["value"] if found is None else found)


def _choose_step(default: float | None) -> float:
    """Return one unit of the leading digit of the default; a tenth of it for a power of ten, as steps go both ways."""
    if not default:
        return 0.1
    unit = 10.0 ** math.floor(math.log10(abs(default)))
    return unit / 10 if math.isclose(default, unit) else unit


def _write_help(parameter: Parameter) -> str:
    ends = (("at least", parameter.low), ("at most", parameter.high))
    bounds = [f"{word} {bound:g}" for word, bound in ends if bound is not None]
    meaning = ", ".join([parameter.help[:1].upper() + parameter.help[1:], *bounds])
    return f"{meaning}. On the command line: `{parameter.name}`"
