"""Tf-idf and BM25 matching against their formulas, written out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.features import Features
from xcwork.data.build import build_dataset
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.errors import DataError
from xcwork.methods.label_match.method import BM25, TfidfMatch
from xcwork.methods.label_match.term_weights import count_terms
from xcwork.text.vectorizer import TextVectorizer

TRAIN = ["apple pear apple", "pear plum", "plum plum cherry quince", "apple quince"]
LABELS = ["apple", "pear pear plum", "cherry", "quince apple pear plum"]


@pytest.fixture
def fruit():
    raw = RawDataset(
        train=RawSplit(texts=TRAIN, labels=[["a"], ["b"], ["b"], ["d"]]),
        test=RawSplit(texts=["apple"], labels=[["a"]]),
        labels=RawLabels(names=["a", "b", "c", "d"], texts=LABELS),
    )
    return build_dataset(raw, name="fruit", vectorizer=TextVectorizer(ngrams=1, stop_words=False))


def bm25(document: str, label: str, k1: float, b: float, k3: float) -> float:
    """The textbook formula on words."""
    n, mean = len(TRAIN), np.mean([len(text.split()) for text in LABELS])
    in_label, in_document = Counter(label.split()), Counter(document.split())
    score = 0.0
    for term in in_label.keys() & in_document.keys():
        containing = sum(term in text.split() for text in TRAIN)
        idf = math.log(1 + (n - containing + 0.5) / (containing + 0.5))
        length = k1 * (1 - b + b * len(label.split()) / mean)
        label_part = in_label[term] * (k1 + 1) / (in_label[term] + length)
        document_part = in_document[term] * (k3 + 1) / (in_document[term] + k3)
        score += idf * label_part * document_part
    return score


@pytest.mark.parametrize("parameters", [{}, {"k1": 2.0, "b": 0.0}, {"b": 1.0, "k3": 0.0}, {"k1": 0.0, "k3": 100.0}])
@pytest.mark.parametrize("document", ["apple", "plum plum plum pear cherry", "quince unknown"])
def test_bm25_is_the_textbook_formula(fruit, document, parameters):
    model = BM25(**parameters).fit(fruit.train)
    found = dict(model.predict(document, k=4).get_row(0))
    values = {"k1": 1.2, "b": 0.75, "k3": 2.0} | parameters
    expected = {label: bm25(document, text, **values) for label, text in enumerate(LABELS)}
    assert found == pytest.approx({label: score for label, score in expected.items() if score}, rel=1e-5)


def test_tfidf_is_the_cosine(fruit):
    found = dict(TfidfMatch().fit(fruit.train).predict("apple plum", k=4).get_row(0))
    x = fruit.features.transform(["apple plum"]).toarray()[0]
    cosines = fruit.labels.Z.toarray() @ x
    assert found == pytest.approx({label: score for label, score in enumerate(cosines.tolist()) if score}, rel=1e-5)


@pytest.mark.parametrize("method", [BM25, TfidfMatch])
def test_each_shared_term_is_one_reason(fruit, method):
    explanation = method().fit(fruit.train).explain("pear plum apple", "b")
    assert {part.document_term for part in explanation} == {"pear", "plum"}
    assert all(part.document_term == part.label_term for part in explanation)
    assert method().fit(fruit.train).explain("quince", "b").parts == ()


@pytest.mark.parametrize("method", [BM25, TfidfMatch])
def test_a_document_without_a_shared_term_gets_no_labels(fruit, method):
    best = method().fit(fruit.train).predict(["", "unknown words", "apple"], k=4)
    assert (best.get_row(0), best.get_row(1)) == ([], [])
    assert len(best.get_row(2)) == 2


texts = st.lists(st.sampled_from(["apple", "pear", "plum", "cherry"]), min_size=1, max_size=12).map(" ".join)


@given(texts, st.booleans())
def test_counts_come_back_from_unit_rows(text, sublinear):
    vectorizer = TextVectorizer(ngrams=1, sublinear=sublinear, stop_words=False).fit([*TRAIN, "apple"])
    # A term that occurs once fixes the scale of the row.
    found = count_terms(vectorizer.transform([text + " quince"]), Features(0, vectorizer=vectorizer)).toarray()[0]
    expected = Counter(text.split())
    named = dict(zip(vectorizer.feature_names, found.tolist(), strict=True))
    assert {term: named[term] for term in expected} == pytest.approx(dict(expected), rel=1e-4)


def test_counts_survive_zeros_and_empty_rows():
    rows = sparse.csr_array((np.array([0.0, 0.2, 0.4], np.float32), [0, 1, 2], [0, 0, 3, 3]), shape=(3, 3))
    np.testing.assert_allclose(count_terms(rows, Features(3)).toarray(), [[0, 0, 0], [0, 1, 2], [0, 0, 0]], rtol=1e-6)


@pytest.mark.parametrize("method", [BM25, TfidfMatch])
def test_label_terms_are_found_by_name_when_vocabularies_differ(fruit, method):
    names = fruit.features.names
    order = np.arange(len(names))[::-1]
    own = Features(len(names) + 1, [*(names[i] for i in order), "only in labels"])
    Z = sparse.csr_array(sparse.hstack([fruit.labels.Z[:, order], np.ones((4, 1), np.float32)]))
    labels = replace(fruit.labels, Z=Z, features=own)
    shuffled = replace(fruit.train, labels=labels, features=replace(fruit.features, vectorizer=None))
    terms = method().fit(shuffled).model_.terms.toarray()
    assert {(names[i], label) for i, label in np.argwhere(terms).tolist()} == {
        (word, label) for label, text in enumerate(LABELS) for word in text.split()
    }


def test_vocabularies_that_cannot_be_joined_are_refused(fruit):
    nameless = replace(fruit.train, labels=replace(fruit.labels, features=Features(5)))
    with pytest.raises(DataError, match="label terms cannot be found among document terms"):
        TfidfMatch().fit(nameless)
    wider = replace(fruit.labels, features=None, Z=sparse.csr_array((4, 9), dtype=np.float32))
    with pytest.raises(DataError, match="labels have 9 features but documents have 5; load the dataset from raw text"):
        TfidfMatch().fit(replace(fruit.train, labels=wider))


def test_labels_with_empty_texts_are_never_matched(fruit):
    empty = replace(fruit.labels, Z=sparse.csr_array((4, 5), dtype=np.float32))
    model = BM25().fit(replace(fruit.train, labels=empty))
    assert model.predict("apple pear", k=4).get_row(0) == []
