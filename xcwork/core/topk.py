"""Ranked labels (`TopK`): what a method predicts. It turns into a pandas frame and shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from xcwork.export import html
from xcwork.sparse import pack_rows

if TYPE_CHECKING:
    import pandas as pd

    from xcwork.core.labels import LabelSpace

MISSING = -1
MAX_SHOWN_DOCUMENTS = 5  # in a notebook
MAX_SHOWN_LABELS = 10


@dataclass(frozen=True, eq=False)
class TopK:
    """The best labels of every document: score descending, then label id ascending.

    A slot that no label fills has id -1, score -inf and probability 0; such slots are always at the end of a row.
    """

    ids: np.ndarray  # (n_documents, k) int32
    scores: np.ndarray  # (n_documents, k) float32
    labels: LabelSpace | None = None
    probabilities: np.ndarray | None = None  # (n_documents, k) float32, falling along a row; None: not computed

    def __repr__(self) -> str:
        return f"<the {self.k:,} best labels of {len(self):,} documents>"

    def __len__(self) -> int:
        return self.ids.shape[0]

    @property
    def k(self) -> int:
        return self.ids.shape[1]

    @classmethod
    def make_empty(cls, n_documents: int, k: int) -> TopK:
        """Return a ranking in which no document has a label yet."""
        return cls(np.full((n_documents, k), MISSING, np.int32), np.full((n_documents, k), -np.inf, np.float32))

    @classmethod
    def concatenate(cls, parts: Sequence[TopK]) -> TopK:
        """Return the rows of all `parts`, one after the other; rows may differ in length."""
        if not parts:
            return cls.make_empty(0, 0)
        if len(parts) == 1:
            return parts[0]
        k = max(part.k for part in parts)
        parts = [part.head(k) for part in parts]
        ids, scores = np.vstack([part.ids for part in parts]), np.vstack([part.scores for part in parts])
        probabilities = [part.probabilities for part in parts if part.probabilities is not None]
        stacked = np.vstack(probabilities) if len(probabilities) == len(parts) else None
        return cls(ids, scores, parts[0].labels, stacked)

    def head(self, k: int) -> TopK:
        """Return the first k slots of every row (padded with missing ones when there are fewer)."""
        if k == self.k:
            return self
        known = self.probabilities
        if k < self.k:
            shorter = None if known is None else known[:, :k]
            return replace(self, ids=self.ids[:, :k], scores=self.scores[:, :k], probabilities=shorter)
        wider = TopK.make_empty(len(self), k)
        wider.ids[:, : self.k], wider.scores[:, : self.k] = self.ids, self.scores
        padded = None if known is None else np.pad(known, ((0, 0), (0, k - self.k)))
        return replace(self, ids=wider.ids, scores=wider.scores, probabilities=padded)

    def name_labels(self, labels: LabelSpace) -> TopK:
        """Return the same ranking, of these labels."""
        return TopK(self.ids, self.scores, labels, self.probabilities)

    def where(self, keep: np.ndarray) -> TopK:
        """Keep only the slots marked in `keep` (n_documents, k); the others close up."""
        keep = keep & (self.ids != MISSING)
        order = np.argsort(~keep, axis=1, kind="stable")
        ids = np.take_along_axis(np.where(keep, self.ids, MISSING), order, axis=1)
        scores = np.take_along_axis(np.where(keep, self.scores, -np.inf).astype(np.float32), order, axis=1)
        known = self.probabilities
        kept = None if known is None else np.take_along_axis(np.where(keep, known, np.float32(0)), order, axis=1)
        return replace(self, ids=ids, scores=scores, probabilities=kept)

    def drop_pairs(self, pairs: np.ndarray) -> TopK:
        """Drop the (document row, label id) pairs listed in `pairs` (n, 2), as filter files ask for."""
        if len(pairs) == 0:
            return self
        width = int(max(self.ids.max(initial=0), pairs[:, 1].max())) + 1
        forbidden = pairs[:, 0].astype(np.int64) * width + pairs[:, 1]
        codes = np.arange(len(self), dtype=np.int64)[:, None] * width + self.ids
        return self.where(~np.isin(codes, forbidden))

    def keep_labels(self, labels: np.ndarray) -> TopK:
        """Keep only the given label ids."""
        return self.where(np.isin(self.ids, labels))

    def renumber(self, labels: np.ndarray) -> TopK:
        """Return the same ranking with label labels[i] (ascending) where this one has i."""
        return replace(self, ids=np.where(self.ids == MISSING, MISSING, labels[self.ids]).astype(np.int32))

    def to_csr(self, n_labels: int) -> sparse.csr_array:
        """Return the scores as a sparse matrix (n_documents, n_labels); label ids ascend within a row."""
        return pack_rows(self.ids, self.scores, self.ids != MISSING, n_labels)

    def get_row(self, document: int) -> list[tuple[int, float]]:
        """Return the (label id, score) pairs of one document, best first."""
        present = self.ids[document] != MISSING
        return list(zip(self.ids[document, present].tolist(), self.scores[document, present].tolist(), strict=True))

    def to_records(self, document: int = 0) -> list[dict[str, Any]]:
        """Return one document's predictions, best first: `label`, `score` and, where it is known, `probability`."""
        found = [{"label": self.get_name(label), "score": score} for label, score in self.get_row(document)]
        if self.probabilities is None:
            return found
        known = self.probabilities[document].tolist()[: len(found)]
        return [each | {"probability": probability} for each, probability in zip(found, known, strict=True)]

    def get_name(self, label: int) -> str:
        """Return what a label is called; its id where names are not known."""
        return str(label) if self.labels is None else self.labels.names[label]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per prediction: document, rank, label id, label name, score, and probability if known."""
        import pandas as pd

        document, slot = np.nonzero(self.ids != MISSING)
        ids = self.ids[document, slot]
        names = [self.get_name(label) for label in ids.tolist()]
        columns = {"document": document, "rank": slot + 1, "label_id": ids, "label": names}
        columns |= {"score": self.scores[document, slot]}
        if self.probabilities is not None:
            columns |= {"probability": self.probabilities[document, slot]}
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        rows: list[list[Any]] = []
        for document in range(min(len(self), MAX_SHOWN_DOCUMENTS)):
            listed = self.get_row(document)[:MAX_SHOWN_LABELS]
            # Scores may be negative, so a bar shows where a score lies between the last one shown and the first.
            scores = [score for _, score in listed]
            low, high = (min(0.0, *scores), max(scores)) if len(scores) > 1 else (0.0, 1.0)
            for slot, (label, score) in enumerate(listed):
                bar = html.Bar((score - low) / (high - low) if high > low else 1.0)
                rows.append([document if slot == 0 else "", slot + 1, self.get_name(label), score, bar])
        shown = f"{len(self):,} document{'' if len(self) == 1 else 's'}, the {self.k:,} best labels of each"
        if len(self) > MAX_SHOWN_DOCUMENTS or self.k > MAX_SHOWN_LABELS:
            shown += f"; shown are the first {MAX_SHOWN_LABELS} of {MAX_SHOWN_DOCUMENTS} documents"
        return html.render_table(["document", "rank", "label", "score", ""], rows) + html.render_paragraph(shown)
