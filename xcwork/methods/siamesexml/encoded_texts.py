"""The texts of a training as its encoder reads them: bags of tokens, and with `start=sentence` embeddings as well."""

from __future__ import annotations

from typing import NamedTuple

from scipy import sparse

from xcwork.compute.device import resolve_device_kind
from xcwork.core.split import Split
from xcwork.methods.common.sentence_encoder import TextEncoder, embed_directions, get_encoder
from xcwork.methods.common.sentence_rows import join_embeddings, list_label_texts, read_sentence_rows
from xcwork.methods.model import Params
from xcwork.methods.siamesexml.initial_embeddings import SENTENCE
from xcwork.methods.siamesexml.token_map import TokenMap

USER = "start=sentence"


class EncodedTexts(NamedTuple):
    """Rows over tokens; with a sentence encoder each goes on with the embedding of its text."""

    X: sparse.csr_array  # (n_documents, n_tokens)
    Z: sparse.csr_array  # (n_labels, n_tokens)
    encoder: str | None = None  # the identity of the sentence encoder


def find_sentence_encoder(params: Params) -> TextEncoder:
    """Return the sentence encoder that the parameters name."""
    return get_encoder(params.encoder, resolve_device_kind(params.device), USER)


def read_training_texts(train: Split, tokens: TokenMap, params: Params) -> EncodedTexts:
    """Return documents and labels of a split as rows."""
    label_rows = train.labels.Z
    assert label_rows is not None  # `fit` refuses data without label text
    if params.start != SENTENCE:
        return EncodedTexts(tokens.map_documents(train.X), tokens.map_labels(label_rows))
    encoder = find_sentence_encoder(params)
    z = embed_directions(list_label_texts(train.labels, train.features), encoder, train.embeddings)
    X = read_sentence_rows(train, train.features, encoder)
    return EncodedTexts(tokens.map_documents(X), tokens.map_labels(join_embeddings(label_rows, z)), encoder.identity)
