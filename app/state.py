"""What a session looks at: a few ids and choices in the address, so that a link opens the same view.

    view = state.view()                # the `View` that the address describes
    state.update(run=run.id, k=10)     # a person chose something; the address says so at once

A choice that several pages share is a field of `View`. A widget of one page binds itself
(`key="errors.search", bind="query-params"`). The address is the state; beside it `Session` holds only what an address
cannot say. Its copy of the address is one of these: a browser that is told of a new address still sends the one before
with a click that follows quickly. So the browser leads when it opens an address (a link, a reload, Back, Forward, a
link of the menu), and this session otherwise. What an address asks for and is not there becomes the nearest valid
choice, and `list_notes` says so. Ids only: data and models come from `xcwork_app.caches`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

KEY = "view"
MAX_LINK_CHARACTERS = 2000  # of a value in the address; browsers and mail programs cut longer ones
MAX_QUOTE_CHARACTERS = 60
MAX_LENGTH = 100  # labels per list
MAX_DIGITS = 18  # of a number in the address
OF_A_RUN = ("assign", "suggest", "job")
OF_A_DATASET = (
    "run",
    "document",
    "label",
    "family",
    "word",
    "more",
    "band",
    "runs",
    "reference",
    "against",
    "opened",
    "item",
    "outcome",
    "other",
    "region",
    "lasso",
    "chosen",
    "beside",
    "side",
    "lit",
    "layer",
    *OF_A_RUN,
)
WORDS = {  # for people, where the name of a field or widget is none
    "k": "list length",
    "against": "other run",
    "bands": "definition of bands",
    "scope": "choice of labels",
    "lecture": "size of type",
    "wide": "side bar",
    "states": "set of states",
    "metrics": "set of metrics",
    "by": "view",
    "beside": "second run",
    "other": "other label",
    "sort": "column to sort by",
    "change": "kind of document",
}


@dataclass(frozen=True)
class View:
    """The shareable state of a session. Every field is a text, a whole number or a switch with a default."""

    data: str = "pyseealso"  # the id of a `sources.Source`
    run: str = ""  # "": the best finished run on the dataset
    document: int = 0  # row of the test split
    label: str = ""
    family: str = ""  # of reasons, whose words alone are marked; "": all
    word: str = ""  # of the document, whose reasons are open
    more: int = 0  # labels listed beyond those that are assigned or suggested
    job: str = ""  # a file of texts on Predict; "": the newest
    band: str = ""
    outcome: str = ""  # of the true labels that Errors lists; "": missed, in documents with at most k labels
    other: str = ""  # the label that was listed in place of `label`
    k: int = 5
    method: str = ""
    lesson: bool = False  # the drawer with the lesson of the page is open
    lecture: bool = False  # larger type, for a projector
    wide: bool = False  # without the side bar
    section: str = ""  # of a page that shows one of several; "": its first
    bands: str = ""  # how labels are put into bands
    runs: str = ""  # ids with commas between them; "": the best ones
    reference: str = ""  # the run that others are compared with
    against: str = ""  # the run whose documents are compared with those of the reference
    scope: str = ""  # which labels count in a comparison
    sort: str = ""  # the column that a comparison is sorted by, with "-" before it the other way round
    change: str = ""  # which documents of two runs are listed; "": those on which they differ
    opened: str = ""  # the one of them that was opened last
    layout: str = ""  # of the label map
    colour: str = ""
    assign: str = ""  # percentage from which a label is assigned; "": as stored with the run
    suggest: str = ""
    by: str = ""  # what Decisions shows beside the curve of thresholds
    queue: str = ""  # of labels to review; "": those that are likely missing
    item: str = ""  # of that queue, such as "test:47:1234"; "": the first that waits
    region: str = ""  # of the label map, by its name
    add: str = ""  # the way in which a dataset is added on Data: "file", "path" or "made-up"; "": none is
    lasso: str = ""  # the corners of a polygon on the label map, "x,y;x,y;…"
    chosen: bool = False  # whether Errors lists only the labels in the region or the lasso of the label map
    beside: str = ""  # the run whose label map stands beside the first
    side: str = ""  # of two label maps, the one with the choice; "": the first
    layer: bool = False  # whether the label map shows what the method makes of the labels
    lit: bool = False  # whether the label map lights up the labels of the test document
    paper: str = ""  # of the ledger of claims; "": all five
    verdict: str = ""  # of the ledger; "": any
    claim: str = ""  # the open row of the ledger
    q: str = ""  # words that are searched in the ledger


FIELDS = frozenset(each.name for each in fields(View))
USUAL = vars(View())
Address = dict[str, str | list[str]]


@dataclass
class Session:
    """What is remembered of one browser tab beside its address."""

    page: str = ""  # the page that is open
    script: str = ""  # what Streamlit calls it; known before the page is
    address: dict[str, str] = field(default_factory=dict)  # fields of the view, as last read or written
    changes: dict[str, Any] = field(default_factory=dict)  # made since a page was complete, in case none will be
    asked: dict[str, list[str]] = field(default_factory=dict)  # what the browser opened, until a person chooses
    notes: dict[str, str] = field(default_factory=dict)  # what it asked for in vain, by field or widget
    defaults: dict[str, dict[str, str]] = field(default_factory=dict)  # what a page ("": every) shows unless told
    named: dict[str, str] = field(default_factory=dict)  # those of them that are in the address
    left: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # widgets of each page, as it was left
    leaves_open: frozenset[str] = frozenset()  # fields that the address which the browser opened says nothing about


def view() -> View:
    """Return what this session looks at."""
    session = _get_session()
    return from_query({name: text for name, text in session.address.items() if session.named.get(name) != text})


def get_page() -> str:
    """Return the name of the open page."""
    return _get_session().page


def is_history_navigation() -> bool:
    """Return whether Back or Forward of the browser began this run."""
    return getattr(get_script_run_ctx(), "is_history_navigation", False)


def _get_session() -> Session:
    """Return the session, after address and session have agreed on who leads."""
    session: Session = st.session_state.setdefault(KEY, Session())
    script = getattr(get_script_run_ctx(), "page_script_hash", "")
    given = {name: text for name, text in st.query_params.to_dict().items() if name in FIELDS}
    if given == session.address and script == session.script:
        return session
    if not session.script or (is_history_navigation() and given != session.address):
        _follow(session)
    elif script != session.script:
        _turn_page(session, given)
    else:  # the browser sent what it had before the address was written
        _write(session, session.address)
    session.script = script
    return session


def _turn_page(session: Session, given: dict[str, str]) -> None:
    """Take over the address of a link in the page; what was chosen just before it may not be in there yet."""
    usual = {name: text for each in session.defaults.values() for name, text in each.items()}
    chosen = session.address.items() - session.named.items()
    session.named = dict((given.items() & usual.items()) - chosen)
    session.address, session.asked, session.notes = given, {}, {}
    session.changes.pop("section", None)  # of the page that was left
    if session.changes:
        _write(session, to_query(replace(from_query(given), **session.changes)))


def _follow(session: Session) -> None:
    """Take over the address that the browser opened."""
    session.asked = {name: st.query_params.get_all(name) for name in st.query_params}
    session.address = {name: texts[-1] for name, texts in session.asked.items() if name in FIELDS}
    session.named, session.changes, session.notes = {}, {}, {}
    session.leaves_open = FIELDS - session.address.keys()
    for name, value in asdict(from_query(session.address)).items():
        if session.address.get(name, _to_text(value)) != _to_text(value):
            session.notes[name] = _explain_fallback(name, session.address[name], _to_text(value))


def _write(session: Session, wanted: Mapping[str, str]) -> None:
    """Let the address have these fields of the view and no others. What widgets are bound to is not touched."""
    session.address = dict(wanted)
    given = {name: text for name, text in st.query_params.to_dict().items() if name in FIELDS}
    if missing := {name: text for name, text in wanted.items() if given.get(name) != text}:
        st.query_params.update(missing)
    for name in given.keys() - wanted.keys():
        del st.query_params[name]


def open_page(page: str) -> None:
    """Follow the browser to a page, at the beginning of every run of the script."""
    session = _get_session()
    if is_history_navigation():
        _follow(session)
    session.page, session.defaults = page, {}
    _remember_page(session)  # in case somebody leaves before it is drawn


def update(**changes: Any) -> None:
    """Change some fields of the view. Another dataset means another run, another run its own thresholds, and so on."""
    if is_history_navigation() and not getattr(get_script_run_ctx(), "has_script_started", True):
        return  # the callback of a widget that lags behind Back: the browser leads
    session, shown, asked = _get_session(), view(), changes.keys()
    changes = _add_resets(shown, changes)
    if changes.get("data", shown.data) != shown.data:
        session.named, session.defaults = {}, {}
    session.asked, session.notes = {}, {}
    session.changes |= changes
    _change(session, shown, changes)
    session.leaves_open |= changes.keys() & {"document"} - asked


def _add_resets(shown: View, changes: dict[str, Any]) -> dict[str, Any]:
    if changes.get("data", shown.data) != shown.data:
        changes = {name: getattr(View, name) for name in OF_A_DATASET} | changes
    if changes.get("run", shown.run) != shown.run:
        changes = {name: getattr(View, name) for name in OF_A_RUN} | changes
    if changes.get("layout", shown.layout) != shown.layout:  # the same place holds other labels
        changes = {"lasso": ""} | changes
    return changes


def _change(session: Session, shown: View, changes: Mapping[str, Any]) -> None:
    session.named = {name: text for name, text in session.named.items() if name not in changes}
    session.leaves_open -= changes.keys()
    _write(session, session.named | to_query(replace(shown, **changes)))


def name_defaults(page: str = "", **shown: str) -> None:
    """Let the address of a page (of every page, if none is given) name what it shows where the view leaves it open."""
    _get_session().defaults[page] = shown


def share() -> None:
    """Complete the address when a page is drawn: defaults by their names, and nothing that is another page's."""
    session, shown = _get_session(), to_query(view())
    usual = _collect_defaults(session, session.page)
    session.named = {name: text for name, text in usual.items() if name not in shown}
    _write(session, session.named | shown)
    for name in [name for name in st.query_params if name not in FIELDS and not _belongs_to(session.page, name)]:
        del st.query_params[name]
    session.changes = {}
    _remember_page(session)


