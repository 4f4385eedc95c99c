"""What a session looks at: a few ids and choices that the address names, so that a link opens the same view.

    view = state.view()                # the current `View`
    state.update(run=run.id, k=10)     # a person chose something

Address and session follow each other by two rules. **The browser leads** when it opens an address (a link, a reload)
or goes Back or Forward: then all of the view comes from the address. **The person leads** otherwise: a page is drawn
from the session, and when it is complete the address names what it shows. Streamlit makes one entry of the browser's
history of each address that is written, hence at most one is written per run, and links between pages carry the
whole address (`get_address_of`) so that nothing remains to be written when they were followed.

A choice that several pages share is a field of `View`. For a widget of one page, such as a search, `link` is called
before it is drawn, and the address carries its value while that page is open. What the address asks for and is not
there becomes the nearest valid choice, and `list_notes` says so. Ids only: data and models come from
`xcwork_app.caches`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

KEY = "view"
MAX_LINK_CHARACTERS = 2000  # of a value in the address; browsers and mail programs cut longer ones
MAX_QUOTE_CHARACTERS = 60
MAX_LENGTH = 100  # labels per list
MAX_DIGITS = 18  # of a number in the address
OF_A_DATASET = ("run", "document", "label", "band", "runs", "reference", "against")
WORDS = {  # for people, where the name of a field or widget is none
    "k": "list length",
    "against": "other run",
    "bands": "definition of bands",
    "scope": "choice of labels",
    "guided": "guided mode",
    "states": "set of states",
    "metrics": "set of metrics",
}


@dataclass(frozen=True)
class View:
    """The shareable state of a session. Every field is a text, a whole number or a switch with a default."""

    data: str = "pyseealso"  # the id of a `sources.Source`
    run: str = ""  # "": the best finished run on the dataset
    document: int = 0  # row of the test split
    label: str = ""
    band: str = ""
    k: int = 5
    method: str = ""
    guided: bool = False
    section: str = ""  # of a page that shows one of several; "": its first
    bands: str = ""  # how labels are put into bands
    runs: str = ""  # ids with commas between them; "": the best ones
    reference: str = ""  # the run that others are compared with
    against: str = ""  # the run whose documents are compared with those of the reference
    scope: str = ""  # which labels count in a comparison
    layout: str = ""  # of the label map
    colour: str = ""


@dataclass
class Session:
    """What is remembered of one browser tab."""

    view: View = field(default_factory=View)
    page: str = ""  # the page that is open
    asked: dict[str, str] | None = None  # the address that the browser opened, until a person chooses something
    waiting: dict[str, str] = field(default_factory=dict)  # widgets of the page that the address names, not yet drawn
    linked: dict[str, Any] = field(default_factory=dict)  # the usual values of the linked widgets of the page
    defaults: dict[str, dict[str, str]] = field(default_factory=dict)  # what a page ("": every) shows unless told
    notes: dict[str, str] = field(default_factory=dict)  # what the address asked for in vain, by field or widget
    kept: dict[str, dict[str, str]] = field(default_factory=dict)  # the part of the address that is a page's own
    steps: dict[tuple[str, frozenset[tuple[str, str]]], dict[str, str]] = field(default_factory=dict)  # see `step_to`


def view() -> View:
    """Return what this session looks at."""
    return _session().view


def _session() -> Session:
    if KEY not in st.session_state:
        st.session_state[KEY] = Session()
        _follow(st.session_state[KEY], st.query_params.to_dict())
    return st.session_state[KEY]


def open_page(page: str) -> None:
    """Follow the browser to a page, at the beginning of every run of the script."""
    session, address = _session(), st.query_params.to_dict()
    session.defaults = {}
    if is_history_navigation():
        address = session.steps.get(_make_history_key(page, address), address)
        _follow(session, address)
    elif page == session.page:
        return
    elif session.page:  # a person turned the page, which is as it was left
        _dismiss(session)
        address = session.kept.get(page, {})
        session.view = replace(session.view, section=address.get("section", ""))
    session.page, session.linked = page, {}
    session.waiting = {key: text for key, text in address.items() if key.startswith(f"{page}.")}


def is_history_navigation() -> bool:
    """Return whether Back or Forward of the browser began this run."""
    context = get_script_run_ctx()
    return getattr(context, "is_history_navigation", False)


def _follow(session: Session, address: dict[str, str]) -> None:
    """Take the view over from an address."""
    session.view, session.asked, session.notes = from_query(address), address, {}
    for name, value in asdict(session.view).items():
        if name in address and address[name] != _to_text(value):
            session.notes[name] = _explain_fallback(name, address[name], _to_text(value))


def _dismiss(session: Session) -> None:
    """Forget what the browser asked for: a person went on from there."""
    session.asked, session.notes = None, {}


def update(**changes: Any) -> None:
    """Change some fields of the view. Another dataset means another run, unless one is given."""
    session = _session()
    if changes.get("data", session.view.data) != session.view.data:
        changes = {name: getattr(View, name) for name in OF_A_DATASET} | changes
        session.defaults = {}
    _dismiss(session)
    session.view = replace(session.view, **changes)


def link(key: str, usual: Any = "", options: Collection[Any] | None = None) -> None:
    """Let the address carry the value of the widget `key`, which is drawn after this call and starts with `usual`.

    The address leaves the usual value out. A tuple is for a widget with any number of values.
    """
    session = _session()
    is_first, text = key not in session.linked, session.waiting.pop(key, None)
    session.linked[key] = usual
    held = st.session_state.get(key)
    is_undone = is_first and is_history_navigation() and _fits(held)
    if text is not None:
        value = _from_text(text, usual, options)
        st.session_state[key] = _copy_usual(usual) if value is None else value
        if value is None or _to_text(value) != text:
            session.notes[key] = _explain_fallback(key.rpartition(".")[2], text, "the usual choice")
    elif is_undone or held is None or not _is_among(held, options):
        st.session_state[key] = _copy_usual(usual)


def set_widget(key: str, value: Any) -> None:
    """Give a linked widget of another page the value that it has when that page opens."""
    st.session_state[key] = value
    _session().kept.get(key.partition(".")[0], {}).pop(key, None)


def name_defaults(page: str = "", **shown: str) -> None:
    """Let the address of a page (of every page, if none is given) name what it shows where the view leaves it open."""
    _session().defaults[page] = shown


def asks_for(field_name: str, value: object) -> bool:
    """Return whether the view has this value because the browser asked for it."""
    asked = _session().asked
    return asked is not None and asked.get(field_name) == _to_text(value)


def fall_back(field_name: str, value: Any, sentence: str = "") -> None:
    """Take another value for a field that asks for something that is not there; the sentence stays with the page."""
    session = _session()
    session.view = replace(session.view, **{field_name: value})
    if sentence:
        session.notes[field_name] = sentence


def pick_option(field_name: str, options: Collection[Any], usual: Any, title: str) -> Any:
    """Return a field of the view if it is among the options, else the usual one; say so if the address asked for it."""
    value = getattr(view(), field_name)
    if value in options:
        return value
    if value and asks_for(field_name, value):
        fall_back(field_name, type(value)(), _explain_fallback(field_name, _to_text(value), title))
    return usual


def limit_number(field_name: str, highest: int) -> int:
    """Return a number of the view, or the highest possible one and say so."""
    value = getattr(view(), field_name)
    if value > highest:
        fall_back(field_name, highest, _explain_fallback(field_name, str(value), str(highest)))
    return min(value, highest)


def _explain_fallback(name: str, text: str, shown: str) -> str:
    return f"There is no {WORDS.get(name, name)} {quote(text)}; {shown} is shown instead."


def quote(text: str) -> str:
    """Return what an address says as a sentence can repeat it."""
    return f"“{text}”" if len(text) <= MAX_QUOTE_CHARACTERS else f"“{text[:MAX_QUOTE_CHARACTERS]}…”"


def list_notes() -> list[str]:
    """Return what the address asked for and is not there, a sentence each."""
    return list(_session().notes.values())


def share() -> None:
    """Bring the address up to date with what the page shows, after it was drawn."""
    session, wanted = _session(), get_address()
    session.kept[session.page] = _collect_own_part(session)
    session.steps.pop(_make_history_key(session.page, wanted), None)
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def get_address() -> dict[str, str]:
    """Return what the address of the open page says: the view, defaults by their names, and its widgets."""
    session = _session()
    return _merge_query(session, session.view, session.page) | _collect_own_part(session)


def get_address_of(page: str) -> dict[str, str]:
    """Return the address at which another page opens as it was left, with the view of this one."""
    session = _session()
    return _merge_query(session, replace(session.view, section=""), page) | session.kept.get(page, {})


def step_to(address: dict[str, str]) -> None:
    """Remember where the open page was, before `st.switch_page` leads to another one with a new address.

    The browser is given the new address first and then the new page. Back therefore leads to the new address at the
    old page, which nobody has seen: there, `open_page` goes by the old one.
    """
    session = _session()
    session.steps[_make_history_key(session.page, address)] = st.query_params.to_dict()


def _make_history_key(page: str, address: Mapping[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    return page, frozenset(address.items())


def _merge_query(session: Session, shown: View, page: str) -> dict[str, str]:
    defaults = session.defaults.get("", {}) | session.defaults.get(page, {})
    return {"data": shown.data} | defaults | to_query(shown)


def _collect_own_part(session: Session) -> dict[str, str]:
    """Return the section and the linked widgets; those that were not drawn yet as the address gave them."""
    held = {key: st.session_state.get(key, usual) for key, usual in session.linked.items()}
    chosen = {
        key: _to_text(value)
        for key, value in held.items()
        if value is not None and _to_text(value) != _to_text(session.linked[key]) and _fits(value)
    }
    section = {"section": session.view.section} if session.view.section else {}
    return section | session.waiting | chosen


def to_query(shown: View) -> dict[str, str]:
    """Return the fields that differ from their defaults, as an address carries them."""
    default = asdict(View())
    return {name: _to_text(value) for name, value in asdict(shown).items() if value != default[name]}


def from_query(query: Mapping[str, str]) -> View:
    """Return the view of an address; what cannot be is left at its default."""
    read = {each.name: _from_text(query[each.name], each.default) for each in fields(View) if each.name in query}
    shown = View(**{name: value for name, value in read.items() if value is not None})
    return replace(shown, k=max(1, min(shown.k, MAX_LENGTH)))


def _from_text(text: str, usual: Any, options: Collection[Any] | None = None) -> Any:
    """Read a value of the type of `usual`; None where it cannot be."""
    if isinstance(usual, tuple):
        several = [each for each in text.split(",") if each]
        return several if _is_among(several, options) else None
    if isinstance(usual, int) and not (text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS):
        return None
    value = type(usual)(int(text)) if isinstance(usual, int) else type(usual)(text)
    return value if options is None or value in options else None


def _to_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(int(value) if isinstance(value, bool) else value)


def _copy_usual(usual: Any) -> Any:
    return list(usual) if isinstance(usual, tuple) else usual


def _is_among(value: Any, options: Collection[Any] | None) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return options is None or all(each in options for each in values)


def _fits(value: Any) -> bool:
    return len(_to_text(value)) <= MAX_LINK_CHARACTERS
