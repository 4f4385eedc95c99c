"""What a table will be as a dataset, before it is one: figures, what looks wrong, and what stands in its way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xcwork.data.readers.markup import has_markup
from xcwork.data.readers.preview import Preview

MIN_DOCUMENTS = 2
MAX_FREQUENT_LABELS = 4
MIN_LABELS_TO_JUDGE = 10  # below which it says little that each of them occurs once
MOSTLY_ONCE_SHARE = 0.9  # of the labels, used only once: then it is probably another column


@dataclass(frozen=True)
class UploadFinding:
    """One line about an upload."""

    sentence: str
    is_good: bool


@dataclass(frozen=True)
class UploadSummary:
    """What the first records of a table come to; without an obstacle they can become a dataset."""

    n_documents: int
    n_labels: int
    labels_per_document: float
    n_used_once: int  # labels that one document has
    frequent_labels: tuple[tuple[str, int], ...]
    findings: tuple[UploadFinding, ...]
    obstacle: str  # a sentence; "": nothing stands in the way


def summarise_upload(seen: Preview) -> UploadSummary:
    """Return what the previewed records come to."""
    counts = Counter(name for labels in seen.labels for name in labels)
    n_documents, n_once = len(seen.texts), sum(count == 1 for count in counts.values())
    return UploadSummary(
        n_documents,
        len(counts),
        counts.total() / max(1, n_documents),
        n_once,
        tuple(counts.most_common(MAX_FREQUENT_LABELS)),
        tuple(_list_findings(seen, len(counts), n_once)),
        _find_obstacle(seen, len(counts)),
    )


def _find_obstacle(seen: Preview, n_labels: int) -> str:
    if seen.error is not None:
        return "These columns cannot be read."
    if len(seen.texts) < MIN_DOCUMENTS:
        return f"At least two documents are needed, and there is {'one' if seen.texts else 'none'}."
    if not any(text.strip() for text in seen.texts):
        return "No document has a text. Choose another text column."
    if not n_labels:
        return "No document has a label. Choose another labels column."
    return ""


def _list_findings(seen: Preview, n_labels: int, n_once: int) -> list[UploadFinding]:
    without_text = sum(not text.strip() for text in seen.texts)
    without_label = sum(not labels for labels in seen.labels)
    repeated = len(seen.texts) - len({*seen.texts})
    counted = (
        (without_text, "has no text", "have no text"),
        (without_label, "has no label", "have no label"),
        (repeated, "repeats an earlier one", "repeat an earlier one"),
    )
    wrong = [f"{count:,} {one if count == 1 else many}" for count, one, many in counted if count]
    findings = [
        UploadFinding(f"Of {len(seen.texts):,} documents {', '.join(wrong)}.", is_good=False)
        if wrong
        else UploadFinding("Every document has a text and a label; none occurs twice.", is_good=True)
    ]
    if n_labels >= MIN_LABELS_TO_JUDGE and n_once >= MOSTLY_ONCE_SHARE * n_labels:
        findings.append(UploadFinding("Nearly every label occurs once. Is this the labels column?", is_good=False))
    if has_markup(seen.texts):
        findings.append(UploadFinding("Most texts contain HTML tags. They will be removed.", is_good=False))
    return findings
