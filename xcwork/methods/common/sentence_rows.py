"""Documents as a sentence encoder and the words see them: rows of features, followed by the embedding of the text.

A document that has no text, as in a dataset of ready-made features, is read as the names of its terms, the heaviest
first; so is a row of features. That is less than the text said, and datasets without names are refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import ConfigError, DataError
from xcwork.methods.common.sentence_encoder import TextEncoder, embed_directions
from xcwork.methods.inputs import Documents, read_documents
from xcwork.storage.embedding_cache import EmbeddingCache


def write_texts(rows: sparse.csr_array, features: Features) -> list[str]:
    """Return the names of the terms of each row, the heaviest first; whole words where there are such."""
    if features.names is None:
        raise DataError(
            "a sentence encoder reads text; these documents have none, and their features have no names",
            remedy="load the dataset from raw text, or use another method",
        )
    texts = []
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        order = np.argsort(-rows.data[start:end], kind="stable")
        names = [features.names[term] for term in rows.indices[start:end][order].tolist()]
        texts.append(" ".join([name for name in names if " " not in name] or names))
    return texts


def list_label_texts(labels: LabelSpace, features: Features, start: int = 0) -> list[str]:
    """Return the texts of the labels from number `start` on, or the names of their terms where they have no text."""
    if labels.texts is not None:
        return labels.texts[start:]
    theirs = labels.features or features
    if labels.Z is not None and theirs.names is not None:
        return write_texts(labels.Z[start:], theirs)
    return labels.names[start:]


def join_embeddings(X: sparse.csr_array, embeddings: np.ndarray) -> sparse.csr_array:
    """Return rows of features followed by embeddings."""
    return sparse.csr_array(sparse.hstack([X, sparse.csr_array(embeddings)], format="csr", dtype=np.float32))


def split_embeddings(rows: sparse.csr_array, n_features: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the features and the embeddings that `join_embeddings` put together."""
    return rows[:, :n_features], np.ascontiguousarray(rows[:, n_features:].toarray(), np.float32)


def read_sentence_rows(documents: Documents, features: Features, encoder: TextEncoder) -> sparse.csr_array:
    """Return documents in any accepted form as rows of features followed by their embeddings."""
    cache: EmbeddingCache | None = None
    texts: Sequence[str] | None = None
    given = read_documents(documents)
    if isinstance(documents, Split):
        texts, cache = documents.texts, documents.embeddings
    if isinstance(given, list):
        texts, given = given, features.transform(given)
    elif given.shape[1] == features.size + encoder.dimension:
        return given
    if given.shape[1] != features.size:
        raise DataError(f"the documents have {given.shape[1]} features, but the model was trained on {features.size}")
    texts = write_texts(given, features) if texts is None else texts
    return join_embeddings(given, embed_directions(texts, encoder, cache))


def read_one_text(documents: Documents, x: sparse.csr_array, features: Features) -> str:
    """Return the text of the one document that became the row `x`."""
    given = documents.texts if isinstance(documents, Split) else read_documents(documents)
    return given[0] if isinstance(given, list) else write_texts(x[:, : features.size], features)[0]


def check_encoder(encoder: TextEncoder, identity: str) -> None:
    """Raise one sentence where a model was made with another encoder than the one that is here."""
    if encoder.identity != identity:
        raise ConfigError(
            f"the model was trained with another sentence encoder ({identity}) than the one here ({encoder.identity}); "
            "set the parameter encoder to its folder, or train again"
        )
