"""Texts in other languages than English: recognised, read by their own rules, and stored with what reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xcwork.analysis.text_spans import find_spans
from xcwork.core.features import Features
from xcwork.data.card import describe
from xcwork.data.from_memory import from_lists
from xcwork.data.load import load_dataset
from xcwork.errors import ConfigError
from xcwork.storage.state import read_state, write_state
from xcwork.text.compounds import split_compound
from xcwork.text.language_detection import LanguageDetector, choose_languages, estimate_languages, guess_language
from xcwork.text.languages import LANGUAGES, find_language, list_stop_words, stem_word, strip_accents
from xcwork.text.segmentation import make_script_splitter
from xcwork.text.vectorizer import TextVectorizer

SENTENCES = {
    "ar": "الكلب يركض في الغابة ويبحث عن عصا لا يستطيع العثور عليها",
    "ca": "El gos corre pel bosc i busca un pal que no pot trobar amb els seus ulls.",
    "cs": "Pes běží lesem a hledá klacek, který nemůže najít, protože je pod listím.",
    "da": "Hunden løber gennem skoven, og den leder efter en pind, som den ikke kan finde hos nogen af os.",
    "de": "Der Hund läuft durch den Wald und sucht nach einem Stock, den er nicht finden kann.",
    "el": "Ο σκύλος τρέχει στο δάσος και ψάχνει ένα ραβδί.",
    "en": "The dog runs through the forest and looks for a stick that it cannot find.",
    "es": "El perro corre por el bosque y busca un palo que no puede encontrar.",
    "fi": "Koira juoksee metsän läpi ja etsii keppiä, jota se ei voi löytää.",
    "fr": "Le chien court dans la forêt et cherche un bâton qu'il ne peut pas trouver.",
    "hi": "कुत्ता जंगल में दौड़ता है और एक छड़ी खोजता है",
    "hu": "A kutya átszalad az erdőn és egy botot keres, amelyet nem talál meg.",
    "id": "Anjing itu berlari melalui hutan dan mencari tongkat yang tidak dapat ditemukannya.",
    "it": "Il cane corre nella foresta e cerca un bastone che non riesce a trovare.",
    "ja": "犬は森を走って棒を探しています。",
    "ko": "개가 숲을 달리며 막대기를 찾는다",
    "nl": "De hond rent door het bos en zoekt naar een stok die hij niet kan vinden.",
    "pl": "Pies biegnie przez las i szuka patyka, którego nie może znaleźć.",
    "pt": "O cão corre pela floresta e procura um pau que não consegue encontrar.",
    "ro": "Câinele aleargă prin pădure și caută un băț pe care nu îl poate găsi.",
    "ru": "Собака бежит по лесу и ищет палку, которую она не может найти.",
    "sv": "Hunden springer genom skogen och letar efter en pinne som den inte kan hitta.",
    "th": "สุนัขวิ่งผ่านป่าและมองหาไม้",
    "tr": "Köpek ormanda koşuyor ve bulamadığı bir sopayı arıyor, ama çok yorgun.",
    "uk": "Собака біжить лісом і шукає палицю, яку він не може знайти.",
    "zh": "狗在森林里跑,寻找一根它找不到的棍子。",
}
GERMAN = [
    f"Die Häuser und der {word} sind mit den Bäumen in einem Garten, aber nicht im Wald." for word in ("Hof", "Teich")
]
ENGLISH = [
    f"The houses and the {word} are with the trees in a garden, but not in the wood." for word in ("yard", "path")
]


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_a_sentence_tells_its_language(code: str) -> None:
    assert guess_language(SENTENCES[code]) == code


def test_english_words_in_the_list_of_slovak_do_not_count() -> None:
    assert guess_language("The state of the art") == "en"


def test_a_few_texts_in_another_script_do_not_make_the_others_greek() -> None:
    assert choose_languages([*["numpy.linalg.norm"] * 4, SENTENCES["el"]]) == ["en", "el"]


@pytest.mark.parametrize("text", ["scipy.special.hermite", "", "12 34"])
def test_a_text_without_function_words_tells_nothing(text: str) -> None:
    assert guess_language(text) is None


def test_shares_of_languages_leave_out_what_nobody_can_tell() -> None:
    assert estimate_languages([*ENGLISH, GERMAN[0], "x"]) == pytest.approx({"en": 2 / 3, "de": 1 / 3})
    assert estimate_languages([]) == {}
    assert estimate_languages(["zzz"] * 3) == {}
    assert choose_languages(["zzz"] * 3) == ["en"]
    assert choose_languages([*["numpy.linalg.norm"] * 50, GERMAN[0]]) == ["en"]


def test_every_language_has_what_it_claims() -> None:
    import snowballstemmer

    for language in LANGUAGES.values():
        assert bool(list_stop_words(language.code)) == language.has_stop_words
        assert not language.stemmer or stem_word("abc", language.code)
    stemmers = {language.stemmer for language in LANGUAGES.values()}
    assert set(snowballstemmer.algorithms()) <= stemmers | {"porter", "dutch_porter"}


def test_languages_by_code_and_name() -> None:
    assert [find_language(name).code for name in ("de", "DE-at", "german", "no", "pt_BR")] == [
        "de",
        "de",
        "de",
        "nb",
        "pt",
    ]
    with pytest.raises(ConfigError, match="there is no language 'xx'"):
        TextVectorizer(language="xx")


def test_german_words_are_stopped_and_stemmed() -> None:
    vectorizer = TextVectorizer(ngrams=1).fit(GERMAN)
    assert vectorizer.languages == ["de"]
    assert vectorizer.feature_names == ["baum", "gart", "haus", "hof", "teich", "wald"]
    assert TextVectorizer(ngrams=1, stem=False).fit(GERMAN).feature_names[0] == "bäumen"
    assert "die" in TextVectorizer(ngrams=1, language="en").fit(GERMAN).feature_names


def test_rows_and_labels_are_read_in_their_own_language() -> None:
    vectorizer = TextVectorizer(ngrams=1).fit([*GERMAN * 5, *ENGLISH * 5], ["Häuser", "houses", "Gärten"])
    assert vectorizer.languages == ["de", "en"]
    names = vectorizer.feature_names
    assert {"haus", "houses", "gart", "garden"} <= set(names)  # English words stay as they are written
    assert not {"die", "the", "und", "and", "häuser"} & set(names)
    rows = vectorizer.transform(["Häuser", "houses", "Haus"]).toarray()
    assert rows[0, names.index("haus")] == rows[2, names.index("haus")] == rows[1, names.index("houses")] == 1
    assert vectorizer.count_languages([GERMAN[0], ENGLISH[0], ENGLISH[1]]) == {"de": 1, "en": 2}


def test_a_word_nobody_knows_is_told_by_its_ending() -> None:
    words = [f"die {word} ist bei der {word}" for word in ("Zeitung", "Wohnung", "Leitung", "Heizung")]
    others = [f"the {word} is in the {word}" for word in ("meeting", "station", "nation", "motion")]
    detector = LanguageDetector.learn([*words, *others] * 3, ["en", "de"])
    assert detector.recognise(["Kleidung", "relation", ""]).tolist() == [1, 0, 0]


@pytest.mark.parametrize("texts", [GERMAN, [*GERMAN, *ENGLISH], [SENTENCES["zh"], SENTENCES["ja"]]])
@pytest.mark.parametrize("options", [{}, {"char_ngrams": 4}, {"tokens": "subwords"}])
def test_what_reads_the_texts_is_stored(tmp_path: Path, texts: list[str], options: dict) -> None:
    vectorizer = TextVectorizer(**options)
    rows = vectorizer.fit_transform(texts, texts[:1])
    write_state(tmp_path / "state", {"vectorizer": vectorizer})
    stored = read_state(tmp_path / "state")["vectorizer"]
    np.testing.assert_array_equal(stored.transform(texts).toarray(), rows.toarray())
    np.testing.assert_array_equal(vectorizer.transform(texts).toarray(), rows.toarray())
    assert stored.fingerprint == vectorizer.fingerprint
    again = TextVectorizer(**vectorizer.options).fit(texts, texts[:1])
    assert again.feature_names == vectorizer.feature_names


def test_english_texts_are_stored_as_before_other_languages_were_known() -> None:
    state = TextVectorizer().fit(ENGLISH).to_state()
    assert sorted(state["options"]) == [
        "max_features",
        "max_share",
        "min_count",
        "ngrams",
        "split_underscores",
        "stem",
        "stop_words",
        "sublinear",
        "tokens",
    ]
    assert state["options"]["stem"] is False
    assert sorted(state["vocabulary"]["rules"]) == ["split_underscores", "stem", "stop_words"]


def test_damaged_rules_of_several_languages_are_refused() -> None:
    state = TextVectorizer().fit([*GERMAN, *ENGLISH]).to_state()
    rules = state["vocabulary"]["rules"]
    for damaged in (
        {"of_languages": rules["of_languages"][:1], "detector": rules["detector"]},
        {**rules, "detector": {**rules["detector"], "prior": np.zeros(7, np.float32)}},
        {**rules, "detector": {**rules["detector"], "weights": np.full((1, 2), np.nan)}},
    ):
        with pytest.raises(ValueError, match="language"):
            TextVectorizer.from_state({**state, "vocabulary": {**state["vocabulary"], "rules": damaged}})


def test_scripts_without_spaces_are_read_by_pairs_and_marks_belong_to_words() -> None:
    split = make_script_splitter(False, True).list_words
    assert split("日本語のiPad用 本") == ["日本", "本語", "語の", "iPad", "用", "本"]
    assert split("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert split("fu\u0308r alle\n\nda") == ["fu\u0308r", "alle", "\n\n", "da"]
    vectorizer = TextVectorizer().fit([SENTENCES["zh"], "猫在树上睡觉。"])
    assert vectorizer.languages == ["zh"]
    assert vectorizer.transform(["森林里的猫"]).nnz >= 2


def test_accents_are_folded_where_readers_leave_them_out() -> None:
    french = TextVectorizer(ngrams=1).fit([SENTENCES["fr"]])
    assert french.languages == ["fr"]
    np.testing.assert_array_equal(french.transform(["foret"]).toarray(), french.transform(["forêt"]).toarray())
    assert french.transform(["foret"]).nnz == 1
    german = TextVectorizer(ngrams=1, stem=False).fit(["Der Bär ist nicht in der Bar und das ist auch gut so."])
    assert {"bär", "bar"} <= set(german.feature_names)
    assert strip_accents("naïve café") == "naive cafe"


def test_a_compound_counts_as_its_parts() -> None:
    lexicon = {"fachwerk": 9, "gebaud": 30, "arbeit": 50, "markt": 40, "politik": 20, "arbeitsmarkt": 90, "eigen": 3}
    assert [part.term for part in split_compound("fachwerkgebaud", lexicon)] == ["fachwerk", "gebaud"]
    assert split_compound("arbeitsmarkt", lexicon) == []  # more frequent than its parts
    assert split_compound("arbeitsmarktpolitik", lexicon) == [(0, 12, "arbeitsmarkt"), (12, 19, "politik")]
    assert split_compound("unbekannt", lexicon) == split_compound("x" * 500, lexicon) == []
    texts = ["Die Schäden an dem Fachwerk sind nicht alt", "Das Gebäude und der Garten sind alt"]
    vectorizer = TextVectorizer(ngrams=1).fit(texts, ["Fachwerk", "Gebäude", "Schule", "Garten"])
    names = vectorizer.feature_names
    row = vectorizer.transform(["Schulgärten und Fachwerkgebäuden"])
    assert {names[column] for column in row.indices} == {"schul", "gart", "fachwerk", "gebaud"}
    spans = find_spans("In Fachwerkgebäuden", {"gebaud": 1.0}, Features(len(names), names, vectorizer))
    assert [(span.start, span.end) for span in spans] == [(11, 19)]
    plain = TextVectorizer(ngrams=1, compounds=False).fit(texts, ["Fachwerk", "Gebäude", "Schule", "Garten"])
    assert plain.transform(["Schulgärten"]).nnz == 0


def test_pieces_of_long_words_are_features_and_marked_in_the_text() -> None:
    vectorizer = TextVectorizer(ngrams=1, char_ngrams=6, language="de").fit(["Fachwerkhaus", "Kraftwerk"])
    names = vectorizer.feature_names
    assert {"fachwe*", "*chwerk*", "*erkhaus"} - {"*erkhaus"} <= set(names)
    assert vectorizer.transform(["Fachwerkbau"]).nnz > 0
    spans = find_spans("Ein Fachwerkbau", {"fachwe*": 1.0}, Features(len(names), names, vectorizer))
    assert [(span.start, span.end) for span in spans] == [(4, 10)]
    with pytest.raises(ConfigError, match="char_ngrams must be 0"):
        TextVectorizer(char_ngrams=1)


def test_the_language_is_an_option_and_on_the_card(tmp_path: Path) -> None:
    file = tmp_path / "texte.csv"
    rows = [f"{GERMAN[i % 2]} Nummer{i},Haus|Garten" for i in range(10)]
    file.write_text("\n".join(["text,labels", *(f'"{row.rsplit(",", 1)[0]}",{row.rsplit(",", 1)[1]}' for row in rows)]))
    found, asked, plain = (
        load_dataset(file, home=tmp_path, **options) for options in ({}, {"language": "German"}, {"language": "en"})
    )
    assert found.fingerprint == asked.fingerprint != plain.fingerprint
    assert "languages" in describe(found).to_text()
    assert describe(found).name_languages() == "German"
    assert describe(plain).languages == {"en": len(plain.train)}
    pieces = load_dataset(file, home=tmp_path, char_ngrams=4, vectorizer={"ngrams": 1})
    assert "haus" in pieces.features.names
    assert any("*" in name for name in pieces.features.names)
    texts, labels = GERMAN * 3, [["a"], ["b"]] * 3
    assert from_lists(texts, labels, language="de").features.vectorizer.languages == ["de"]
    mixed = describe(from_lists([*GERMAN, *ENGLISH] * 4, [["a"], ["b"]] * 8))
    assert mixed.name_languages() == "German 50%, English 50%"
