"""Sentence matching: a document gets the labels whose text means the same. Nothing is learned from Y.

A frozen sentence encoder e, trained elsewhere on pairs of sentences, turns both texts into vectors, and

    s(x, l) = cos(e(x), e(l)) + w cos(x, z_l)

The first cosine finds "car" for "automobile", which share no word. The second is the tf-idf cosine of the words
themselves, which names and rare terms need; w is `words`, and 0 leaves the embeddings alone. On the training documents
of pyseealso P@1 is 51.4 with w = 0, 57.5 with ½, 58.3 with 1 and with 2, 57.2 with 4; tf-idf alone has 54.8, BM25 56.2.
All labels are compared, so the ranking is exact, and a label without a training document is as reachable as any other.

When to use it: as the yardstick for labels never seen, where texts are in the encoder's language. Once there are
training documents, a trained method is better: give SiameseXML the same encoder with `start=sentence`.

The encoder is the one of the extra `encoders` (all-MiniLM-L6-v2: English, 384 numbers, the first 256 word pieces of a
text) or any sentence-transformers folder on this machine. Nothing is downloaded. Embeddings are kept with the dataset.

Explanations are approximate: a network reads words in their company, so no sum over words is its score. Each word is
left out in turn, and what the score loses is shown (`occlusion`); what these losses leave open is shown as well. The
part of `words` is exact.

Cost: a forward pass per text, on one core about 5 ms for 30 words and 28 ms for 256 word pieces (bfloat16); then
O(L D) per document. Memory: one vector per label.

Reference: Reimers and Gurevych, Sentence-BERT, EMNLP 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import sparse

from xcwork.compute.device import resolve_device_kind
from xcwork.core.explanation import Explanation
from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Method, device_param, param
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.common.sentence_encoder import embed_directions, get_encoder
from xcwork.methods.common.sentence_rows import list_label_texts, read_one_text, read_sentence_rows
from xcwork.methods.inputs import Documents
from xcwork.methods.sentence_match.model import SentenceMatchModel, read_word_rows


@dataclass(kw_only=True, eq=False)
class SentenceMatch(Method):
    """Cosine of the sentence embeddings of document and label text, plus that of their words."""

    words: float = param(1.0, "weight of the tf-idf cosine beside that of the embeddings", low=0.0, high=100.0)
    encoder: str | None = param(
        None, "folder of a sentence encoder; empty: the installed one", advanced=True, at_prediction=True
    )
    device: str = device_param()

    title = "Sentence match"
    paper = "Reimers and Gurevych, Sentence-BERT, EMNLP 2019"
    capabilities = Capabilities(
        zero_shot=True,
        exact_explanations=False,
        gpu=True,
        gpu_prediction="embeddings; scores with words=0",
        needs_label_text=True,
        reads_text=True,
    )
    model_type = SentenceMatchModel
    learns_from_labels = False

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> SentenceMatchModel:
        encoder = get_encoder(self.encoder, resolve_device_kind(self.device), "sentence_match")
        texts = list_label_texts(train.labels, train.features)
        return SentenceMatchModel(
            **self._collect_facts(train),
            encoder_identity=encoder.identity,
            label_vectors=embed_directions(texts, encoder, train.embeddings),
            label_words=read_word_rows(train.labels.Z, train.labels, train.features, self.words),
        )

    def read_matrix(self, documents: Documents) -> sparse.csr_array:
        """Return documents as rows of features followed by the embeddings of their texts."""
        model = self._get_current_model()
        assert isinstance(model, SentenceMatchModel)
        return read_sentence_rows(documents, model.features, model.encoder)

    def _explain(self, document: Documents, x: sparse.csr_array, label: int) -> Explanation:
        model = self._get_current_model()
        assert isinstance(model, SentenceMatchModel)
        return model.explain_text(read_one_text(document, x, model.features), x, label)
