"""What SiameseXML learns, and how it ranks and explains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.core.explanation import Explanation
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.core.topk import TopK
from xcwork.methods.common.sentence_encoder import TextEncoder, embed_directions
from xcwork.methods.common.sentence_rows import (
    check_encoder,
    join_embeddings,
    list_label_texts,
    read_sentence_rows,
    write_texts,
)
from xcwork.methods.inputs import Documents
from xcwork.methods.model import (
    FittedModel,
    Misfit,
    check_array,
    check_arrays,
    check_csr,
    check_history,
    check_keys,
    check_number,
    check_text,
    for_display,
    narrow,
)
from xcwork.methods.siamesexml.initial_embeddings import SENTENCE
from xcwork.methods.siamesexml.token_map import TokenMap, split_columns
from xcwork.progress import track_batches
from xcwork.sparse import enlarge

if TYPE_CHECKING:  # torch takes long to import, and a list of methods does without it
    from xcwork.methods.siamesexml.diagnostics import CosineHistogram, ModelProbe
    from xcwork.methods.siamesexml.prediction import SiameseRanker

DOCUMENTS_PER_BATCH = 1024  # scored between two steps of progress
MEMBER_FIELDS = {
    "encoder",
    "classifiers",
    "eta_norms",
    "text",
    "centroids",
    "documents",
    "correlation",
    "indices",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SiameseXMLModel(FittedModel):
    """The arrays of all members, and how far their scores are trusted."""

    Z: sparse.csr_array  # (n_labels, n_tokens): the texts of the labels
    label_tokens: np.ndarray  # (n_label_features,): the token of each label feature
    Y: sparse.csr_array  # (n_documents, n_labels): the labels of the training documents
    fusion_weights: np.ndarray  # (7, 3): of six scores and the constant, by traits of the label
    unseen_bonus: float  # added to the constant of unseen labels
    word_weights: sparse.csr_array  # (n_tokens, n_labels): classifiers over words
    word_bias: np.ndarray  # (n_labels,)
    members: list[dict[str, Any]]  # the arrays of each encoder, its classifiers and its searches
    curves: dict[str, Any] = for_display()  # values after each epoch, by phase

    def check(self) -> None:
        check_csr("Z", self.Z, (self.n_labels, None))
        n_tokens = self.Z.shape[1]
        n_label_features = (self.labels.features or self.features).size
        check_array("label_tokens", self.label_tokens, (n_label_features,), kind="i", below=n_tokens)
        if n_tokens != self.tokens.size:
            raise Misfit("Z has other tokens than the documents and labels")
        check_csr("Y", self.Y, (None, self.n_labels))
        check_array("fusion_weights", self.fusion_weights, (7, 3))
        check_number("unseen_bonus", self.unseen_bonus)
        check_csr("word_weights", self.word_weights, (n_tokens, self.n_labels))
        check_array("word_bias", self.word_bias, (self.n_labels,))
        check_history("curves", self.curves)
        members: Any = self.members  # whatever a file has
        if not isinstance(members, list) or len(members) != self.params.members:
            raise Misfit("members is not a list of the right length")
        for member in members:
            self._check_member(member, n_tokens)

    def _check_member(self, member: Any, n_tokens: int) -> None:
        """Check the arrays of one member; N_ν adds a dimension to embeddings, and one more to classifiers."""
        check_keys("members", member, MEMBER_FIELDS)
        encoder = member["encoder"]
        is_frozen = self.params.start == SENTENCE
        check_keys("encoder", encoder, {"table", "residual", *(("identity",) if is_frozen else ())})
        if is_frozen:
            check_text("identity", encoder["identity"])
        check_array("table", encoder["table"], (0 if is_frozen else n_tokens, None))
        width = encoder["table"].shape[1] + (self.params.nu > 0)
        residual = encoder["residual"]
        check_keys("residual", residual, {"R", "bias", "radius", "left"})
        check_array("R", residual["R"], (width, width))
        check_array("bias", residual["bias"], (width,))
        check_array("radius", residual["radius"], (1,))
        check_array("left", residual["left"], (width,))
        check_array("classifiers", member["classifiers"], (self.n_labels, width + (self.params.nu > 0)))
        check_array("eta_norms", member["eta_norms"], (2,))
        check_array("text", member["text"], (self.n_labels, width))
        check_array("centroids", member["centroids"], (self.n_labels, width))
        check_array("documents", member["documents"], (self.Y.shape[0], width))
        check_csr("correlation", member["correlation"], (self.n_labels, self.n_labels))
        check_arrays("indices", member["indices"])

    @cached_property
    def sentences(self) -> TextEncoder | None:
        """The sentence encoder that gave f, if it is the one the model was trained with; None: tokens gave it."""
        if self.params.start != SENTENCE:
            return None
        from xcwork.methods.siamesexml.encoded_texts import find_sentence_encoder

        encoder = find_sentence_encoder(self.params)
        check_encoder(encoder, self.members[0]["encoder"]["identity"])
        return encoder

    def read_rows(self, documents: Documents) -> sparse.csr_array:
        """Return documents as rows of features that go on with the embeddings of their texts."""
        assert self.sentences is not None
        return read_sentence_rows(documents, self.features, self.sentences)

    def add_labels(self, labels: LabelSpace, Z: sparse.csr_array) -> Self:
        """Return a model of `labels`, whose last ones are new and have the features `Z`."""
        if self.sentences is not None:
            texts = list_label_texts(labels, self.features, self.n_labels)
            Z = join_embeddings(Z, embed_directions(texts, self.sentences))
        return super().add_labels(labels, Z)

    def extend(self, Z: sparse.csr_array) -> dict[str, Any]:
        rows = self.tokens.map_labels(Z)
        n_labels = self.n_labels + rows.shape[0]
        words = self.ranker.words.extend(rows.shape[0])
        return {
            "Z": sparse.csr_array(sparse.vstack([self.Z, split_columns(rows, self.tokens.size)[0]])),
            "Y": enlarge(self.Y, (self.Y.shape[0], n_labels)),
            "word_weights": words.weights,
            "word_bias": words.bias,
            "members": [member.extend(rows) for member in self.ranker.members],
        }

    @property
    def tokens(self) -> TokenMap:
        """How features become rows of the token table."""
        return TokenMap(self.n_features, self.label_tokens)

    @cached_property
    def ranker(self) -> SiameseRanker:
        """The learned arrays as objects, in the types that kernels are compiled for, whatever a file has them in."""
        from xcwork.methods.siamesexml.fusion import Fusion
        from xcwork.methods.siamesexml.prediction import SiameseRanker
        from xcwork.methods.siamesexml.scores import Member
        from xcwork.methods.siamesexml.word_classifiers import WordClassifiers

        device = resolve_device(self.params.device)
        words = narrow(self.word_weights.astype(np.float32, copy=False))
        tail = self.params.tail if self.params.alpha is None else 0.0
        return SiameseRanker(
            tokens=self.tokens,
            members=[
                Member.from_state(state, self.Y, self.params, self.params.seed + number, device)
                for number, state in enumerate(self.members)
            ],
            Z=narrow(self.Z.astype(np.float32, copy=False)),
            words=WordClassifiers(words, self.word_bias.astype(np.float32, copy=False)),
            weights=Fusion(self.fusion_weights, self.unseen_bonus, tail).weigh_labels(self.label_frequencies),
            shortlist=self.params.shortlist,
            neighbours=self.params.neighbours,
        )

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        blocks = track_batches(X, DOCUMENTS_PER_BATCH, "scoring")
        return TopK.concatenate([self.ranker.rank(x, k, among) for x in blocks])

    def explain(self, x: sparse.csr_array, label: int, text: str | None = None) -> Explanation:
        """Return why `label` has its score for `x`; a sentence encoder reads `text`, or the names of the terms."""
        from xcwork.methods.siamesexml.explanation import ScoreReader

        is_seen = bool(self.label_frequencies[label] > 0)
        reader = ScoreReader(self.ranker, self.features, self.labels.features)
        if self.sentences is None:
            return reader.explain(x, label, is_seen)
        from xcwork.methods.siamesexml.sentence_explanation import explain_sentence

        text = write_texts(x[:, : self.n_features], self.features)[0] if text is None else text
        return explain_sentence(reader, self.sentences, text, x, label)

    def label_embeddings(self) -> np.ndarray:
        """Return the classifiers: labels that suit the same documents lie close together."""
        return self.members[0]["classifiers"]

    @property
    def probe(self) -> ModelProbe:
        """What measures this model."""
        from xcwork.methods.siamesexml.diagnostics import ModelProbe

        return ModelProbe(
            self.ranker, self.params, self.label_frequencies, None if self.sentences is None else self.read_rows
        )

    def diagnose(self, split: Split) -> dict[str, float]:
        """Return recall of the candidates, Lemma 1's bound, norms of theorem 3, cosines of relevant and other pairs."""
        return self.probe.measure(split)

    def count_cosines(self, split: Split, bins: int) -> CosineHistogram:
        """Return how the cosines of document and classifier are distributed."""
        return self.probe.count_cosines(split, bins)