def _remember_page(session: Session) -> None:
    """Remember the part of the address that is the open page's own, for links that return to it."""
    section = session.address.get("section")
    session.left[session.page] = ({"section": [section]} if section else {}) | _read_widgets(session.page)


def _collect_defaults(session: Session, page: str) -> dict[str, str]:
    return {"data": View.data} | session.defaults.get("", {}) | session.defaults.get(page, {})


def _belongs_to(page: str, key: str) -> bool:
    return key.startswith(f"{page}.")


def _read_widgets(page: str) -> dict[str, list[str]]:
    """Return the part of the address that widgets of a page are bound to."""
    return {key: st.query_params.get_all(key) for key in st.query_params if _belongs_to(page, key)}


def get_address() -> Address:
    """Return what the address of the open page says."""
    session = _get_session()
    return _collect_defaults(session, session.page) | to_query(view()) | _read_widgets(session.page)


def get_address_of(page: str, **changes: Any) -> Address:
    """Return the address at which another page opens as it was left, with the view of this one and these changes."""
    session, shown = _get_session(), view()
    wanted = replace(shown, **({"section": ""} | _add_resets(shown, changes)))
    usual = _collect_defaults(session, page) if wanted.data == shown.data else {}
    return usual | to_query(wanted) | session.left.get(page, {})


