"""Synthetic data of any size, drawn from a planted model whose best possible ranking is known.

    dataset = make_synthetic(n_documents=2_000, n_labels=300, seed=1)
    optimum = Planted(n_documents=2_000, n_labels=300, seed=1).rank(dataset.test.X, k=5)

`xcwork.data.planted_model` has the model and its mathematics. Here documents are drawn from it, block by block with a
random generator of its own for each block, so the result depends on the parameters alone and blocks run in parallel.

Independent coin tosses for every label and every term would cost O(n_documents * n_labels). A Poisson number of draws,
each falling on item i with probability r_i / sum(r), hits every item independently with probability 1 - exp(-r_i): the
same distribution in time proportional to what is present.

Features are tf-idf of the terms that are present. Terms are called `t3_w17` (word 17 of topic 3) or `common_5`; the
text of a label is a few of its own terms and two of its topic, so labels never seen in training can be found by text.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from xcwork.compute.parallel import parallel_map
from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.data.build import build_dataset
from xcwork.data.planted_model import COMMON_TERMS_SHOWN, STRAY_TOPIC_TERMS, TOPIC_TERM_RATE, Planted
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.text.vectorizer import TextVectorizer

DOCUMENTS_PER_BLOCK = 50_000  # part of the definition of the data: each block has its own random generator
MAX_TEXTS = 100_000  # above this the texts of documents, which repeat their features, are left out
TOPIC_TERMS_IN_TEXT = 2
TRAIN_STREAM = 2  # random streams 0 and 1 belong to the model
TEST_STREAM = 3


def make_synthetic(**parameters: Any) -> Dataset:
    """Return a dataset drawn from `Planted(**parameters)`; equal parameters give equal data.

    >>> dataset = make_synthetic(n_documents=100, n_labels=20, n_topics=2, labels_per_document=2, seed=1)
    >>> len(dataset.train), len(dataset.test), len(dataset.labels)
    (80, 20, 20)
    """
    model = Planted(**parameters)
    n_test = min(max(1, round(model.test_share * model.n_documents)), model.n_documents - 1)
    train_terms, train_Y, train_topics = _draw_documents(model, TRAIN_STREAM, model.n_documents - n_test)
    test_terms, test_Y, test_topics = _draw_documents(model, TEST_STREAM, n_test)

    names = _name_terms(model)
    vectorizer = TextVectorizer.from_words(names, train_terms)
    features = Features(len(names), names, vectorizer)
    has_texts = model.n_documents <= MAX_TEXTS

    def make_split(split: str, terms: sparse.csr_array, Y: sparse.csr_array, topics: np.ndarray) -> RawSplit:
        return RawSplit(
            texts=_join_terms(terms, names) if has_texts else None,
            X=vectorizer.weigh(terms),
            Y=Y,
            groups=_name_groups(topics, model.group_size, split),
        )

    raw = RawDataset(
        train=make_split("train", train_terms, train_Y, train_topics),
        test=make_split("test", test_terms, test_Y, test_topics),
        labels=_describe_labels(model, names, vectorizer, features),
        features=features,
        source=repr(model),
    )
    return build_dataset(raw, name="synthetic")


def _draw_documents(
    model: Planted, stream: int, n_documents: int
) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
    """Return (terms, Y, topics) of `n_documents` documents."""
    rates = -np.log1p(-model.prior)
    if stream == TRAIN_STREAM:
        rates[model.unseen] = 0
    up_to = np.concatenate([[0], np.cumsum(rates)])  # (n_labels + 1,)

    def draw_block(start: int) -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray]:
        rng = np.random.default_rng([model.seed, stream, start])
        n = min(DOCUMENTS_PER_BLOCK, n_documents - start)
        topics = rng.choice(model.n_topics, size=n, p=model.topic_prior)
        documents, slots = _draw_labels(model, rng, topics, up_to)
        columns = _draw_terms(model, rng, topics, documents, slots)
        return (
            _make_binary(*columns, (n, model.n_terms)),
            _make_binary(documents, model.label_ids[slots], (n, model.n_labels)),
            topics,
        )

    blocks = parallel_map(draw_block, range(0, n_documents, DOCUMENTS_PER_BLOCK), "drawing documents")
    terms, Y, topics = zip(*blocks, strict=True)
    return sparse.csr_array(sparse.vstack(terms)), sparse.csr_array(sparse.vstack(Y)), np.concatenate(topics)


def _draw_labels(
    model: Planted, rng: np.random.Generator, topics: np.ndarray, up_to: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (documents, slots): which labels are relevant to which document, at least one each."""
    low, high = up_to[model.starts[topics]], up_to[model.starts[topics + 1]]  # (n_documents,)
    n_draws = rng.poisson(high - low)
    while len(empty := np.flatnonzero(n_draws == 0)):
        n_draws[empty] = rng.poisson(high[empty] - low[empty])
    documents = np.repeat(np.arange(len(topics)), n_draws)
    at = low[documents] + rng.random(len(documents)) * (high - low)[documents]
    at = np.minimum(at, np.nextafter(high, 0)[documents])  # rounding must not lead into the next topic
    slots = np.searchsorted(up_to, at, side="right") - 1
    pairs = np.unique(documents * model.n_labels + slots)
    return pairs // model.n_labels, pairs % model.n_labels


