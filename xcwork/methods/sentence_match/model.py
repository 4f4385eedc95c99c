"""What sentence matching keeps, how it ranks, and what it says about single words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from xcwork.compute.device import find_tensor_device, resolve_device_kind
from xcwork.core.explanation import Explanation, Family, Part
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.topk import TopK
from xcwork.methods.common.label_rows import read_label_rows
from xcwork.methods.common.occlusion import cut_pieces, measure_pieces
from xcwork.methods.common.sentence_encoder import TextEncoder, embed_directions, get_encoder
from xcwork.methods.common.sentence_rows import check_encoder, list_label_texts, split_embeddings, write_texts
from xcwork.methods.model import FittedModel, check_array, check_csr, check_text
from xcwork.progress import track_batches
from xcwork.search import ExactIndex, top_k_rows
from xcwork.search.index import VECTORS_PER_BLOCK, merge_best
from xcwork.sparse import normalise_rows

DOCUMENTS_PER_BATCH = 512  # scored between two steps of progress
LABEL_TEXT = "the label's text"


def read_word_rows(
    Z: sparse.csr_array | None, labels: LabelSpace, features: Features, weight: float
) -> sparse.csr_array:
    """Return the words of labels as unit rows over the features of documents; empty where nothing weighs them."""
    assert Z is not None  # `fit` refuses data without label text
    if not weight:
        return sparse.csr_array((Z.shape[0], features.size), dtype=np.float32)
    return read_label_rows(Z, labels, features)


@dataclass(frozen=True, kw_only=True, eq=False)
class SentenceMatchModel(FittedModel):
    """The embeddings of the label texts, and the encoder they come from."""

    encoder_identity: str  # a hash of its files
    label_vectors: np.ndarray  # (n_labels, dimension), unit rows; zero for a label without text
    label_words: sparse.csr_array  # (n_labels, n_features), unit rows; empty where `words` is 0

    def check(self) -> None:
        check_text("encoder_identity", self.encoder_identity)
        check_array("label_vectors", self.label_vectors, (self.n_labels, None))
        check_csr("label_words", self.label_words, (self.n_labels, self.n_features))

    @cached_property
    def encoder(self) -> TextEncoder:
        """The encoder that `encoder` names, if it is the one the model was made with."""
        encoder = get_encoder(self.params.encoder, resolve_device_kind(self.params.device), "sentence_match")
        check_encoder(encoder, self.encoder_identity)
        return encoder

    @cached_property
    def index(self) -> ExactIndex:
        """The vectors of the labels, to be compared with all at once."""
        return ExactIndex("ip", device=self.params.device).build(self.label_vectors)

    @cached_property
    def has_text(self) -> np.ndarray:
        """Which labels have a text, (n_labels,) bool."""
        return np.asarray(self.label_vectors.any(axis=1))

    def add_labels(self, labels: LabelSpace, Z: sparse.csr_array) -> Self:
        """Return a model of `labels`, whose last ones are new: known by their texts."""
        texts = list_label_texts(labels, self.features, self.n_labels)
        rows = read_word_rows(Z, self.labels, self.features, self.params.words)
        grown = replace(self, label_vectors=np.vstack([self.label_vectors, embed_directions(texts, self.encoder)]))
        grown = replace(grown, label_words=sparse.csr_array(sparse.vstack([self.label_words, rows])))
        return FittedModel.add_labels(grown, labels, Z)

    def extend(self, Z: sparse.csr_array) -> dict[str, Any]:
        return {}  # `add_labels` did it, which sees the texts

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        allowed = np.flatnonzero(self.has_text)
        if among is not None:
            allowed = among[self.has_text[among]]
        return TopK.concatenate(
            [self._rank(rows, k, allowed) for rows in track_batches(X, DOCUMENTS_PER_BATCH, "matching")]
        )

    def _rank(self, rows: sparse.csr_array, k: int, allowed: np.ndarray) -> TopK:
        """Return the best of the labels `allowed`; a document that says nothing has none."""
        words, vectors = split_embeddings(rows, self.n_features)
        says_something = vectors.any(axis=1)
        if self.params.words or find_tensor_device(self.params.device) is None:
            best = self._compare_with_all(normalise_rows(words), vectors, k, allowed)
        else:
            best = self.index.query(vectors, k, among=allowed)
        found = TopK.make_empty(len(vectors), k)
        found.ids[says_something, : best.k] = best.ids[says_something]
        found.scores[says_something, : best.k] = best.scores[says_something]
        return found

    def _compare_with_all(self, words: sparse.csr_array, vectors: np.ndarray, k: int, allowed: np.ndarray) -> TopK:
        """Return the best labels; sums in double precision are rounded once, so that equal texts have equal scores."""
        best = TopK.make_empty(len(vectors), 0)
        ours = vectors.astype(np.float64)
        for start in range(0, len(allowed), VECTORS_PER_BLOCK):
            part = allowed[start : start + VECTORS_PER_BLOCK]
            scores = ours @ self.label_vectors[part].astype(np.float64).T
            if self.params.words:
                scores += self.params.words * (words @ self.label_words[part].T).toarray()
            best = merge_best(best, top_k_rows(scores.astype(np.float32), k).renumber(part), k)
        return best

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return self.explain_text(write_texts(x[:, : self.n_features], self.features)[0], x, label)

    def explain_text(self, text: str, x: sparse.csr_array, label: int) -> Explanation:
        """Return what each word of `text`, which became the row `x`, takes with it when it is left out."""
        words, vectors = split_embeddings(x, self.n_features)
        target = self.label_vectors[label]

        def score(texts: list[str]) -> np.ndarray:
            return embed_directions(texts, self.encoder) @ target

        pieces = cut_pieces(text, self.features) if target.any() and vectors.any() else []
        losses = measure_pieces(text, pieces, score)
        parts = [Part(term, LABEL_TEXT, value, {}, Family.meaning) for term, value in losses if value]
        exact = list(self._list_shared_words(words, label))
        total = float(vectors[0] @ target) + sum(part.value for part in exact)
        return Explanation.from_parts([*parts, *exact], score=total, approximate=True)

    def _list_shared_words(self, words: sparse.csr_array, label: int) -> Iterator[Part]:
        """Yield what the words in common add, which is exact."""
        if not self.params.words:
            return
        shared = sparse.coo_array(normalise_rows(words) * self.label_words[[label]])
        for term, value in zip(shared.coords[1].tolist(), shared.data.tolist(), strict=True):
            name = self.features.get_name(term)
            yield Part(name, name, self.params.words * value, {}, Family.common_words)

    def label_embeddings(self) -> np.ndarray:
        """Return the vectors of the label texts."""
        return self.label_vectors
