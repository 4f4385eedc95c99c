"""The text vectoriser against scikit-learn's and against plain counting."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer, TfidfVectorizer

from xcwork.errors import ConfigError, DataError, NotFittedError, XcworkError
from xcwork.storage.state import read_state, write_state
from xcwork.text import ngrams as terms
from xcwork.text.languages import stem_word
from xcwork.text.ngrams import WordIds
from xcwork.text.vectorizer import TextVectorizer
from xcwork.text.word_rules import WordRules

WORDS = [
    "apple",
    "Apples",
    "the",
    "of",
    "red",
    "snake_case",
    "x",
    "größe",
    "ÉTÉ",
    "naïve",
    "ελιά",
    "42",
    "don't",
    "a.b",
]
texts_of = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=8)
TEXTS = ["red apples and green apples", "green wine", "red wine, red wine", "", "apples apples apples"]


def by_name(matrix: sparse.csr_array, names: list[str]) -> dict[str, list[float]]:
    return dict(zip(names, matrix.toarray().T.tolist(), strict=True))


def same_columns(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> None:
    assert ours.keys() == theirs.keys()
    for name, column in theirs.items():
        np.testing.assert_allclose(ours[name], column, atol=1e-6, err_msg=name)


@settings(deadline=None, max_examples=60)
@given(texts_of, st.integers(1, 3), st.booleans(), st.booleans())
def test_values_are_those_of_scikit_learn(texts, ngrams, stop_words, sublinear):
    ours = TextVectorizer(ngrams=ngrams, stop_words=stop_words, sublinear=sublinear, language="en")
    X = ours.fit_transform(texts)
    theirs = TfidfVectorizer(
        ngram_range=(1, ngrams), stop_words="english" if stop_words else None, sublinear_tf=sublinear
    )
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:  # scikit-learn refuses an empty vocabulary
        assert X.shape == (len(texts), 0)
        return
    same_columns(by_name(X, ours.feature_names), by_name(expected, theirs.get_feature_names_out().tolist()))
    assert X.dtype == np.float32
    assert X.has_sorted_indices


def test_stems_are_those_of_a_stemming_scikit_learn():
    texts = ["running runners ran the races", "He was racing; run!", "relational relations"]

    def stemmed(text: str) -> list[str]:
        words = re.findall(r"\b\w\w+\b", text.lower())
        return [stem_word(word) for word in words if word not in ENGLISH_STOP_WORDS]

    ours = TextVectorizer(stem=True)
    X = ours.fit_transform(texts)
    theirs = TfidfVectorizer(ngram_range=(1, 2), tokenizer=stemmed, token_pattern=None)
    expected = theirs.fit_transform(texts)
    same_columns(by_name(X, ours.feature_names), by_name(expected, theirs.get_feature_names_out().tolist()))
    assert {"run", "race", "relat"} <= set(ours.feature_names)
    np.testing.assert_array_equal(ours.transform(["runs"]).toarray(), ours.transform(["running"]).toarray())


@settings(deadline=None, max_examples=40)
@given(texts_of)
def test_subwords_are_those_of_scikit_learn(texts):
    ours = TextVectorizer(tokens="subwords", stop_words=False, language="en")
    X = ours.fit_transform(texts)
    cleaned = [" ".join(re.findall(r"\w\w+", text.lower())) for text in texts]
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5))
    if not any(cleaned):
        assert X.shape == (len(texts), 0)
        return
    expected = theirs.fit_transform(cleaned)
    same_columns(by_name(X, ours.feature_names), by_name(expected, theirs.get_feature_names_out().tolist()))
    np.testing.assert_array_equal(ours.transform(texts).toarray(), X.toarray())


def test_a_word_never_seen_shares_subwords_with_its_relatives():
    vectorizer = TextVectorizer(tokens="subwords").fit(["classification", "regression"])
    similarity = vectorizer.transform(["classifier"]) @ vectorizer.transform(["classification", "regression"]).T
    assert similarity.toarray()[0, 0] > 0.4 > similarity.toarray()[0, 1]


@settings(deadline=None, max_examples=60)
@given(texts_of, st.integers(1, 4), st.integers(1, 5), st.sampled_from([1, 2]))
def test_the_most_frequent_terms_are_kept_and_among_equals_the_first(texts, min_count, max_features, order):
    limits = {"min_count": min_count, "max_features": max_features}
    vectorizer = TextVectorizer(ngrams=order, **limits, stop_words=False, language="en")
    words = [re.findall(r"\w\w+", text.lower()) for text in texts]
    grams = Counter(tuple(text[i : i + order]) for text in words for i in range(len(text) - order + 1))
    ranked = sorted((gram for gram in grams if grams[gram] >= min_count), key=lambda gram: (-grams[gram], gram))
    names = vectorizer.fit(texts).feature_names
    ours = [name for name in names if len(name.split(" ")) == order]
    assert ours == [" ".join(gram) for gram in sorted(ranked[:max_features])]


def test_max_share_is_the_max_df_of_scikit_learn():
    texts = ["red red apple", "red wine", "red sky wine", "blue sky", "red"]
    for share in (0.2, 0.4, 0.5, 0.79, 0.8, 1.0):
        ours = TextVectorizer(max_share=share).fit(texts).feature_names
        theirs = CountVectorizer(ngram_range=(1, 2), max_df=share).fit(texts).get_feature_names_out()
        assert sorted(ours) == sorted(theirs)
    pieces = TextVectorizer(max_share=0.5, tokens="subwords").fit(texts).feature_names
    assert " red" not in pieces
    assert " sky" in pieces


def test_terms_left_out_for_their_share_free_their_places():
    texts = ["red red apple apple", "red wine", "red sky", "red", "red wine"]
    names = TextVectorizer(ngrams=1, max_features=2, max_share=0.5).fit(texts).feature_names
    assert names == ["apple", "wine"]


def test_no_ngram_crosses_a_text_a_paragraph_or_an_unknown_word():
    vectorizer = TextVectorizer(stop_words=False).fit(["one two\n\nthree four", "five", "six"])
    pairs = [name for name in vectorizer.feature_names if " " in name]
    assert pairs == ["one two", "three four"]
    assert TextVectorizer(stop_words=False, language="en").fit(["ελιά one\n\ntwo"]).feature_names[-1] == "ελιά one"
    row = vectorizer.transform(["one unknown two"])
    assert [vectorizer.feature_names[column] for column in row.indices] == ["one", "two"]


def test_underscores_split_words_on_request():
    assert TextVectorizer(ngrams=1).fit(["train_test x_y"]).feature_names == ["train_test", "x_y"]
    assert TextVectorizer(ngrams=1, split_underscores=True).fit(["train_test x_y ελ_ιά"]).feature_names == [
        "test",
        "train",
        "ελ",
        "ιά",
    ]


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=255)), st.booleans())
def test_the_quick_way_of_cutting_latin_text_is_the_regular_expression(text, any_script):
    words = [word for word in terms._make_splitter(False, any_script)(text) if len(word) > 1]
    assert words == re.findall(r"\w\w+", text.lower())


@given(st.lists(st.lists(st.integers(0, 2**21 - 1), min_size=3, max_size=3), min_size=1))
def test_codes_keep_the_word_ids(ids):
    ids = np.array(ids)
    codes = terms.encode_word_ids(ids, 21)
    assert (codes >= 0).all()
    np.testing.assert_array_equal(terms.decode_ngrams(codes, 3, 21), ids)


def test_labels_share_the_vocabulary_and_leave_idf_to_the_documents():
    documents = ["wine wine cheese cheese bread", "wine cheese", "bread wine rareword"]
    vectorizer = TextVectorizer(ngrams=1, max_features=2, stop_words=False)
    vectorizer.fit(documents, ["rareword", "cheese", "neverindocuments"])
    # The two most frequent, and the label term that documents contain; not the one that none contains.
    assert vectorizer.feature_names == ["cheese", "rareword", "wine"]
    np.testing.assert_allclose(vectorizer.idf, np.log(4 / (1 + np.array([2, 1, 3]))) + 1, rtol=1e-6)
    roomy = TextVectorizer(ngrams=1).fit(documents, ["neverindocuments"])
    assert roomy.idf[roomy.feature_names.index("neverindocuments")] == pytest.approx(np.log(4) + 1)
    assert vectorizer.transform(["neverindocuments"]).nnz == 0


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_a_vectoriser_with_weights_that_are_not_finite_is_refused(tmp_path, weight):
    vectorizer = TextVectorizer().fit(TEXTS)
    vectorizer._idf[-1] = weight
    write_state(tmp_path / "state", {"vectorizer": vectorizer})
    with pytest.raises(XcworkError, match="the weights of the terms are not finite"):
        read_state(tmp_path / "state")


@pytest.mark.parametrize(
    "options",
    [{}, {"ngrams": 3, "stem": True}, {"tokens": "subwords"}, {"sublinear": True, "split_underscores": True}],
)
def test_a_restored_vectoriser_gives_identical_rows(tmp_path, options):
    vectorizer = TextVectorizer(**options).fit(TEXTS, ["label_text here"])
    write_state(tmp_path / "state", {"vectorizer": vectorizer})
    restored = read_state(tmp_path / "state")["vectorizer"]
    assert restored.options == vectorizer.options
    assert restored.feature_names == vectorizer.feature_names
    np.testing.assert_array_equal(restored.idf, vectorizer.idf)
    new = [*TEXTS, "green label_text unknown", "Red_Wine running apples"]
    ours, theirs = vectorizer.transform(new), restored.transform(new)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))


def test_rows_do_not_depend_on_company_order_or_blocks(monkeypatch):
    texts = [" ".join(np.random.default_rng(i).choice(WORDS, 6)) for i in range(23)]
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(texts)
    np.testing.assert_array_equal(vectorizer.transform(texts).toarray(), X.toarray())
    for row, text in enumerate(texts):
        np.testing.assert_array_equal(vectorizer.transform([text]).toarray(), X[[row]].toarray())
    monkeypatch.setattr(terms, "TEXTS_PER_BLOCK", 4)
    backwards = TextVectorizer()
    np.testing.assert_array_equal(backwards.fit_transform(texts[::-1]).toarray(), X.toarray()[::-1])
    assert backwards.feature_names == vectorizer.feature_names


def test_rows_have_length_one_and_unknown_text_is_an_empty_row():
    vectorizer = TextVectorizer()
    X = vectorizer.fit_transform(TEXTS)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    np.testing.assert_allclose(lengths, [1, 1, 1, 0, 1], rtol=1e-6)
    assert vectorizer.transform(["nothing known", "", "the of"]).nnz == 0
    assert vectorizer.transform([]).shape == (0, X.shape[1])


def test_a_second_fit_forgets_the_first():
    vectorizer = TextVectorizer().fit(["first words"])
    assert vectorizer.feature_names[0] == "words"  # "first" is a stop word
    assert vectorizer.fit(["other things"]).feature_names == ["things"]


def test_no_texts_give_no_features():
    for tokens in ("words", "subwords"):
        assert TextVectorizer(tokens=tokens).fit_transform([]).shape == (0, 0)
        assert TextVectorizer(tokens=tokens).fit(["", "a"]).transform(["anything"]).shape == (1, 0)


def test_unknown_words_are_not_remembered():
    ids = WordIds(WordRules(["the"]), ["known"], grows=False)
    assert [ids[word] for word in ("known", "unknown", "the", "x")] == [0, terms.NO_WORD, terms.STOP_WORD, -2]
    assert "unknown" not in ids


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ngrams": 4}, "ngrams must be 1, 2 or 3"),
        ({"tokens": "letters"}, "tokens must be 'words' or 'subwords'"),
        ({"max_features": 0}, "max_features must be at least 1"),
        ({"min_count": 0}, "min_count must be at least 1"),
        ({"max_share": 0.0}, "max_share must be above 0"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        TextVectorizer(**options)


def test_wrong_use_is_explained():
    with pytest.raises(NotFittedError, match="fit it on texts first"):
        TextVectorizer().transform(["text"])
    with pytest.raises(ConfigError, match="put the one text into a list"):
        TextVectorizer().fit("one text")
    with pytest.raises(DataError, match="text 1 is not a string but float"):
        TextVectorizer().fit(["fine", float("nan")])


@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_are_counted_alike_in_stretches_of_any_size(order, monkeypatch):
    rng = np.random.default_rng(order)
    blocks = [
        terms.TokenBlock(rng.integers(-1, 12, n).astype(np.int32), np.array([0, n], np.int64)) for n in (90, 0, 300)
    ]
    codes = np.concatenate([terms.encode_ngrams(block.ids, order, 20) for block in blocks])
    expected = np.unique(codes[codes >= 0], return_counts=True)
    wanted = expected[0][::7]
    for size in (10**6, 40, 1):
        monkeypatch.setattr(terms, "POSITIONS_PER_STRETCH", size)
        for found, part in zip(terms.count_ngrams(blocks, order, 20), expected, strict=True):
            np.testing.assert_array_equal(found, part)
        for most in (3, 20):
            some, counts = terms.count_ngrams(blocks, order, 20, most, wanted)
            np.testing.assert_array_equal(counts, expected[1][np.searchsorted(expected[0], some)])
            least = np.sort(expected[1])[-min(most, len(expected[1]))]
            assert np.isin(expected[0][expected[1] >= least], some).all()
            assert np.isin(wanted, some).all()
    assert [len(part) for part in terms.count_ngrams([], order, 20)] == [0, 0]


def test_a_stored_term_of_a_word_that_is_not_there_is_refused():
    state = TextVectorizer(ngrams=2).fit(["red apples", "green apples"]).to_state()
    codes = [some.copy() for some in state["vocabulary"]["codes"]]
    for wrong in (99, -1):
        codes[0][-1] = wrong
        with pytest.raises(ValueError, match="a term has a word that is not listed"):
            TextVectorizer.from_state(state | {"vocabulary": state["vocabulary"] | {"codes": codes}})
