"""Labels that a person puts into Review from another page, and whether they wait there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st
from xcwork_app import caches
from xcwork_app.sources import Source
from xcwork_app.views.document_prediction import ListedLabel

from xcwork.data.data_folder import locate_reviews
from xcwork.decisions.choice import LEAVE
from xcwork.paths import find_home
from xcwork.review.documents import TEST, DatasetKeys
from xcwork.review.verdicts import VerdictLog, load_verdicts, store_request
from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset

LIKELY = 0.5  # probability from which a label that nobody annotated is worth a question


@dataclass(frozen=True)
class OpenQuestion:
    """A label that a run suggests for a test document and that nobody has annotated."""

    document: int
    label: ListedLabel
    is_waiting: bool  # a person has put it into the review
    verdict: str  # what people answered, "" if nobody did

    @property
    def item(self) -> tuple[str, int, int]:
        """What Review calls it."""
        return TEST, self.document, self.label.label

    @property
    def item_id(self) -> str:
        return ":".join(map(str, self.item))


def find_question(
    source: Source, document: int, labels: Sequence[ListedLabel], selected: str | None
) -> OpenQuestion | None:
    """Return the question to ask about a document: about the selected label, else about the likeliest; None if none."""
    open_labels = [each for each in labels if each.is_annotated is False and each.decision != LEAVE]
    about = next((each for each in open_labels if each.name == selected), None)
    about = about or next((each for each in open_labels if (each.probability or 0.0) >= LIKELY), None)
    if about is None:
        return None
    log, item = read_log(source), (TEST, document, about.label)
    answers = log.group_by_item().get(item, [])
    return OpenQuestion(
        document,
        about,
        any(request.item == item for request in log.requests),
        answers[-1].verdict.value if answers else "",
    )


def put_into_review(run: Run, source: Source, question: OpenQuestion, person: str) -> None:
    """Store that a person wants an answer."""
    keys = _get_keys(source.id, str(find_home()), source.make_stamp())
    store_request(find_home(), keys, question.item, by=person, run=run.id, probability=question.label.probability)


def read_log(source: Source) -> VerdictLog:
    """Return answers and requests about a dataset, read again when somebody has added one."""
    dataset = caches.get_dataset(source)
    file = locate_reviews(dataset.name, find_home())
    try:
        facts = file.stat()
    except OSError:
        return VerdictLog((), ())
    return _read_log(source.id, str(find_home()), source.make_stamp(), facts.st_mtime_ns, facts.st_size)


@st.cache_resource(max_entries=4, show_spinner=False)
def _read_log(identity: str, folder: str, stamp: str, changed: int, size: int) -> VerdictLog:
    return load_verdicts(find_home(), _get_keys(identity, folder, stamp))


@st.cache_resource(max_entries=4, show_spinner=False)
def _get_keys(identity: str, folder: str, stamp: str) -> DatasetKeys:
    dataset: Dataset = caches.get_dataset(Source.from_id(identity))
    return DatasetKeys(dataset)
