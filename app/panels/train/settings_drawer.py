"""The settings of a method: a preset on the card, and a drawer with every parameter, made from its own declaration.

The drawer shows at most three parameters in plain words, and the others below a line that unfolds. What was changed is
kept for the session, by method and preset, and holds when the drawer is closed.
"""

from __future__ import annotations

import math
from typing import Any

import streamlit as st
from xcwork_app import caches, dialogs, widgets
from xcwork_app.panels.shared import row_menu
from xcwork_app.sources import Source
from xcwork_app.views import training_plan

from xcwork.advice.guide import get_note
from xcwork.methods.base import Parameter
from xcwork.methods.presets import PRESET_TITLES, describe_preset, list_presets, read_run_settings
from xcwork.methods.registry import find_method_class
from xcwork.viz import shorten

CHANGES = "train.changes"  # key of the session: changed parameters by method and preset
IS_OPEN = "train.settings_open"  # key of the session
VERSION = "train.settings_version"  # key of the session: how often settings were reset
WIDTH_PIXELS = 420
MAX_REASON_CHARACTERS = 500


def choose_preset(method: str, source: Source, n_labels: int) -> tuple[str, dict[str, Any]]:
    """Ask for the settings to start from; return their title and all parameters."""
    named = list_presets(method, n_labels=n_labels)
    like_best, settings, left_out = _find_best_settings(method, source)
    if like_best:
        named[like_best] = settings
    if (copied := _find_duplicated_settings(method)) is not None:  # first, so that it is chosen
        like, copied_settings, not_copied = copied
        named, like_best, left_out = {like: copied_settings} | named, like, not_copied
    chosen = st.selectbox("Settings", list(named), key=f"train.{method}.preset", persist_state="session")
    if chosen == like_best and left_out:
        reasons = shorten("; ".join(left_out), MAX_REASON_CHARACTERS)
        st.warning(f"Not copied from the run: {widgets.escape_text(reasons)}.", icon=":material/warning:")
    if chosen in PRESET_TITLES.values() and (note := describe_preset(method, chosen)):
        st.caption(widgets.escape_text(note))
    return chosen, named[chosen]


def _find_duplicated_settings(method: str) -> tuple[str, dict[str, Any], list[str]] | None:
    """Return title and settings of the run whose settings are duplicated, if it is one of this method."""
    wanted = st.session_state.get(row_menu.SETTINGS_OF)
    run = caches.find_run(wanted or "")
    if run is None or caches.get_record(run).get("method") != method:
        return None
    return row_menu.name_settings_of(run), *read_run_settings(method, caches.get_record(run)["params"])


def _find_best_settings(method: str, source: Source) -> tuple[str, dict[str, Any], list[str]]:
    """Return title and settings of the best finished run of this method, and which settings cannot be used."""
    best = training_plan.find_best_runs(source).get(method)
    if best is None:
        return "", {}, []
    facts = caches.get_record(best)
    return f"Like {facts['name']}", *read_run_settings(method, facts["params"])


def read_params(method: str, preset: str, start: dict[str, Any]) -> dict[str, Any]:
    """Return all parameters: those of the preset with what was changed in the drawer."""
    return start | {name: value for name, value in _get_changes(method, preset).items() if name in start}


def offer_settings(method: str, preset: str, start: dict[str, Any]) -> None:
    """Offer the drawer with all settings."""
    changed = sum(start[name] != value for name, value in _get_changes(method, preset).items() if name in start)
    label = f"Change {len(start)} settings" + (f" · {changed} changed" if changed else "")
    if len(start) == 1:
        label = "Change its setting"
    st.button(label, key="train.settings", type="tertiary", on_click=_set_open, args=(True,))
    if st.session_state.get(IS_OPEN):
        title = f"Settings of {get_note(method).title}"
        drawer = dialogs.make_dialog(title, width=WIDTH_PIXELS, position="right", on_dismiss=lambda: _set_open(False))
        drawer(_show_drawer)(method, preset, start)


def _set_open(is_open: bool) -> None:
    st.session_state[IS_OPEN] = is_open


def _show_drawer(method: str, preset: str, start: dict[str, Any]) -> None:
    declared = sorted(find_method_class(method).parameters().values(), key=lambda each: each.name == "seed")
    plain = get_note(method).main_settings
    main = sorted((each for each in declared if each.name in plain), key=lambda each: list(plain).index(each.name))
    rest = [each for each in declared if each.name not in plain]
    key = f"train.{method}.{preset}.{st.session_state.get(VERSION, 0)}"
    values = start | _get_changes(method, preset)
    found = {each.name: show_field(each, values[each.name], f"{key}.{each.name}", plain[each.name]) for each in main}
    with st.expander(f"{len(rest)} more settings", expanded=not main):
        found |= {each.name: show_field(each, values[each.name], f"{key}.{each.name}") for each in rest}
    changes = {name: value for name, value in found.items() if value != start[name]}
    st.session_state.setdefault(CHANGES, {})[method, preset] = changes
    with st.container(horizontal=True):
        if st.button("Done", key="train.settings_done", type="primary"):
            _set_open(False)
            st.rerun()
        if st.button(f"Back to “{preset}”", key="train.settings_reset", disabled=not changes):
            st.session_state[CHANGES].pop((method, preset))
            st.session_state[VERSION] = st.session_state.get(VERSION, 0) + 1  # fields with new keys start fresh
            st.rerun()


def _get_changes(method: str, preset: str) -> dict[str, Any]:
    return st.session_state.get(CHANGES, {}).get((method, preset), {})


def show_field(parameter: Parameter, value: Any, key: str, words: str = "") -> Any:
    """Show the input for one parameter, named by `words` if given, and return its value."""
    label = words or parameter.name[:1].upper() + parameter.name[1:].replace("_", " ")
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
