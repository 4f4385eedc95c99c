"""What methods answer with: ranked labels (`TopK`) and reasons for one of them (`Explanation`).

Both are small frozen objects over arrays, know the label names, turn into a pandas frame with `to_frame()` and show
themselves as a table in a notebook.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork import markup
from xcwork.sparse import pack_rows

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.data.dataset import LabelSpace

MISSING = -1
CLOSE, LEAST = 1e-4, 1e-6  # differences between explanation and prediction that are rounding: relative, absolute
SHOWN_DOCUMENTS, SHOWN_LABELS, SHOWN_PARTS = 5, 10, 15  # in a notebook


@dataclass(frozen=True, eq=False)
class TopK:
    """The best labels of every document: score descending, then label id ascending.

    A slot that no label fills has id -1 and score -inf; such slots only stand at the end of a row.
    """

    ids: np.ndarray  # (n_documents, k) int32
    scores: np.ndarray  # (n_documents, k) float32
    labels: LabelSpace | None = None

    def __repr__(self) -> str:
        return f"<the {self.k:,} best labels of {len(self):,} documents>"

    def __len__(self) -> int:
        return self.ids.shape[0]

    @property
    def k(self) -> int:
        return self.ids.shape[1]

    @classmethod
    def empty(cls, n_documents: int, k: int) -> TopK:
        """No label for any document yet."""
        return cls(np.full((n_documents, k), MISSING, np.int32), np.full((n_documents, k), -np.inf, np.float32))

    @classmethod
    def concatenate(cls, parts: Sequence[TopK]) -> TopK:
        """The rows of all `parts`, one after the other; rows may differ in length."""
        if not parts:
            return cls.empty(0, 0)
        k = max(part.k for part in parts)
        parts = [part.head(k) for part in parts]
        return cls(np.vstack([part.ids for part in parts]), np.vstack([part.scores for part in parts]), parts[0].labels)

    def head(self, k: int) -> TopK:
        """The first k slots of every row (padded with missing ones when there are fewer)."""
        if k <= self.k:
            return replace(self, ids=self.ids[:, :k], scores=self.scores[:, :k])
        wider = TopK.empty(len(self), k)
        wider.ids[:, : self.k], wider.scores[:, : self.k] = self.ids, self.scores
        return replace(self, ids=wider.ids, scores=wider.scores)

    def where(self, keep: np.ndarray) -> TopK:
        """Only the slots marked in `keep` (n_documents, k); the others close up."""
        keep = keep & (self.ids != MISSING)
        order = np.argsort(~keep, axis=1, kind="stable")
        ids = np.take_along_axis(np.where(keep, self.ids, MISSING), order, axis=1)
        scores = np.take_along_axis(np.where(keep, self.scores, -np.inf).astype(np.float32), order, axis=1)
        return replace(self, ids=ids, scores=scores)

    def without(self, pairs: np.ndarray) -> TopK:
        """Drop the (document row, label id) pairs listed in `pairs` (n, 2), as filter files ask for."""
        if len(pairs) == 0:
            return self
        width = int(max(self.ids.max(initial=0), pairs[:, 1].max())) + 1
        forbidden = pairs[:, 0].astype(np.int64) * width + pairs[:, 1]
        codes = np.arange(len(self), dtype=np.int64)[:, None] * width + self.ids
        return self.where(~np.isin(codes, forbidden))

    def among(self, labels: np.ndarray) -> TopK:
        """Only the given label ids."""
        return self.where(np.isin(self.ids, labels))

    def renumber(self, labels: np.ndarray) -> TopK:
        """Return the same ranking with label labels[i] (ascending) where this one has i."""
        return replace(self, ids=np.where(self.ids == MISSING, MISSING, labels[self.ids]).astype(np.int32))

    def to_csr(self, n_labels: int) -> sparse.csr_array:
        """The scores as a sparse matrix (n_documents, n_labels); label ids ascend within a row."""
        return pack_rows(self.ids, self.scores, self.ids != MISSING, n_labels)

    def row(self, document: int) -> list[tuple[int, float]]:
        """The (label id, score) pairs of one document, best first."""
        present = self.ids[document] != MISSING
        return list(zip(self.ids[document, present].tolist(), self.scores[document, present].tolist(), strict=True))

    def named(self, document: int = 0) -> list[dict[str, Any]]:
        """One document's predictions as `{"label": name, "score": value}`, best first."""
        return [{"label": self.name(label), "score": score} for label, score in self.row(document)]

    def name(self, label: int) -> str:
        """What a label is called; its id where names are not known."""
        return str(label) if self.labels is None else self.labels.names[label]

    def to_frame(self) -> pd.DataFrame:
        """One row a prediction: document, rank, label id, label name, score."""
        import pandas as pd

        document, slot = np.nonzero(self.ids != MISSING)
        ids = self.ids[document, slot]
        names = [self.name(label) for label in ids.tolist()]
        columns = {"document": document, "rank": slot + 1, "label_id": ids, "label": names}
        return pd.DataFrame(columns | {"score": self.scores[document, slot]})

    def _repr_html_(self) -> str:
        rows: list[list[markup.Cell]] = []
        for document in range(min(len(self), SHOWN_DOCUMENTS)):
            listed = self.row(document)[:SHOWN_LABELS]
            # Scores may be negative, so a bar shows where a score lies between the last one shown and the first.
            scores = [score for _, score in listed]
            low, high = (min(0.0, *scores), max(scores)) if len(scores) > 1 else (0.0, 1.0)
            for slot, (label, score) in enumerate(listed):
                bar = markup.Bar((score - low) / (high - low) if high > low else 1.0)
                rows.append([document if slot == 0 else "", slot + 1, self.name(label), score, bar])
        shown = f"{len(self):,} document{'' if len(self) == 1 else 's'}, the {self.k:,} best labels of each"
        if len(self) > SHOWN_DOCUMENTS or self.k > SHOWN_LABELS:
            shown += f"; shown are the first {SHOWN_LABELS} of {SHOWN_DOCUMENTS} documents"
        return markup.table(["document", "rank", "label", "score", ""], rows) + markup.paragraph(shown)


