"""How held-out training documents are made to look like new ones.

A vocabulary is learned from all training texts, the held-out ones included: a rare term of a held-out document is often
known only because of this document. Of a new text such a term is dropped before its row is scaled to unit length, so
its other terms weigh more and its scores are higher. Calibrated without regard to that, probabilities of new texts come
out too high: by a point on questions of 100 words.

So the vocabulary is learned again, from the other documents. A second model is trained on these columns, and the
held-out texts are read with them. A model that was trained on the columns of all documents keeps them; of the held-out
rows the terms are dropped that the other documents alone would not have brought in. Where there are no texts, or so
many that reading them takes long (with so many, a term is not known because of one document), the features are dropped
that no other document has.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.split import Split
from xcwork.errors import DataError
from xcwork.sparse import keep_entries, normalise_rows
from xcwork.text.vectorizer import TextVectorizer

MAX_CHARACTERS = 100_000_000  # that are read again, in about six processor seconds
UNIT_TOLERANCE = 1e-3  # of the length of a row


def split_rows(train: Split, held: np.ndarray) -> tuple[Split, Split]:
    """Return (the other documents, those at `held` as if they were new), with the columns of `train`."""
    rest, new = _take_apart(train, held)
    learned = _learn_vocabulary(rest)
    if learned is None or rest.features.vectorizer is None:
        return rest, imitate_new_documents(new, rest)
    names, known_names = rest.features.vectorizer.feature_names, set(learned[0].feature_names)
    return rest, _drop_unknown(new, np.array([name in known_names for name in names]), rest)


def split_rows_anew(train: Split, held: np.ndarray) -> tuple[Split, Split]:
    """Return (the other documents, those at `held` as if they were new), in columns learned from the others."""
    rest, new = _take_apart(train, held)
    learned = _learn_vocabulary(rest)
    if learned is None:
        return rest, imitate_new_documents(new, rest)
    vectorizer, X = learned
    features = Features(X.shape[1], vectorizer.feature_names, vectorizer)
    labels = train.labels
    if labels.Z is not None and labels.texts is not None and labels.Z.shape[1] == train.X.shape[1]:
        labels = replace(labels, Z=vectorizer.transform(labels.texts), features=features)
    rows = vectorizer.transform(new.texts or [])
    return (
        replace(rest, X=X, features=features, labels=labels),
        replace(new, X=rows, features=features, labels=labels),
    )


def _take_apart(train: Split, held: np.ndarray) -> tuple[Split, Split]:
    is_held = np.zeros(len(train), bool)
    is_held[held] = True
    if is_held.all():
        raise DataError("no document is left to train on", remedy="use more training documents")
    return train.take(~is_held), train.take(is_held)


def _learn_vocabulary(rest: Split) -> tuple[TextVectorizer, sparse.csr_array] | None:
    """Return the vocabulary that these documents alone have, and their rows; None where texts cannot be read again."""
    known = rest.features.vectorizer
    if known is None or rest.texts is None or sum(map(len, rest.texts)) > MAX_CHARACTERS:
        return None
    vectorizer = TextVectorizer(**known.options)
    X = vectorizer.fit_transform(rest.texts, rest.labels.texts or ())
    return (vectorizer, X) if X.shape[1] else None


def imitate_new_documents(held: Split, rest: Split) -> Split:
    """Return held-out documents without the features that only they have, scaled like the others."""
    n_features = held.X.shape[1]
    known = np.bincount(rest.X.indices, minlength=n_features) > 0
    Z = held.labels.Z
    if Z is not None and Z.shape[1] == n_features:  # terms of labels are known to the vocabulary, too
        known[Z.indices] = True
    return _drop_unknown(held, known, rest)


def _drop_unknown(held: Split, known: np.ndarray, rest: Split) -> Split:
    """Return documents without the features that are not known, scaled like those of `rest`."""
    if known[held.X.indices].all():
        return held
    X = keep_entries(held.X, known[held.X.indices])
    return replace(held, X=normalise_rows(X) if has_unit_rows(rest) else X)


def has_unit_rows(split: Split) -> bool:
    """Return whether the rows were scaled to length one, as those of texts are."""
    squares = np.asarray(split.X.multiply(split.X).sum(axis=1)).ravel()
    filled = squares[squares > 0]
    return bool(len(filled) and (np.abs(filled - 1.0) < UNIT_TOLERANCE).mean() > 0.99)