def set_widget(key: str, value: Any) -> None:
    """Let a bound widget, mostly of another page that is about to be opened, have a value; None: its usual one."""
    session, page = _get_session(), key.partition(".")[0]
    left = session.left.setdefault(page, {})
    left.pop(key, None)
    st.session_state.pop(key, None)
    if value is not None and page != session.page and fits_address(value):
        left[key] = [str(value).lower() if isinstance(value, bool) else _to_text(value)]
    elif value is not None:
        st.session_state[key] = value


def choose_binding(key: str) -> Literal["query-params"] | None:
    """Return how to bind a text that may be too long for an address; then it stays with the session."""
    return "query-params" if fits_address(st.session_state.get(key, "")) else None


def asks_for(field_name: str, value: object) -> bool:
    """Return whether the view has this value because the browser asked for it."""
    return _get_session().asked.get(field_name, [""])[-1] == _to_text(value)


def is_open(field_name: str) -> bool:
    """Return whether neither the address that the browser opened nor anybody since has said anything about a field."""
    return field_name in _get_session().leaves_open


def fall_back(field_name: str, value: Any, sentence: str = "") -> None:
    """Take another value for a field that asks for something that is not there; the sentence stays with the page."""
    session = _get_session()
    _change(session, view(), {field_name: value})
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
    session = _get_session()
    for key, texts in session.asked.items():  # Streamlit drops in silence what a bound widget cannot show
        if key not in FIELDS and key in st.session_state:
            held = st.session_state[key]
            shown = [str(each).lower() for each in (held if isinstance(held, list) else [held])]
            if st.query_params.get_all(key) != texts and shown != [text.lower() for text in texts]:
                name = key.rpartition(".")[2]
                session.notes[key] = _explain_fallback(name, ", ".join(texts), "the usual choice")
    session.asked = {name: texts for name, texts in session.asked.items() if name in FIELDS}
    return list(session.notes.values())


def to_query(shown: View) -> dict[str, str]:
    """Return the fields that differ from their defaults, as an address carries them."""
    return {name: _to_text(value) for name, value in vars(shown).items() if value != USUAL[name]}


def from_query(query: Mapping[str, str]) -> View:
    """Return the view of an address; what cannot be is left at its default."""
    read = {each.name: _from_text(query[each.name], each.default) for each in fields(View) if each.name in query}
    shown = View(**{name: value for name, value in read.items() if value is not None})
    return replace(shown, k=max(1, min(shown.k, MAX_LENGTH)))


def _from_text(text: str, usual: Any) -> Any:
    """Read a value of the type of `usual`; None where it cannot be."""
    if isinstance(usual, int) and not (text.isdecimal() and text.isascii() and len(text) <= MAX_DIGITS):
        return None
    return type(usual)(int(text)) if isinstance(usual, int) else type(usual)(text)


def _to_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(int(value) if isinstance(value, bool) else value)


def fits_address(value: Any) -> bool:
    """Return whether an address can carry a value; browsers and mail programs cut longer ones."""
    return len(_to_text(value)) <= MAX_LINK_CHARACTERS
