"""The review of the chosen run, the answers so far and what one item shows, kept between reruns.

Answers are read again when their file has changed, so everybody sees what others answered. The number that waits is
known in the side bar once somebody has opened the review of a run: building its queues needs the dataset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st
from xcwork_app import caches, state
from xcwork_app.sources import Source
from xcwork_app.views import selection

from xcwork.data.data_folder import locate_reviews
from xcwork.errors import RunError, XcworkError
from xcwork.paths import find_home
from xcwork.runs import Run

if TYPE_CHECKING:
    from xcwork.analysis.text_spans import Segment
    from xcwork.review.queue import ReviewItem, ReviewQueue
    from xcwork.review.session import RunReview
    from xcwork.review.verdicts import VerdictLog

QUEUES = {
    "missing": "Likely missing",
    "wrong": "Likely wrong",
    "threshold": "Near the threshold",
    "requested": "Added by hand",
}
MAX_WORDS = 5
MAX_OTHER_RUNS = 4
METRIC = "P@1"
_BUILT: dict[tuple[str, ...], RunReview] = {}  # what the cache holds now, so that the side bar need not build it


@dataclass(frozen=True)
class ItemView:
    """One item as the page shows it; all texts are from outside."""

    text: str
    segments: list[Segment]  # the text cut into marked and unmarked pieces; empty: nothing can be marked
    words: list[tuple[str, float]]  # strongest first
    neighbours: list[str]  # training documents with the label, nearest first
    annotated: list[str]


@dataclass(frozen=True)
class ReviewEffect:
    """A metric in percent as annotated, as corrected, and if all that wait turn out as suspected."""

    original: float
    corrected: float
    if_confirmed: float


def get_review(run: Run, source: Source) -> RunReview:
    """Return the review of a run on the dataset it was trained on, if its predictions still fit."""
    dataset = caches.get_dataset(source)
    if not dataset.recognises(caches.glance(run).measured.get("fingerprint")):
        raise RunError(f"the dataset has changed since {run.name} was trained; train it again to review its labels")
    return _build_review(_make_key(run, source), run.folder, source)


def _make_key(run: Run, source: Source) -> tuple[str, ...]:
    stamps = (caches.get_stamp(run.folder / name) for name in ("eval", "decisions.json"))
    return str(find_home()), str(run.folder), *map(str, stamps), source.id, source.make_stamp()


def _forget(review: RunReview) -> None:
    for key in [key for key, held in _BUILT.items() if held is review]:
        del _BUILT[key]


@st.cache_resource(max_entries=3, show_spinner="Looking for labels worth checking.", on_release=_forget)
def _build_review(key: tuple[str, ...], _folder: Any, _source: Source) -> RunReview:
    from xcwork.review.session import RunReview

    review = RunReview.from_run(Run(_folder), caches.get_dataset(_source))
    for name in QUEUES:
        review.queue(name)
    _BUILT[key] = review
    return review


def get_verdicts(review: RunReview) -> VerdictLog:
    """Return the answers about the dataset, read again when somebody has answered."""
    return _read_verdicts(review.run, review.dataset.fingerprint, *_stamp_answers(review), review)


def _stamp_answers(review: RunReview) -> tuple[str, int, int]:
    file = locate_reviews(review.dataset.name, review.home)
    try:
        facts = file.stat()
    except OSError:
        return str(file), 0, 0
    return str(file), facts.st_mtime_ns, facts.st_size


@st.cache_resource(max_entries=6, show_spinner=False)
def _read_verdicts(run: str, fingerprint: str, file: str, changed: int, size: int, _review: RunReview) -> VerdictLog:
    return _review.read_verdicts()


def get_queue_name() -> str:
    """Return the queue that this session works on."""
    wanted = state.view().queue
    return wanted if wanted in QUEUES else next(iter(QUEUES))


def count_waiting() -> int | None:
    """Return how many items of the queue wait; None before anybody has opened the review of the run."""
    try:
        run, source = selection.get_run(), selection.get_source()
        review = None if run is None else _BUILT.get(_make_key(run, source))
        if review is None:
            return None
        return review.queue(get_queue_name()).count_answered(get_verdicts(review))["waiting"]
    except (XcworkError, OSError):  # the page itself says what is wrong
        return None


def name_document(review: RunReview, document: int) -> str:
    """Return what a document is called: its id, or how its text begins."""
    from xcwork.analysis.paging import shorten_text
    from xcwork.data.browse import get_document_text
    from xcwork.review.documents import get_split

    split = get_split(review.dataset, review.split)
    return split.uids[document] if split.uids is not None else shorten_text(get_document_text(split, document), 60)


def find_queues(review: RunReview, items: Sequence[str]) -> list[str]:
    """Return the queue that each item is in, the first of several; "" where it is in none."""
    found: dict[str, str] = {}
    for name in QUEUES:
        for place in review.queue(name).list_places():
            found.setdefault(":".join(map(str, place)), name)
    return [found.get(item, "") for item in items]


def find_next(queue: ReviewQueue, verdicts: VerdictLog, after: int) -> str:
    """Return the id of the next item that waits, from the beginning again after the last; "" if none waits."""
    answered = verdicts.group_by_item()
    places = list(queue.list_places())
    order = [*range(after + 1, len(places)), *range(after + 1)]
    found = next((places[number] for number in order if places[number] not in answered), None)
    return "" if found is None else ":".join(map(str, found))


def describe_item(run: Run, review: RunReview, item: ReviewItem) -> ItemView:
    """Return what a person needs to see of an item."""
    return _describe_item(str(run.folder), caches.get_stamp(run.folder / "model"), item.id, review, item)


@st.cache_resource(max_entries=300, show_spinner=False)
def _describe_item(folder: str, stamp: int, name: str, _review: RunReview, _item: ReviewItem) -> ItemView:
    from xcwork.analysis.explanation_words import make_term_splitter, read_words
    from xcwork.analysis.text_spans import Span, cut_segments
    from xcwork.data.browse import get_document_text
    from xcwork.review.details import gather_details
    from xcwork.review.documents import get_split

    model = caches.get_model(Run(folder))
    split = get_split(_review.dataset, _item.split)
    text = get_document_text(split, _item.document)
    explanation = model.explain(split.take([_item.document]), _item.label)
    weights = explanation.group(make_term_splitter(text, model.features_)).sum_words()  # as Predict shows them
    words = sorted(((word, value) for word, value in weights.items() if value), key=lambda pair: (-pair[1], pair[0]))
    places = [] if split.texts is None else read_words(text, model.features_)
    spans = [Span(*place, weight) for place in places if (weight := weights.get(place.form, 0.0))]
    details = gather_details(_review.dataset, _item.place)
    return ItemView(
        text,
        cut_segments(text, spans) if spans else [],
        words[:MAX_WORDS],
        [found["uid"] or found["text"] for found in details.neighbours],
        details.annotated_labels,
    )


def prepare_next(run: Run, review: RunReview, queue: ReviewQueue, verdicts: VerdictLog, number: int) -> None:
    """Compute what the next item shows, while a person looks at this one."""
    following = find_next(queue, verdicts, number)
    numbers = {":".join(map(str, place)): at for at, place in enumerate(queue.list_places())}
    if following in numbers:
        describe_item(run, review, queue.list_items(numbers[following], 1)[0])


def list_other_ranks(run: Run, source: Source, review: RunReview, item: ReviewItem) -> list[tuple[Run, int | None]]:
    """Return the rank of the label in the newest other runs on the same data; None: not listed."""
    from xcwork.review.details import find_rank

    found: list[tuple[Run, int | None]] = []
    for other in selection.list_runs(source):
        if other.id == run.id or len(found) == MAX_OTHER_RUNS:
            continue
        try:
            seen = caches.glance(other)
            if seen.status.state != "finished" or not review.dataset.recognises(seen.measured.get("fingerprint")):
                continue
            found.append((other, find_rank(caches.get_topk(other), item.document, item.label)))
        except XcworkError:  # a damaged run is left out here; Home names it
            continue
    return found


def measure_effect(review: RunReview, queue: ReviewQueue, verdicts: VerdictLog) -> ReviewEffect:
    """Return what the answers change, computed again when there are others."""
    return _measure_effect(review.run, queue.name.value, tuple(a.id for a in verdicts.answers), review, queue, verdicts)


@st.cache_resource(max_entries=12, show_spinner=False)
def _measure_effect(
    run: str, name: str, answers: tuple[str, ...], _review: RunReview, _queue: ReviewQueue, _verdicts: VerdictLog
) -> ReviewEffect:
    from xcwork.review.correction import decide_items
    from xcwork.review.effect import measure_if_confirmed, measure_with

    topk, dataset, split = _review.topk, _review.dataset, _review.split
    decided = decide_items(_verdicts).take_split(split)
    return ReviewEffect(
        measure_with(topk, dataset, {}, split=split, metrics=[METRIC])[METRIC],
        measure_with(topk, dataset, decided, split=split, metrics=[METRIC])[METRIC],
        measure_if_confirmed(topk, dataset, _verdicts, _queue, metrics=[METRIC])[METRIC],
    )
