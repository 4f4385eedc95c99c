"""What people said about labels: one line per answer in `<home>/data/reviews/<dataset>.jsonl`, only ever appended to.

    {"event": "answer", "id": "6f…", "verdict": "right", "by": "ann", "when": "2026-…", "run": "…", "queue": "missing",
     "dataset": "…", "fingerprint": "2-…", "split": "test", "document": 47, "key": "…", "content": "…", "label": "…",
     "label_key": "…", "probability": 0.87, "note": ""}
    {"event": "undo", "id": "9a…", "undoes": "6f…", "by": "ann", "when": "2026-…"}
    {"event": "request", "id": "c3…", "by": "ann", "when": "2026-…", "queue": "requested", …}

*Right* says that the label belongs to the document, *wrong* that it does not, whatever is annotated. An undo takes back
one answer by its id, so two people never undo each other's; an earlier answer of the same person to the same item
counts again. Of every person the last answer to an item counts. A *request* says nothing about the label: a person
puts it into the review, so that somebody answers it.

`load_verdicts` reads what is readable and names the rest with its line: lines that are no answers, half-written ones,
and answers about documents or labels that this dataset does not have.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from xcwork.core.dataset import Dataset
from xcwork.data.data_folder import locate_reviews
from xcwork.data.load import REVIEW_MARKER
from xcwork.errors import ConfigError, DataError
from xcwork.review.documents import SPLITS, DatasetKeys
from xcwork.storage.atomic import encode_json
from xcwork.storage.journal import append_line

MAX_NOTE_CHARACTERS = 10_000
MAX_NAME_CHARACTERS = 200
REQUESTED = "requested"  # the queue of what people put into the review
_TEXTS = ("id", "by", "when", "run", "queue", "dataset", "fingerprint", "split", "key", "content", "label", "label_key")


class ReviewVerdict(StrEnum):
    """What a person says about one label of one document."""

    right = "right"
    wrong = "wrong"
    unsure = "unsure"


@dataclass(frozen=True)
class Answer:
    """One answer, and where it is in the dataset that is open now."""

    id: str
    verdict: ReviewVerdict
    note: str
    by: str
    when: str
    run: str
    queue: str
    split: str
    document: int  # row in its split
    label: int  # id
    probability: float | None

    @property
    def item(self) -> tuple[str, int, int]:
        """What was answered: split, document row and label id."""
        return self.split, self.document, self.label


@dataclass(frozen=True)
class ReviewRequest:
    """A label of a document that a person put into the review, and where it is in the dataset that is open now."""

    id: str
    by: str
    when: str
    run: str
    split: str
    document: int  # row in its split
    label: int  # id
    probability: float | None

    @property
    def item(self) -> tuple[str, int, int]:
        """What is asked about: split, document row and label id."""
        return self.split, self.document, self.label


@dataclass(frozen=True)
class VerdictLog:
    """All answers that count, and what was left out."""

    answers: tuple[Answer, ...]  # in the order of the file, without those that were taken back or replaced
    problems: tuple[str, ...]  # a sentence for each line that does not count
    requests: tuple[ReviewRequest, ...] = ()  # in the order of the file, the first one for each item

    def group_by_item(self) -> dict[tuple[str, int, int], list[Answer]]:
        """Return the answers to every item, at most one for each person."""
        found: dict[tuple[str, int, int], list[Answer]] = {}
        for answer in self.answers:
            found.setdefault(answer.item, []).append(answer)
        return found

    def find_last(self, by: str) -> Answer | None:
        """Return the newest answer of a person."""
        return next((answer for answer in reversed(self.answers) if answer.by == by), None)


def store_answer(
    home: Path,
    keys: DatasetKeys,
    item: tuple[str, int, int],
    verdict: ReviewVerdict | str,
    *,
    by: str,
    run: str = "",
    queue: str = "",
    probability: float | None = None,
    note: str = "",
) -> Answer:
    """Append one answer; when this returns, it is on the disk."""
    split, document, label = item
    dataset = keys.dataset
    check_item(dataset, item)
    by, note = _check_person(by), note.strip()
    if verdict not in list(ReviewVerdict):
        raise ConfigError(f"{str(verdict)!r} is not an answer; give one of {', '.join(ReviewVerdict)}")
    if len(note) > MAX_NOTE_CHARACTERS:
        raise ConfigError(f"a note may have {MAX_NOTE_CHARACTERS:,} characters, this one has {len(note):,}")
    answer = Answer(
        uuid.uuid4().hex,
        ReviewVerdict(verdict),
        note,
        by,
        _format_time(),
        run,
        queue,
        split,
        document,
        label,
        probability,
    )
    line = {"event": "answer", "id": answer.id, "verdict": answer.verdict.value, "by": by, "when": answer.when}
    line |= {"run": run, "queue": queue} | _describe_place(keys, item) | {"probability": probability, "note": note}
    _append(locate_reviews(dataset.name, home), line)
    return answer


def store_request(
    home: Path,
    keys: DatasetKeys,
    item: tuple[str, int, int],
    *,
    by: str,
    run: str = "",
    probability: float | None = None,
) -> ReviewRequest:
    """Append the wish of a person that an item be reviewed; when this returns, it is on the disk."""
    check_item(keys.dataset, item)
    made = ReviewRequest(uuid.uuid4().hex, _check_person(by), _format_time(), run, *item, probability)
    line = {"event": "request", "id": made.id, "by": made.by, "when": made.when, "run": run, "queue": REQUESTED}
    line |= _describe_place(keys, item) | {"probability": probability}
    _append(locate_reviews(keys.dataset.name, home), line)
    return made


def _describe_place(keys: DatasetKeys, item: tuple[str, int, int]) -> dict[str, Any]:
    """Return what tells an item again after the dataset was sorted, split or extended again."""
    split, document, label = item
    dataset, documents = keys.dataset, keys.splits[split]
    return {
        "dataset": dataset.name,
        "fingerprint": dataset.fingerprint,
        "split": split,
        "document": document,
        "key": documents.keys[document],
        "content": documents.hash_content(document),
        "label": dataset.labels.names[label],
        "label_key": keys.labels[label],
    }


def undo_answer(home: Path, keys: DatasetKeys, answer: Answer, *, by: str) -> None:
    """Take back one answer of the same person; the file keeps both."""
    by = _check_person(by)
    if answer.by != by:
        raise ConfigError(f"this answer is by {answer.by}, and {by} cannot take it back")
    event = {"event": "undo", "id": uuid.uuid4().hex, "undoes": answer.id, "by": by, "when": _format_time()}
    _append(locate_reviews(keys.dataset.name, home), event)


def load_verdicts(home: Path, keys: DatasetKeys) -> VerdictLog:
    """Return the answers about a dataset that count; what cannot be read or is about other data is named."""
    path = locate_reviews(keys.dataset.name, home)
    answers: dict[str, Answer] = {}
    requests: dict[tuple[str, int, int], ReviewRequest] = {}
    undone: set[str] = set()
    left_out: set[str] = set()
    problems: list[str] = []
    for number, content in _read_lines(path):
        event = _parse(content)
        if event is None:
            problems.append(f"{path.name}, line {number}: not a complete answer")
        elif event["event"] == "undo":
            target = answers.get(event["undoes"])
            if target is not None and target.by == event["by"]:
                undone.add(target.id)
            elif event["undoes"] not in left_out:
                problems.append(f"{path.name}, line {number}: takes back an answer that {event['by']} did not give")
        elif isinstance(found := _locate(event, keys), str):
            left_out.add(event["id"])
            problems.append(f"{path.name}, line {number}: {found}")
        elif isinstance(found, ReviewRequest):
            requests.setdefault(found.item, found)
        else:
            answers[found.id] = found
    standing = {(answer.item, answer.by): answer for answer in answers.values() if answer.id not in undone}
    order = {id: place for place, id in enumerate(answers)}
    counted = tuple(sorted(standing.values(), key=lambda answer: order[answer.id]))
    return VerdictLog(counted, tuple(problems), tuple(requests.values()))


def check_item(dataset: Dataset, item: tuple[str, int, int]) -> None:
    """Reject an item that the dataset does not have."""
    split, document, label = item
    if split not in SPLITS:
        raise DataError(f"there is no split {split!r}; it is one of {', '.join(SPLITS)}")
    size = len(dataset.train if split == "train" else dataset.test)
    if not 0 <= document < size:
        raise DataError(f"there is no document {document} in the {split} split; rows go from 0 to {size - 1}")
    dataset.labels.find_id(label)


def _append(path: Path, event: Mapping[str, Any]) -> None:
    try:
        _make_folder(path.parent)
        append_line(path, encode_json(event), is_durable=True)
    except OSError as failure:
        raise DataError(
            f"the answer could not be stored ({failure.strerror or failure})",
            file=path,
            remedy="make room or allow writing there, and answer again",
        ) from None


def _make_folder(folder: Path) -> None:
    if (folder / REVIEW_MARKER).exists():
        return
    # The marker is looked for again after the listing: somebody else may be making the folder right now.
    if folder.is_dir() and any(folder.iterdir()) and not (folder / REVIEW_MARKER).exists():
        raise DataError("a dataset has the name of the folder for reviews", file=folder, remedy="rename the dataset")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REVIEW_MARKER).touch()


def _read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank with their numbers; nothing where there is no file."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        return
    except OSError as failure:
        raise DataError(f"the answers cannot be read ({failure.strerror or failure})", file=path) from None


def _parse(content: bytes) -> dict[str, Any] | None:
    """Return the event in a line; None if it is none."""
    try:
        event = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    kind = event.get("event")
    if kind == "undo":
        return event if all(isinstance(event.get(name), str) for name in ("undoes", "by")) else None
    is_answer = (
        kind == "answer" and event.get("verdict") in list(ReviewVerdict) and isinstance(event.get("note", ""), str)
    )
    is_known = is_answer or kind == "request"
    return event if is_known and all(isinstance(event.get(name), str) for name in _TEXTS) else None


def _locate(event: dict[str, Any], keys: DatasetKeys) -> Answer | ReviewRequest | str:
    """Return the answer or the request with its place in the dataset, or why it is not about this dataset."""
    place = keys.find_document(event["key"], event["split"])
    if place is None:
        return "the document is not in this dataset"
    split, row = place
    same_data = keys.dataset.recognises(event["fingerprint"])
    if not same_data and keys.splits[split].hash_content(row) != event["content"]:
        return "it is about another dataset, or the document has changed since"
    label = keys.label_ids.get(event["label_key"])
    if label is None or keys.dataset.labels.names[label] != event["label"]:
        return "the label is not in this dataset"
    facts = {name: event[name] for name in ("id", "by", "when", "run")}
    if event["event"] == "request":
        return ReviewRequest(
            **facts, split=split, document=row, label=label, probability=_read_probability(event.get("probability"))
        )
    return Answer(
        **facts,
        queue=event["queue"],
        verdict=ReviewVerdict(event["verdict"]),
        note=event["note"][:MAX_NOTE_CHARACTERS],
        split=split,
        document=row,
        label=label,
        probability=_read_probability(event.get("probability")),
    )


def _read_probability(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None


def _check_person(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAME_CHARACTERS:
        raise ConfigError(f"say who answers, in 1 to {MAX_NAME_CHARACTERS} characters")
    return name


def _format_time() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