@dataclass(frozen=True)
class Part:
    """One reason: a document term meets a label term (or a landmark, a head, a tree node, a training document)."""

    document_term: str
    label_term: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """The parts whose sum is the score of one label for one document, largest first.

    `exact` says whether they really add up to what was predicted. Where a method shows predictions on another scale
    than the one on which its parts add up, `predicted` is the shown score and `link` says how it follows from `score`.
    `is_filtered` says that a filter pair of the dataset keeps the label out of every ranking of the document, whatever
    its score.
    """

    score: float
    parts: tuple[Part, ...]
    exact: bool = False
    label: str = ""
    predicted: float | None = None
    link: str = ""
    is_filtered: bool = False

    @classmethod
    def of(cls, parts: Sequence[Part], *, exact: bool = False, score: float | None = None, **rest: Any) -> Explanation:
        """Order `parts` by size; the score is their sum unless it is given."""
        ordered = tuple(sorted(parts, key=lambda part: (-abs(part.value), part.document_term, part.label_term)))
        total = float(sum(part.value for part in ordered)) if score is None else float(score)
        return cls(score=total, parts=ordered, exact=exact, **rest)

    @classmethod
    def of_documents(cls, documents: Sequence[int], shares: Sequence[float], *, exact: bool) -> Explanation:
        """Reasons that are training documents, each with the share it contributes."""
        parts = [
            Part(f"training document {i}", "carries the label", float(v))
            for i, v in zip(documents, shares, strict=True)
        ]
        return cls.of(parts, exact=exact)

    def compared_with(self, predicted: float | None) -> Explanation:
        """Return this explanation with `exact` found out: do its parts add up to the score that was predicted?

        Where they do not, it shows the predicted score. A label that the method does not list (None) has only the score
        of the explanation to agree with.
        """
        largest = max((abs(part.value) for part in self.parts), default=0.0)  # what rounding is relative to
        adds_up = math.isclose(sum(part.value for part in self.parts), self.score, abs_tol=CLOSE * largest)
        if predicted is None:
            return replace(self, exact=adds_up)
        if self.predicted is not None:  # on a scale of its own
            agrees = math.isclose(self.predicted, predicted, rel_tol=CLOSE, abs_tol=LEAST)
            return replace(self, exact=adds_up and agrees, predicted=self.predicted if agrees else predicted)
        agrees = math.isclose(self.score, predicted, rel_tol=CLOSE, abs_tol=max(CLOSE * largest, LEAST))
        return replace(self, exact=adds_up and agrees, score=self.score if agrees else predicted)

    def __repr__(self) -> str:
        return f"<{len(self.parts):,} reasons for {self.label or 'a label'}: {self.score:.4f}>"

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def to_frame(self) -> pd.DataFrame:
        """One row a part, with the details a method adds as further columns."""
        import pandas as pd

        columns = ["document_term", "label_term", "value"]
        rows = [
            {"document_term": p.document_term, "label_term": p.label_term, "value": p.value, **p.details} for p in self
        ]
        return pd.DataFrame(rows, columns=None if rows else columns)

    def to_dict(self) -> dict[str, Any]:
        """The form the command line prints with `--json`."""
        parts = [
            {"document_term": p.document_term, "label_term": p.label_term, "value": p.value, **p.details} for p in self
        ]
        return {
            "label": self.label, "score": self.score, "exact": self.exact,
            "predicted": self.score if self.predicted is None else self.predicted, "link": self.link,
            "is_filtered": self.is_filtered, "parts": parts,
        }  # fmt: skip

    def _repr_html_(self) -> str:
        kind = "exactly" if self.exact else "approximately"
        count = f"{len(self.parts):,} {'part adds' if len(self.parts) == 1 else 'parts add'} up {kind}"
        shown = self.parts[:SHOWN_PARTS]
        rows: list[list[markup.Cell]] = [
            [part.document_term, part.label_term, str(part.details.get("kind", "")), f"{part.value:+.4f}", bar]
            for part, bar in zip(shown, markup.bars([part.value for part in shown]), strict=True)
        ]
        rest = self.parts[SHOWN_PARTS:]
        if rest:
            rows.append([f"({len(rest):,} smaller parts)", "", "", f"{sum(part.value for part in rest):+.4f}", ""])
        table = markup.table(["document term", "label term", "kind", "value", ""], rows)
        linked = f", shown as {self.predicted:.4f} ({self.link})" if self.link and self.predicted is not None else ""
        return markup.heading(self.label) + markup.paragraph(f"{count} to {self.score:.4f}{linked}") + table
