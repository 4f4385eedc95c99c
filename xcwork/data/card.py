"""The dataset card: what is in a dataset, and what in it is likely to cause trouble.

Everything is counted on the sparse matrices in a few vectorised passes: O(entries) time, and memory for one block of
entries and a few numbers per document. Two documents are duplicates when their texts are equal or, without texts, when
their feature rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.split import Split
from xcwork.data.hashing import hash_rows
from xcwork.data.self_links import count_filtered_self_links, count_open_self_links, count_shared_titles
from xcwork.export import html
from xcwork.text.languages import LANGUAGES

MAX_CURVE_POINTS = 60


@dataclass(frozen=True)
class Card:
    """The counts of a dataset, ready for JSON, a terminal or a notebook."""

    name: str
    source: str
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    n_seen_labels: int
    n_unseen_labels: int
    labels_per_document: float  # mean over all documents
    train_labels_per_document: dict[str, float]
    test_labels_per_document: dict[str, float]
    train_documents_per_label: dict[str, float]  # of the labels that occur in training
    unseen_share_of_test: float  # percent of the test positives whose label never occurs in training
    frequency_curve: list[dict[str, int]]  # training documents of the label at some ranks, evenly spread on a log scale
    frequency_bins: list[dict[str, int]]  # labels by powers of two of their training documents
    bands: dict[str, dict[str, Any]]
    empty_documents: dict[str, int]
    unlabelled_documents: dict[str, int]
    duplicate_documents: dict[str, int]
    overlapping_documents: int  # test documents that occur in training, too
    orphan_labels: int
    duplicate_label_names: int
    missing_label_texts: int | None  # None: the labels have no texts at all
    label_features: int | None
    has_texts: bool
    languages: dict[str, int]  # training documents that are read by the rules of a language; empty without texts
    n_groups: int | None
    filter_pairs: dict[str, int]
    self_links: dict[str, int]  # filter pairs of a document and the label that is the same thing
    memory_bytes: int
    propensity: dict[str, Any]
    notes: list[str] = field(default_factory=list)  # how the files were read, where they left a choice
    problems: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_text(self) -> str:
        """Return the card for a terminal."""
        rows = list(self._list_rows())
        width = max(len(name) for name, _ in rows)
        lines = [self.name, *(f"  {name:<{width}}  {value}" for name, value in rows)]
        notes = (f"  * {note}" for note in self.notes)
        return "\n".join([*lines, *notes, *(f"  ! {problem}" for problem in self.problems)])

    __str__ = to_text

    def _repr_html_(self) -> str:
        table = html.render_table(["", ""], self._list_rows())
        sentences = map(html.render_paragraph, (*self.notes, *self.problems))
        return "".join([html.render_heading(self.name), table, *sentences])

    def name_languages(self) -> str:
        """Return the languages by whose rules the texts are read, with the share of the documents where several are."""
        total = max(1, sum(self.languages.values()))
        names = {LANGUAGES[code].name: count / total for code, count in self.languages.items()}
        return ", ".join(f"{name} {share:.0%}" if len(names) > 1 else name for name, share in names.items())

    def _list_rows(self) -> Iterator[tuple[str, str]]:
        yield "source", self.source
        yield "documents", f"{self.n_train:,} train, {self.n_test:,} test"
        if self.languages:
            yield "languages", self.name_languages()
        yield "features", f"{self.n_features:,}" + ("" if not self.has_texts else ", raw texts kept")
        share = f"{self.unseen_share_of_test:.1f} % of the test positives"
        yield "labels", f"{self.n_labels:,}: {self.n_seen_labels:,} seen, {self.n_unseen_labels:,} unseen ({share})"
        for part in ("train", "test"):
            yield f"labels per document, {part}", _format_summary(getattr(self, f"{part}_labels_per_document"))
        yield "documents per label, train", _format_summary(self.train_documents_per_label)
        for name, bands in self.bands.items():
            shown = (f"{band} {counts['labels']:,} ({counts['share']:.1f} %)" for band, counts in bands.items())
            yield f"bands by {name}", ", ".join(shown)
        for name in ("empty_documents", "unlabelled_documents", "duplicate_documents", "filter_pairs", "self_links"):
            counts = getattr(self, name)
            yield name.replace("_", " "), f"{counts['train']:,} train, {counts['test']:,} test"
        yield "train/test overlap", f"{self.overlapping_documents:,} documents"
        yield "orphan labels", f"{self.orphan_labels:,}"
        if self.missing_label_texts is not None:
            yield "label texts", f"{self.n_labels - self.missing_label_texts:,} of {self.n_labels:,}"
        if self.n_groups is not None:
            yield "groups", f"{self.n_groups:,}"
        yield "memory", f"{self.memory_bytes / 2**20:,.0f} MiB"
        yield "propensity", f"A = {self.propensity['A']}, B = {self.propensity['B']} ({self.propensity['source']})"


def describe(dataset: Dataset) -> Card:
    """Return what there is to know about a dataset before training: counts, frequencies, problems.

    Returns
    -------
    Card
        A mapping from a name to a number, a text or a list; it shows itself as a table in a notebook.
    """
    train, test, labels = dataset.train, dataset.test, dataset.labels
    frequencies, in_test = train.label_frequencies, test.label_frequencies
    seen = frequencies > 0
    keys = {"train": _hash_split(train), "test": _hash_split(test)}
    texts = labels.texts
    card = {
        "name": dataset.name,
        "source": dataset.source,
        "n_train": len(train),
        "n_test": len(test),
        "n_features": dataset.features.size,
        "n_labels": len(labels),
        "n_seen_labels": int(seen.sum()),
        "n_unseen_labels": int((~seen).sum()),
        "labels_per_document": round((train.Y.nnz + test.Y.nnz) / max(1, len(train) + len(test)), 2),
        "train_labels_per_document": _summarise(np.diff(train.Y.indptr)),
        "test_labels_per_document": _summarise(np.diff(test.Y.indptr)),
        "train_documents_per_label": _summarise(frequencies[seen]),
        "unseen_share_of_test": round(100 * float(in_test[~seen].sum()) / max(1, test.Y.nnz), 2),
        "frequency_curve": _make_curve(frequencies),
        "frequency_bins": _make_bins(frequencies),
        "bands": _count_bands(frequencies),
        "empty_documents": _count_by_split(dataset, lambda split: int((np.diff(split.X.indptr) == 0).sum())),
        "unlabelled_documents": _count_by_split(dataset, lambda split: int((np.diff(split.Y.indptr) == 0).sum())),
        "duplicate_documents": {part: len(of) - len(np.unique(of)) for part, of in keys.items()},
        "overlapping_documents": int(np.isin(keys["test"], keys["train"]).sum()),
        "orphan_labels": int((~seen & (in_test == 0)).sum()),
        "duplicate_label_names": len(labels.names) - len(set(labels.names)),
        "missing_label_texts": None if texts is None else sum(not text.strip() for text in texts),
        "label_features": None if labels.Z is None else labels.Z.shape[1],
        "has_texts": train.texts is not None,
        "languages": _count_languages(train),
        "n_groups": None if train.groups is None else len({*train.groups, *(test.groups or ())}),
        "filter_pairs": _count_by_split(
            dataset, lambda split: 0 if split.filter_pairs is None else len(split.filter_pairs)
        ),
        "self_links": _count_by_split(dataset, count_filtered_self_links),
        "memory_bytes": _measure_memory(dataset),
        "propensity": asdict(dataset.propensity),
        "notes": list(dataset.notes),
    }
    return Card(**card, problems=list(_list_problems(dataset, card)))


def _count_languages(train: Split) -> dict[str, int]:
    vectorizer = train.features.vectorizer
    return {} if vectorizer is None or train.texts is None else vectorizer.count_languages(train.texts)


def _count_by_split(dataset: Dataset, count: Any) -> dict[str, int]:
    return {"train": count(dataset.train), "test": count(dataset.test)}


def _summarise(counts: np.ndarray) -> dict[str, float]:
    if not len(counts):
        return {"mean": 0.0, "median": 0.0, "max": 0}
    return {"mean": round(float(counts.mean()), 2), "median": float(np.median(counts)), "max": int(counts.max())}


def _format_summary(statistics: dict[str, float]) -> str:
    return f"mean {statistics['mean']:,.2f}, median {statistics['median']:,.0f}, at most {statistics['max']:,}"


def _hash_split(split: Split) -> np.ndarray:
    """Return a number per document, equal for equal documents; documents without content are left out."""
    if split.texts is not None:
        return np.fromiter((hash(text) for text in split.texts if text.strip()), np.int64)
    return hash_rows(split.X)[np.diff(split.X.indptr) > 0]


def _make_curve(frequencies: np.ndarray) -> list[dict[str, int]]:
    """Return points of the rank-frequency curve of the seen labels."""
    ordered = np.sort(frequencies[frequencies > 0])[::-1]
    if not len(ordered):
        return []
    ranks = np.unique(np.geomspace(1, len(ordered), MAX_CURVE_POINTS).round().astype(np.int64))
    return [{"rank": int(rank), "frequency": int(ordered[rank - 1])} for rank in ranks]


def _make_bins(frequencies: np.ndarray) -> list[dict[str, int]]:
    """Return how many labels have 0, 1, 2–3, 4–7, … training documents."""
    exponents = np.where(frequencies > 0, np.floor(np.log2(np.maximum(frequencies, 1))).astype(int) + 1, 0)
    counts = np.bincount(exponents)
    bounds = [(0, 0), *((2 ** (i - 1), 2**i - 1) for i in range(1, len(counts)))]
    return [{"from": low, "to": high, "labels": int(count)} for (low, high), count in zip(bounds, counts, strict=True)]


def _count_bands(frequencies: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return labels and share of the training positives of each band, by both definitions."""
    from xcwork.core.bands import make_absolute_bands, make_share_bands

    total = max(1, int(frequencies.sum()))
    described = {}
    for name, bands in (("count", make_absolute_bands(frequencies)), ("share", make_share_bands(frequencies))):
        labels = np.bincount(bands.of_label, minlength=len(bands.names))
        positives = np.bincount(bands.of_label, weights=frequencies, minlength=len(bands.names))
        described[name] = {
            band: {"labels": int(labels[i]), "share": round(100 * float(positives[i]) / total, 2)}
            for i, band in enumerate(bands.names)
        }
    return described


