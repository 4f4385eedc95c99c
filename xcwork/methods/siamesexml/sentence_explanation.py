"""Why a label has its score where a sentence encoder gave f: votes and words exactly, the embedding word by word.

Text, centroid and classifier are functions of f(x) alone,

    g(x) = Σ over members of weight_text cos(f, z̃_l) + weight_centroid cos(f, v_l) + weight_classifier cos(E(f), w_l)

so what a word contributes to g is measured by leaving it out (`common.occlusion`), which is approximate. The votes of
training documents, words in common and classifiers over words are sums, and stay exact.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from xcwork.core.explanation import ANY_DOCUMENT, LABEL_RARITY, Explanation, Family, Part
from xcwork.methods.common.occlusion import cut_pieces, measure_pieces
from xcwork.methods.common.sentence_encoder import TextEncoder, embed_directions
from xcwork.methods.siamesexml.explanation import ScoreReader, list_votes
from xcwork.methods.siamesexml.scores import SCORE_NAMES
from xcwork.methods.siamesexml.token_map import split_columns

LABEL_VECTORS = "text, documents and classifier of the label"


def explain_sentence(
    reader: ScoreReader, sentences: TextEncoder, text: str, x: sparse.csr_array, label: int
) -> Explanation:
    """Return the parts of the score of the document `x`, whose text is `text`, and a label."""
    ranker = reader.ranker
    row = ranker.tokens.map_documents(x)
    words, _ = split_columns(row, ranker.tokens.size)
    weights = dict(zip(SCORE_NAMES, ranker.weights.of_scores[:, label].tolist(), strict=True))
    share = 1 / len(ranker.members)
    exact = [
        *reader.explain_words(words, label, weights["words"]),
        *reader.explain_terms(words, label, weights["terms"]),
    ]
    for member in ranker.members:
        if weights["documents"]:
            f = member.encoder.encode(row)
            exact += list_votes(member, f, label, ranker.neighbours, share * weights["documents"])
    if constant := float(ranker.weights.constant[label]):
        exact.append(Part(ANY_DOCUMENT, LABEL_RARITY, constant))

    def score(texts: list[str]) -> np.ndarray:
        return score_embeddings(reader, embed_directions(texts, sentences), label, weights)

    losses = measure_pieces(text, cut_pieces(text, reader.features), score)
    parts = [Part(term, LABEL_VECTORS, value, {}, Family.meaning) for term, value in losses if value]
    embedding = split_columns(row, ranker.tokens.size)[1]
    assert embedding is not None
    own = float(score_embeddings(reader, embedding.toarray(), label, weights)[0])
    total = own + sum(part.value for part in exact)
    return Explanation.from_parts([*parts, *exact], score=total, approximate=True)


def score_embeddings(reader: ScoreReader, embeddings: np.ndarray, label: int, weights: dict[str, float]) -> np.ndarray:
    """Return g of the embeddings of some texts, (n,)."""
    total = np.zeros(len(embeddings))
    for member in reader.ranker.members:
        encoder, around = member.encoder, member.around
        f = encoder.encode(sparse.csr_array(embeddings))
        final = encoder.finish(f)
        ours = (final if member.has_final_sum else f)[:, : around.text.shape[1]]
        total += weights["text"] * (ours @ around.text[label])
        total += weights["centroid"] * (ours @ around.centroids[label])
        total += weights["classifier"] * (final @ member.classifiers[label])
    return total / len(reader.ranker.members)
