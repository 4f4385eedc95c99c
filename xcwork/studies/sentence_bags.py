"""Reviews as bags of sentences: the experiment of EAGLE's section 7.3, on any dataset with texts.

The paper takes reviews of four sentences, of which only the labels of the whole review are known, and asks for the
label of single sentences. `split_into_bags` does that to the documents of a split: each becomes a bag of its sentences,
and every sentence has the labels of its document. `embed_dataset` replaces words by the embeddings of a sentence
encoder, which is what the paper's network reads, so that any method does.

Reference: Shen et al., Extreme multi-label classification from aggregated labels, ICML 2020, section 7.3.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from scipy import sparse

from xcwork.compute.device import resolve_device
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.methods.common.sentence_encoder import TextEncoder, embed_texts, get_encoder
from xcwork.sparse import normalise_rows

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
MIN_SENTENCE_CHARACTERS = 12


def split_into_bags(split: Split) -> Split:
    """Return a document for each sentence of each document, in one group per document, with all of its labels."""
    if split.texts is None:
        raise DataError("these documents have no text to cut into sentences", remedy="load raw texts")
    sentences, rows = [], []
    for row, text in enumerate(split.texts):
        long_enough = [part for part in SENTENCE_END.split(text) if len(part) >= MIN_SENTENCE_CHARACTERS] or [text]
        sentences += long_enough
        rows += [row] * len(long_enough)
    features = split.features
    return replace(
        split,
        X=features.transform(sentences),
        Y=sparse.csr_array(split.Y[rows]),
        texts=sentences,
        uids=None,
        groups=[f"document {row}" for row in rows],
        filter_pairs=None,
        embeddings=None,
    )


def embed_dataset(dataset: Dataset, folder: str | None = None, *, encoder: TextEncoder | None = None) -> Dataset:
    """Return the dataset with sentence embeddings of unit length as features; labels keep their texts alone.

    The encoder is the one given, that of a folder, or the installed one.
    """
    chosen = encoder or get_encoder(folder, resolve_device("auto").type, "embed_dataset")
    features = Features(chosen.dimension)
    labels = replace(dataset.train.labels, Z=None, features=None)
    splits = [_embed_split(split, features, chosen) for split in (dataset.train, dataset.test)]
    train, test = (replace(split, labels=labels) for split in splits)
    return replace(dataset, train=train, test=test)


def _embed_split(split: Split, features: Features, encoder: TextEncoder) -> Split:
    if split.texts is None:
        raise DataError("a sentence encoder reads text, and these documents have none", remedy="load raw texts")
    embedded = normalise_rows(np.asarray(embed_texts(split.texts, encoder, split.embeddings), np.float32))
    return replace(split, X=sparse.csr_array(embedded), features=features)