def _measure_memory(dataset: Dataset) -> int:
    """Return the bytes of matrices and texts."""
    total = 0
    for split in (dataset.train, dataset.test):
        total += _count_bytes(split.X) + _count_bytes(split.Y) + sum(len(text) + 50 for text in split.texts or ())
    return total + (0 if dataset.labels.Z is None else _count_bytes(dataset.labels.Z))


def _count_bytes(matrix: sparse.csr_array) -> int:
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def _list_problems(dataset: Dataset, card: dict[str, Any]) -> Iterator[str]:
    for part, name in (("train", "training document"), ("test", "test document")):
        if count := card["empty_documents"][part]:
            yield f"{_phrase_count(count, name, 'has', 'have')} no features: nothing can be predicted from them"
        if count := card["unlabelled_documents"][part]:
            yield f"{_phrase_count(count, name, 'has', 'have')} no labels, which counts as a miss in every measure"
        if count := card["duplicate_documents"][part]:
            yield f"{_phrase_count(count, name, 'repeats', 'repeat')} an earlier one"
    if count := card["overlapping_documents"]:
        shown = _phrase_count(count, "test document", "occurs", "occur")
        yield f"{shown} in the training split, too: results will look better than they are"
    if count := card["orphan_labels"]:
        yield f"{_phrase_count(count, 'label', 'occurs', 'occur')} in no document"
    if count := card["duplicate_label_names"]:
        yield f"{_phrase_count(count, 'label', 'has', 'have')} the name of another one: results will be hard to read"
    if count := card["missing_label_texts"]:
        yield f"{_phrase_count(count, 'label', 'has', 'have')} no text: zero-shot methods cannot find them"
    splits = (dataset.train, dataset.test)
    if any(split.X.nnz and split.X.data.min() < 0 for split in splits):
        yield "some feature values are negative: methods made for tf-idf may not suit them"
    if count := sum(_count_filtered_positives(split) for split in splits):
        shown = _phrase_count(count, "filter pair", "is a true label", "are true labels")
        yield f"{shown}, which can never be predicted"
    if count := sum(map(count_open_self_links, splits)):
        singular = "is a label itself, so it may be predicted for itself"
        plural = "are labels themselves, so they may be predicted for themselves"
        yield f"{_phrase_count(count, 'document', singular, plural)}: `self_links=auto` prevents that"
    if count := sum(map(count_shared_titles, splits)):
        shown = _phrase_count(
            count, "document", "is called like a label it does not have", "are called like labels they do not have"
        )
        yield f"{shown}: where both are the same thing, give both the same uid"


def _phrase_count(count: int, noun: str, singular: str, plural: str) -> str:
    return f"1 {noun} {singular}" if count == 1 else f"{count:,} {noun}s {plural}"


def _count_filtered_positives(split: Split) -> int:
    return 0 if split.filter_pairs is None else int(split.has_labels(split.filter_pairs).sum())