def _draw_terms(
    model: Planted, rng: np.random.Generator, topics: np.ndarray, documents: np.ndarray, slots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (documents, columns) of the terms that are present, with repetitions."""
    pair, which = np.nonzero(rng.random((len(slots), model.label_terms), dtype=np.float32) < model.signal)
    rows, columns = [documents[pair]], [slots[pair] * model.label_terms + which]

    def add_terms(expected: float, low: np.ndarray | int, size: np.ndarray | int) -> None:
        """Draw a Poisson number of terms for each document, uniform among `size` columns from `low` on."""
        drawn = np.repeat(np.arange(len(topics)), rng.poisson(expected, len(topics)))
        low, size = (np.broadcast_to(value, topics.shape)[drawn] for value in (low, size))
        rows.append(drawn)
        columns.append(low + rng.integers(size))

    first = model.starts * model.label_terms
    first_topic_term, n_topic_terms = model.n_label_terms, model.n_topics * model.topic_terms
    add_terms(model.noise / 2, first[topics], (first[1:] - first[:-1])[topics])
    add_terms(model.noise / 2, 0, model.n_label_terms)
    add_terms(TOPIC_TERM_RATE * model.topic_terms, first_topic_term + topics * model.topic_terms, model.topic_terms)
    add_terms(STRAY_TOPIC_TERMS, first_topic_term, n_topic_terms)
    # Common terms follow Zipf's law, as words do: their ranks are spread evenly on a logarithmic scale.
    common = np.repeat(np.arange(len(topics)), rng.poisson(COMMON_TERMS_SHOWN, len(topics)))
    rank = ((model.common_terms + 1) ** rng.random(len(common))).astype(np.int64) - 1
    rows.append(common)
    columns.append(first_topic_term + n_topic_terms + np.minimum(rank, model.common_terms - 1))
    return np.concatenate(rows), np.concatenate(columns)


def _make_binary(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a matrix with ones at (rows, columns); a place named twice counts once."""
    places = np.unique(rows.astype(np.int64) * shape[1] + columns)
    indptr = np.searchsorted(places, np.arange(shape[0] + 1) * shape[1]).astype(np.int32)
    indices = (places % shape[1]).astype(np.int32)
    return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=shape)


def _name_terms(model: Planted) -> list[str]:
    """Return the name of every term.

    Words are numbered within their topic: first those of the topic itself, then those of its labels.
    """
    first = model.topic_terms
    sizes = (np.diff(model.starts) * model.label_terms).tolist()
    names = [f"t{topic}_w{first + word}" for topic, size in enumerate(sizes) for word in range(size)]
    names += [f"t{topic}_w{word}" for topic in range(model.n_topics) for word in range(model.topic_terms)]
    return names + [f"common_{word}" for word in range(model.common_terms)]


def _describe_labels(model: Planted, terms: list[str], vectorizer: TextVectorizer, features: Features) -> RawLabels:
    """Return the labels with a text of some of their own terms and some of their topic."""
    slots = np.argsort(model.label_ids)  # the slot of each label id
    n_own, n_of_topic = model.text_terms, min(TOPIC_TERMS_IN_TEXT, model.topic_terms)
    own = slots[:, None] * model.label_terms + np.arange(n_own)  # (n_labels, n_own)
    of_topic = model.n_label_terms + model.topic_of[slots][:, None] * model.topic_terms + np.arange(n_of_topic)
    columns = np.hstack([own, of_topic]).astype(np.int32)
    indptr = np.arange(model.n_labels + 1, dtype=np.int32) * columns.shape[1]
    counts = sparse.csr_array(
        (np.ones(columns.size, np.float32), columns.ravel(), indptr), shape=(model.n_labels, model.n_terms)
    )
    ranks = (slots - model.starts[model.topic_of[slots]]).tolist()
    names = [f"topic {topic} label {rank}" for topic, rank in zip(model.topic_of[slots].tolist(), ranks, strict=True)]
    return RawLabels(names=names, texts=_join_terms(counts, terms), Z=vectorizer.weigh(counts), features=features)


def _join_terms(terms: sparse.csr_array, names: list[str]) -> list[str]:
    """Return the text of each row: the names of its terms."""
    indptr = terms.indptr.tolist()
    words = [names[column] for column in terms.indices.tolist()]
    return [" ".join(words[start:end]) for start, end in pairwise(indptr)]


def _name_groups(topics: np.ndarray, size: int, split: str) -> list[str]:
    """Return the group of each document: those of one topic in groups of `size`, in the order they come."""
    order = np.argsort(topics, kind="stable")
    first = np.searchsorted(topics[order], topics[order])
    place = np.empty(len(topics), np.int64)
    place[order] = np.arange(len(topics)) - first
    return [
        f"{split} topic {topic} group {n}" for topic, n in zip(topics.tolist(), (place // size).tolist(), strict=True)
    ]
