"""ZestXML where labels are awkward, and what it says about labels and terms: explanations, views, diagnostics."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import xcwork
from xcwork.data.build import build_dataset
from xcwork.data.card import describe
from xcwork.data.raw import RawDataset, RawLabels, RawSplit
from xcwork.errors import DataError
from xcwork.methods.registry import METHODS, find_method_class
from xcwork.methods.zestxml.method import ZestXML
from xcwork.sparse import normalise_rows

VARIANTS = pytest.mark.parametrize("variant", ["tuned", "xhtp"])


def awkward(train_labels=None, test=None):
    """Apples and pears; two labels of one name, one without a text, one whose text has no known word."""
    train_texts = [f"green apple note{i}" if i % 2 else f"yellow pear note{i}" for i in range(20)]
    carried = [["1", "4"] if i % 2 else ["2", "3"] for i in range(20)]
    test_texts = ["green apple", "yellow pear", "unheard of", "red cherry"]
    raw = RawDataset(
        train=RawSplit(texts=[*train_texts, "green apple", ""], labels=train_labels or [*carried, [], []]),
        test=test or RawSplit(texts=test_texts, labels=[["1"], ["2"], ["1"], ["6"]]),
        labels=RawLabels(
            names=["apple", "pear", "pear", "nameless", "of the", "cherry"],
            texts=["apple", "pear", "pear", "", "of the", "apple cherry"],
            uids=["1", "2", "3", "4", "5", "6"],
        ),
    )
    return build_dataset(raw, name="awkward")


@VARIANTS
def test_two_labels_of_one_name_are_two_labels_and_the_card_says_so(variant: str) -> None:
    data = awkward()
    assert any("name" in problem for problem in describe(data).problems)
    model = ZestXML(variant=variant).fit(data.train)
    assert {1, 2} <= set(model.predict("yellow pear", k=2).ids[0].tolist())
    with pytest.raises(DataError, match="2 labels are called 'pear'; give one of the ids"):
        model.explain("yellow pear", "pear")
    assert model.explain("yellow pear", 1).score == pytest.approx(model.explain("yellow pear", 2).score, rel=0.05)


@VARIANTS
def test_labels_without_a_known_term_are_reported_and_predicted_only_where_seen(variant: str, caplog) -> None:
    data = awkward()
    with caplog.at_level(logging.WARNING, "xcwork"):
        model = ZestXML(variant=variant).fit(data.train)
    assert "1 labels have no known term and are known by their training documents alone" in caplog.messages
    assert "1 labels have no known term and no training document and are never predicted" in caplog.messages
    assert model.diagnose(data.test)["labels without a known term"] == 2
    empty, unknown = 3, 4
    assert empty in model.predict("green apple", k=2).ids
    found = model.predict(data.train, k=6)
    assert unknown not in found.ids
    assert not np.isnan(found.scores).any()
    assert not np.isnan(model.explain("green apple", unknown).score)


def test_a_new_label_of_unknown_words_is_reported_and_does_no_harm(caplog) -> None:
    model = ZestXML().fit(awkward().train)
    before = model.predict("green apple", k=3)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "xcwork"):
        (new,) = model.add_labels(["zzz qqq"])
    assert caplog.messages == ["1 labels have no known term and no training document and are never predicted"]
    after = model.predict("green apple", k=3)
    np.testing.assert_array_equal(before.ids, after.ids)
    assert model.diagnose(awkward().test)["labels without a known term"] == 3
    assert new not in model.predict(["zzz qqq", "green apple"], k=7).ids


@VARIANTS
def test_a_document_without_a_known_term_gets_no_label_and_no_nan(variant: str) -> None:
    model = ZestXML(variant=variant).fit(awkward().train)
    found = model.predict(["unheard of", "green apple"], k=3)
    assert found.get_row(0) == []
    assert found.get_row(1)
    assert found.to_frame()["document"].unique().tolist() == [1]
    explanation = model.explain("unheard of", 0)
    assert np.isfinite(explanation.score)
    assert [part.label_term for part in explanation.parts] == (["how rare the label is"] if variant == "tuned" else [])


def test_without_label_text_the_error_names_the_methods_that_need_none() -> None:
    data = awkward()
    bare = replace(data.train, labels=replace(data.labels, Z=None, texts=None, features=None))
    with pytest.raises(DataError) as refused:
        ZestXML().fit(bare)
    message = str(refused.value)
    assert "ZestXML needs label text or label features" in message
    for name in METHODS:
        assert (name in message.split("use one of")[1].replace(",", " ").replace(".", " ").split()) == (
            not find_method_class(name).capabilities.needs_label_text
        )


@VARIANTS
def test_the_report_has_all_seen_and_unseen_rankings_and_shots(variant: str, checkerboard) -> None:
    report = xcwork.evaluate(ZestXML(variant=variant).fit(checkerboard.train), checkerboard, k=5)
    assert (report.n_documents, report.n_seen_documents, report.n_unseen_documents) == (8, 6, 2)
    assert report.unseen["P@1"] == 100  # "violet star", by its text alone
    assert report.seen["P@1"] == 100
    assert list(report.shots) == ["many-shot", "few-shot", "zero-shot"]
    assert report.shots["zero-shot"]["labels"] == 1
    assert report.diagnostics["shortlist recall"] == 100
    assert report.diagnostics["shortlist recall, unseen labels"] == 100


def test_an_unseen_label_that_nothing_speaks_for_fills_no_slot() -> None:
    """Ranking ties by id would put it into the list, and count it as found where it is the truth."""
    data = awkward(test=RawSplit(texts=["yellow pear"], labels=[["6"]]))
    report = xcwork.evaluate(ZestXML().fit(data.train), data, k=5)
    assert report.n_unseen_documents == 1
    assert report.unseen["P@1"] == 0
    assert report.diagnostics["shortlist recall, unseen labels"] == 0


def brute_counts(data, document_term: str, label_term: str) -> tuple[int, int]:
    """Of all (document, label) pairs with both terms, how many there are and how many are relevant."""
    names = data.features.names
    documents = np.flatnonzero(data.train.X[:, [names.index(document_term)]].toarray())
    labels = np.flatnonzero(data.labels.Z[:, [names.index(label_term)]].toarray())
    return len(documents) * len(labels), int(data.train.Y[documents][:, labels].sum())


def test_explanations_say_of_how_many_pairs_how_many_were_relevant() -> None:
    data = awkward()
    model = ZestXML(variant="xhtp").fit(data.train)
    parts = [part for part in model.explain("green apple", 0).parts if part.details["kind"] == "learned pair"]
    assert parts
    for part in parts:
        n_pairs, n_relevant = brute_counts(data, part.document_term, part.label_term)
        assert (part.details["pairs"], part.details["relevant"]) == (n_pairs, n_relevant)
        assert part.details["share_relevant"] == pytest.approx(n_relevant / n_pairs)


@VARIANTS
def test_every_part_is_document_value_times_weight_times_label_value(variant: str) -> None:
    data = awkward()
    model = ZestXML(variant=variant).fit(data.train)
    x = normalise_rows(data.test.X[[0]])
    explanation = model.explain(x, 0)
    assert {"direct match", "memorised"} <= {part.details["kind"] for part in explanation.parts}
    for part in explanation.parts:
        if part.details["kind"] == "bias":
            continue
        product = part.details["document_value"] * part.details["weight"] * part.details["label_value"]
        assert part.value == pytest.approx(product, rel=1e-6)
        value = x[0, data.features.names.index(part.document_term)]
        expected = np.sqrt(value) if part.details["kind"] == "direct match" else value
        assert part.details["document_value"] == pytest.approx(expected)
    assert sum(part.details["share"] for part in explanation.parts) == pytest.approx(1)
    assert explanation.score == pytest.approx(model.predict(x, k=6, among=[0]).scores[0, 0], rel=1e-5)


@VARIANTS
def test_the_view_of_a_document_term_lists_its_strongest_pairs(variant: str) -> None:
    data = awkward()
    model = ZestXML(variant=variant).fit(data.train)
    row = data.features.names.index("apple")
    pairs = model.list_pairs(document_term="apple", k=100)
    sizes = [abs(pair["weight"]) for pair in pairs]
    assert sizes == sorted(sizes, reverse=True)
    assert {pair["document_term"] for pair in pairs} == {"apple"}
    n_pairs = (model.model_.voters if variant == "xhtp" else model.model_.refined.shared)[[row]].nnz
    n_memorised = 0 if variant == "xhtp" else model.model_.refined.own[[row]].nnz
    assert len(pairs) == n_pairs + n_memorised + 1  # and the direct match
    assert [pair["label_term"] for pair in pairs if pair["kind"] == "direct match"] == ["apple"]
    memorised = {pair["label_term"]: pair["weight"] for pair in pairs if pair["kind"] == "memorised"}
    assert "nameless" in memorised  # a label without terms is known by what is memorised alone
    assert model.list_pairs(document_term="apple", k=2) == pairs[:2]


@VARIANTS
def test_the_view_of_a_label_term_is_a_column_of_the_weights(variant: str) -> None:
    data = awkward()
    model = ZestXML(variant=variant).fit(data.train)
    pairs = model.list_pairs(label_term="pear", k=100)
    assert {pair["label_term"] for pair in pairs} == {"pear"}
    weights = sparse.csr_array(model.model_.voters if variant == "xhtp" else model.model_.refined.shared)
    column = len(model.model_.identities) + model.model_.terms.tolist().index(data.features.names.index("pear"))
    learned = {pair["document_term"]: pair["weight"] for pair in pairs if pair["kind"] == "learned pair"}
    dense = weights[:, [column]].toarray().ravel()
    assert learned == {data.features.names[row]: pytest.approx(dense[row]) for row in np.flatnonzero(dense)}
    for pair in pairs:
        if pair["kind"] == "learned pair":
            assert (pair["pairs"], pair["relevant"]) == brute_counts(data, pair["document_term"], "pear")


def test_the_view_of_an_unknown_term_or_of_nothing_is_refused() -> None:
    model = ZestXML(variant="xhtp").fit(awkward().train)
    with pytest.raises(DataError, match="there is no term 'banana'"):
        model.list_pairs(document_term="banana")
    for terms in ({}, {"document_term": "apple", "label_term": "apple"}):
        with pytest.raises(DataError, match="either a document term or a label term"):
            model.list_pairs(**terms)
