"""Which columns of an uploaded table hold what, in which encoding: the guess, to be corrected where it is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st
from xcwork_app import caches
from xcwork_app.panels.data.staging import StagedUpload

from xcwork.data.build import TEST_SHARE
from xcwork.data.readers.columns import BINARY_SUFFIXES
from xcwork.data.readers.encodings import suggest_encoding
from xcwork.data.readers.preview import Preview, preview_table
from xcwork.data.readers.safe_files import get_bare_name
from xcwork.data.upload_check import UploadSummary, summarise_upload
from xcwork.errors import DataError
from xcwork.text.languages import LANGUAGES
from xcwork.text.reading import AUTOMATIC

MAX_RECORDS = 20_000  # read for the preview; figures of a longer file are those of its first records
SEPARATORS = {
    None: "as recognised",
    "|": "a bar |",
    ";": "a semicolon ;",
    ",": "a comma ,",
    " ": "a space",
    "": "nothing, one label per cell",
}
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
TEST_SHARES = (0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class TableReading:
    """How a table is read, and what comes out."""

    seen: Preview
    summary: UploadSummary
    options: dict[str, object]  # for the reader, where it would not have found out by itself
    encoding_note: str = ""

    @property
    def error(self) -> DataError | None:
        return self.seen.error

    @property
    def is_complete(self) -> bool:
        """Whether all of the file was read."""
        return self.summary.n_documents < MAX_RECORDS


def choose(staged: StagedUpload) -> TableReading:
    """Show the choices and return what they come to. All is drawn before anything is refused."""
    fitting = _find_encoding(staged.path)
    key = staged.path.parent.name
    encoding = st.session_state.get(f"data.upload.encoding.{key}", fitting)
    guess = _preview(staged.path, encoding=encoding)
    key = f"{key}.{encoding}"
    texts = st.multiselect("Text", guess.columns, default=guess.text_columns, key=f"data.upload.text.{key}")
    labels = st.selectbox(
        "Labels", guess.columns, index=guess.columns.index(guess.labels_column), key=f"data.upload.labels.{key}"
    )
    recognised = _preview(staged.path, text_columns=tuple(texts), labels_column=labels, encoding=encoding)
    separator = st.selectbox(
        "Between two labels stands",
        list(SEPARATORS),
        format_func=lambda sign: name_recognised(recognised.how) if sign is None else SEPARATORS[sign],
        key=f"data.upload.sep.{key}.{recognised.how}",  # another column, another guess
    )
    share = st.selectbox(
        "Held out to test",
        TEST_SHARES,
        index=TEST_SHARES.index(TEST_SHARE),
        format_func=lambda share: f"{100 * share:.0f} % of the documents",
        key=f"data.upload.share.{key}",
    )
    chosen: dict[str, Any] = {"text_columns": tuple(texts), "labels_column": labels, "separator": separator}
    seen = _preview(staged.path, **chosen, encoding=encoding)
    field = ""
    if seen.error is not None and "label_field" in str(seen.error):  # records without a usual name
        field = st.text_input("Field of the records that names the label", key=f"data.upload.field.{key}").strip()
        seen = _preview(staged.path, **chosen, encoding=encoding, label_field=field) if field else seen
    language = _choose_more(staged, fitting)
    if not texts:
        raise DataError("no text column is chosen", remedy="choose at least one")
    options: dict[str, object] = {}
    if seen.needs_options:
        options |= {"text_column": seen.text_columns, "labels_column": seen.labels_column}
    options |= {} if separator is None else {"separator": separator}
    options |= {"label_field": field} if field else {}
    options |= {} if share == TEST_SHARE else {"test_share": share}
    options |= {} if encoding == ENCODINGS[0] else {"encoding": encoding}
    options |= {} if language == AUTOMATIC else {"language": language}
    is_other = fitting != ENCODINGS[0] and encoding == fitting
    note = (
        f"Read as {fitting}? The file is not UTF-8; check that letters such as ä and é are right." if is_other else ""
    )
    return TableReading(seen, summarise_upload(seen), options, note)


def _choose_more(staged: StagedUpload, fitting: str) -> str:
    """Ask for the encoding, which applies on the next run of the page, and return the language of the texts."""
    with st.popover("Encoding and other options", type="tertiary", key="data.upload.options"):
        st.selectbox(
            "Encoding",
            ENCODINGS,
            index=ENCODINGS.index(fitting) if fitting in ENCODINGS else 0,
            key=f"data.upload.encoding.{staged.path.parent.name}",
        )
        return st.selectbox(
            "Language of the texts",
            [AUTOMATIC, *sorted(LANGUAGES, key=lambda code: LANGUAGES[code].name)],
            format_func=lambda code: "detected automatically" if code == AUTOMATIC else LANGUAGES[code].name,
            key=f"data.upload.language.{staged.path.parent.name}",
        )


def name_recognised(how: str) -> str:
    """Return how labels are separated, in words, from what the reader says."""
    if how.startswith("names separated by"):
        sign = how.removeprefix("names separated by").strip().strip("`")
        words = {"spaces": SEPARATORS[" "]} | {each: word for each, word in SEPARATORS.items() if each}
        return f"{words.get(sign, sign)} (recognised)"
    if how == "one label per cell":
        return f"{SEPARATORS['']} (recognised)"
    return f"nothing, each cell is a list: {how.replace('`', '')}" if how else "as recognised"


def _find_encoding(path: Path) -> str:
    """Return the encoding that fits a file; one that is not text is rejected, unless its format is binary."""
    if Path(get_bare_name(path)).suffix.lower() in BINARY_SUFFIXES:
        return ENCODINGS[0]
    fitting = suggest_encoding(path)
    if fitting is None:
        raise DataError("this is not a text file", file=path, remedy="save it as CSV, or choose another file")
    return fitting


def _preview(path: Path, **choices: Any) -> Preview:
    return _read_preview(str(path), caches.get_stamp(path), tuple(sorted(choices.items(), key=lambda item: item[0])))


@st.cache_resource(max_entries=12, show_spinner=False)
def _read_preview(path: str, stamp: int, choices: tuple[tuple[str, Any], ...]) -> Preview:
    given: dict[str, Any] = {name: list(value) if isinstance(value, tuple) else value for name, value in choices}
    return preview_table(Path(path), **given, max_records=MAX_RECORDS)
