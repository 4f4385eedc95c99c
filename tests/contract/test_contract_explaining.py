"""What every method's explanations and label embeddings have in common, and how labels are added."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import sparse

from xcwork.errors import ConfigError, DataError


def shown(explanation) -> float:
    """The score on the scale of `predict`."""
    return explanation.score if explanation.predicted is None else explanation.predicted


def test_parts_add_up_to_the_score_that_predict_gives(on_jumble, jumble):
    best = on_jumble.predict(jumble.test.X, k=11)
    for document in range(len(jumble.test)):
        for label, score in best.get_row(document):
            explanation = on_jumble.explain(jumble.test.X[[document]], label)
            assert shown(explanation) == pytest.approx(score, rel=1e-4, abs=1e-5)
            assert explanation.label == jumble.labels.names[label]
            if explanation.exact:
                total = sum(part.value for part in explanation)
                assert total == pytest.approx(explanation.score, rel=1e-5, abs=1e-6)


def test_families_words_and_pairs_add_up_and_ten_bars_tell_nearly_all(on_jumble, jumble):
    for document in range(0, len(jumble.test), 4):
        for label, _ in on_jumble.predict(jumble.test.X, k=3).get_row(document):
            explanation = on_jumble.explain(jumble.test.X[[document]], label)
            grouped = explanation.group()
            assert sum(bar.units for bar in grouped.families) == grouped.units
            assert sum(bar.value for bar in grouped.families) == pytest.approx(explanation.score, rel=1e-4, abs=1e-5)
            assert sum(bar.n_parts for bar in grouped.families if bar.family != "not explained") == len(
                explanation.parts
            )
            assert explanation.approximate or grouped.find("not explained") is None
            for bar in grouped.families:
                assert sum(group.units for group in bar.groups) == bar.units
                assert len(bar.groups) <= 10
                assert bar.measure_cover() >= 0.85


def test_every_part_has_a_family_of_its_kind(name, on_checkerboard):
    families = {str(part.family) for part in on_checkerboard.explain("red square", "L0")}
    expected = {
        "bm25": {"words in common"},
        "deep_miml": {"starting point", "memorised for this label"},
        "label_tree": {"starting point", "tree path"},
        "landmarks": {"starting point", "neighbours", "memorised for this label"},
        "nearest_documents": {"neighbours"},
        "one_vs_all": {"starting point", "memorised for this label"},
        "popularity": {"starting point"},
        "sentence_match": {"meaning of the words (approximate)", "words in common"},
        "tfidf": {"words in common"},
    }
    multihead = {"starting point", "heads"}
    everything = {"starting point", "words in common", "learned pairs", "memorised for this label", "neighbours"}
    expected["eagle"] = expected["label_tree"]  # which it trains
    allowed = expected.get(name, multihead if name in ("flat", "mhc", "mhp", "mhs") else everything)
    assert families
    assert families <= allowed


def test_exactness_is_what_the_capabilities_promise(on_checkerboard, checkerboard):
    exact = [on_checkerboard.explain(checkerboard.test.X[[i]], i % 2).exact for i in range(6)]
    assert exact == [on_checkerboard.capabilities.exact_explanations] * 6
    explanation = on_checkerboard.explain("red", 0)
    assert explanation.approximate == (not on_checkerboard.capabilities.exact_explanations)
    assert explanation.to_dict()["approximate"] == explanation.approximate


def test_every_pair_has_an_explanation(on_jumble, jumble):
    empty = sparse.csr_array((1, 25), dtype=np.float32)
    for label in range(11):
        for document in (empty, jumble.test.X[[0]]):
            explanation = on_jumble.explain(document, label)
            assert np.isfinite(explanation.score)
            assert list(explanation) == sorted(explanation, key=lambda part: -abs(part.value))
            assert set(explanation.to_dict()) >= {"label", "score", "exact", "parts"}


def test_reasons_are_words_of_the_document(name, on_checkerboard, checkerboard):
    explanation = on_checkerboard.explain("red square", "L0")
    if name in ("bm25", "one_vs_all", "tfidf", "zestxml"):
        assert {"red", "square"} <= {word for part in explanation for word in part.document_term.split()}
    assert all(part.document_term and part.label_term for part in explanation)


def test_names_uids_and_ids_mean_the_same_label(on_checkerboard):
    assert on_checkerboard.explain("red square", "L2") == on_checkerboard.explain("red square", 2)
    with pytest.raises(DataError, match="there is no label called 'L99'"):
        on_checkerboard.explain("red square", "L99")


def test_explain_takes_one_document(on_jumble, jumble):
    with pytest.raises(DataError, match="explain takes one document, got 17"):
        on_jumble.explain(jumble.test, 0)


WITHOUT_EMBEDDINGS = ("mhp", "popularity")  # labels as digits of several heads, and labels as counts


def test_label_embeddings_have_a_row_per_label(name, on_jumble):
    rows = on_jumble.label_embeddings()
    if name in WITHOUT_EMBEDDINGS:
        assert rows is None
        return
    assert rows.shape[0] == 11
    assert rows.shape[1] > 1
    values = rows.data if sparse.issparse(rows) else rows
    assert np.isfinite(values).all()
    assert np.any(values)


def test_labels_are_added_by_text_or_refused_with_a_sentence(on_checkerboard, tmp_path, same):
    method = copy.copy(on_checkerboard)
    if not method.capabilities.zero_shot:
        with pytest.raises(ConfigError, match=r"cannot predict labels it was not trained on; .*tfidf.* can"):
            method.add_labels(["green triangle"])
        return
    before = method.predict("red square", k=4)
    assert method.add_labels(["green triangle", "green"], names=["triangles", "greens"]).tolist() == [9, 10]
    best = method.predict("green triangle", k=2)
    assert [entry["label"] for entry in best.to_records()] == ["triangles", "greens"]
    same(method.predict("red square", k=4), before)
    assert method.explain("green triangle", "triangles").score == pytest.approx(
        method.explain("green triangle", 9).score
    )
    method.save(tmp_path / "model")
    same(type(method).load(tmp_path / "model").predict("green triangle", k=2), best)
