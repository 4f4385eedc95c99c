"""The Predict page: text, labels and reasons side by side; other runs and a new label."""

from __future__ import annotations

import re
import shutil
from html import escape
from pathlib import Path

import pytest
from xcwork_app.views import document_prediction

from tests.support.pages import HOSTILE, Open, Train, find_box, read_component, send_event
from tests.support.predict_page import FRUIT, labels, listed, look, opened, read_number, rows, said, typed, why
from xcwork.data.load import load_dataset
from xcwork.runs import Run

pytestmark = pytest.mark.slow


def test_without_a_run_the_page_says_what_to_do(open_page: Open, corpus: Path) -> None:
    page = open_page("predict", data="fruit.csv")
    assert "no finished run" in said(page)


def test_a_test_document_has_its_labels_marked(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched)
    signs = {row["sign"] for row in rows(page)}
    assert signs <= {"right", "wrong", "missed"}
    assert "right" in signs  # every document about fruit names its fruit
    assert "1 of 1 annotated found" in said(page)
    assert {part["strength"] for part in read_component(page, "predict_marked_text")["parts"]} >= {"", "strong"}


def test_the_first_label_is_explained_and_what_is_shown_adds_up(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched)
    shown = why(page)
    assert shown["title"] == f"Why {labels(page)[0]}?"
    assert read_component(page, "predict_labels")["selected"] == labels(page)[0]
    assert sum(read_number(bar["value"]) for bar in shown["families"]) == read_number(shown["score"]["value"])
    opened_family = next(bar for bar in shown["families"] if bar["name"] == shown["family"])
    assert sum(read_number(bar["value"]) for bar in shown["words"]) == read_number(opened_family["value"])
    assert "up exactly to the score." in shown["footer"]
    assert "".join(text for text, _ in shown["sentence"]).endswith(".")


def test_a_family_marks_only_its_words_and_a_word_opens_its_pairs(open_page: Open, corpus: Path, train: Train) -> None:
    page = opened(open_page, train("zestxml", {}, corpus, "pairs"))
    before = why(page)
    family = before["families"][-1]["id"]
    page = send_event(page, "predict_reasons", family, event="family")
    assert page.query_params["family"] in (family, [family])
    shown = why(page)
    assert [bar["id"] for bar in shown["families"] if bar["is_open"]] == [family]
    assert shown["family"].lower() == family
    word = next(bar["id"] for bar in shown["words"] if bar["id"])
    page = send_event(page, "predict_reasons", word, event="word")
    shown = why(page)
    bar = next(bar for bar in shown["words"] if bar["is_open"])
    assert sum(read_number(value) for _, value in bar["lines"]) == read_number(bar["value"])
    assert read_component(page, "predict_marked_text")["chosen"] == word
    page = send_event(page, "predict_reasons", word, event="word")
    assert not any(bar["is_open"] for bar in why(page)["words"]), "the same word again closes it"
    page = send_event(page, "predict_reasons", family, event="family")
    assert why(page) == before, "the same family again marks all words"


def test_a_word_of_the_text_opens_in_why(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched)
    word = next(part["word"] for part in read_component(page, "predict_marked_text")["parts"] if part["strength"])
    page = send_event(page, "predict_marked_text", word)
    assert [bar["id"] for bar in why(page)["words"] if bar["is_open"]] == [word]
    assert page.query_params["word"] in (word, [word])


def test_a_label_of_the_list_is_explained_when_it_is_chosen(open_page: Open, popular: Run) -> None:
    page = opened(open_page, popular)
    page = send_event(page, "predict_labels", labels(page)[1])
    assert why(page)["title"] == f"Why {labels(page)[1]}?"
    assert [bar["name"] for bar in why(page)["families"]] == ["Starting point"]


def test_more_labels_are_listed_when_asked_for(open_page: Open, popular: Run) -> None:
    page = opened(open_page, popular, k="2")
    assert len(listed(page)) == 2
    assert read_component(page, "predict_labels")["more"] == "Show the next 3 labels"
    page = send_event(page, "predict_labels", "more", event="more")
    assert len(listed(page)) + sum(row["sign"] == "missed" for row in rows(page)) == 5
    assert read_component(page, "predict_labels")["more"] == ""


def test_a_typed_text_is_predicted_while_it_is_typed(open_page: Open, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    assert labels(page)[0] == "apple"
    assert all(row["sign"] == "" for row in rows(page)), "nobody has annotated it"
    assert page.query_params["predict.text"] in (FRUIT, [FRUIT])
    page = send_event(page, "predict_text_editor", "plum", event="edited")
    assert labels(page)[0] == "plum"


def test_without_a_text_there_is_an_example_to_click(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, **{"predict.where": "My text"})
    assert labels(page) == []
    assert "Type or paste a text" in said(page)
    page.button(key="predict.example").click().run()
    assert labels(page)
    page.button(key="predict.new_text").click().run()
    assert labels(page) == []
    assert labels(typed(page, "   \n ")) == []


def test_a_text_of_unknown_words_gets_one_true_sentence(open_page: Open, matched: Run, popular: Run) -> None:
    page = typed(opened(open_page, matched), "zzyzx 深さ 😀")
    assert read_component(page, "predict_labels")["empty"] == (
        "No word of this text is known to this run, so nothing is suggested."
    )
    page = typed(opened(open_page, popular), "zzyzx qwrtp")
    assert labels(page)
    (sentence,) = [each.value for each in page.info]
    assert "these labels do not depend on it" in sentence
    assert labels(page) == labels(typed(opened(open_page, popular), "xyzzy")), "as the sentence says"


def test_another_label_is_found_by_a_part_of_its_name(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, label="plu")
    assert not page.warning
    assert why(page)["title"] == "Why plum?"


def test_a_label_that_does_not_exist_is_said_not_to_exist(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, label="durian", family="nonsense", word="nothing")
    assert "There is no label with “durian”" in said(page)
    assert why(page)["title"] == f"Why {labels(page)[0]}?"


def test_a_new_label_gets_its_rank(open_page: Open, matched: Run) -> None:
    page = look(typed(opened(open_page, matched), FRUIT), "New label")
    page.text_input(key="predict.new_label").set_value("apple number").run()
    assert not page.exception
    assert "apple number comes" in said(page)
    shown = read_component(page, "predict_new_reasons")
    assert [bar["name"] for bar in shown["families"]] == ["Words in common"]
    assert "no training document has it" in "".join(text for text, _ in shown["sentence"])
    assert "apple number" not in matched.load_model().labels_.names


def test_a_method_that_cannot_take_new_labels_says_why(open_page: Open, popular: Run) -> None:
    assert "cannot score a new one" in said(look(opened(open_page, popular), "New label"))


def test_runs_stand_side_by_side_with_aligned_ranks(open_page: Open, matched: Run, popular: Run) -> None:
    page = look(opened(open_page, matched), "Other runs")
    table = next(each.proto.body for each in page.get("html") if "predict-ranks" in each.proto.body)
    assert "by words" in table
    assert "by counts" in table
    assert HOSTILE not in table
    assert escape(HOSTILE) in table.replace("<wbr>", "")
    assert f"<td>{1}</td>" in table


def test_a_single_run_has_nothing_beside_it(open_page: Open, matched: Run) -> None:
    assert "There is no second finished run" in said(look(opened(open_page, matched), "Other runs"))


def test_an_edit_shows_what_changed(open_page: Open, matched: Run) -> None:
    page = look(opened(open_page, matched), "What if")
    page.button(key="predict.edit_here").click().run()
    assert read_component(page, "predict_text_editor")["text"]
    page = send_event(page, "predict_text_editor", "plum plum plum", event="edited")
    assert "Before and after" in said(page)
    assert "predict-ranks" in said(page)
    # Percentages where the run is calibrated; this one has too few documents for it.
    assert re.search(r"score [\d.e+-]+ before, [\d.e+-]+ after", said(page))
    page.button(key="predict.restore").click().run()
    assert "Edit the text" in said(page)


def test_a_search_finds_documents_to_choose_from(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched)
    page.text_input(key="predict.search").set_value("plum").run()
    found = page.selectbox(key="predict.found.plum")
    assert found.options
    found.set_value(found.options[0]).run()
    assert not page.exception
    assert "plum" in labels(page)
    page.text_input(key="predict.search").set_value("durian").run()
    assert "No test document matches" in said(page)


def test_a_run_whose_model_is_gone_is_a_sentence(open_page: Open, matched: Run) -> None:
    shutil.rmtree(matched.folder / "model")
    page = opened(open_page, matched)
    assert page.error


def test_the_page_opens_on_a_document_that_shows_what_the_run_can_do(
    open_page: Open, matched: Run, popular: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = {matched.id: 7, popular.id: 3}
    monkeypatch.setattr(document_prediction, "find_usual_document", lambda run, _: usual[run.id])
    page = opened(open_page, matched)
    assert page.number_input(key="predict.row").value == 8
    assert "document" not in page.query_params, "a link opens the same one"
    find_box(page, "shell.run").set_value(popular.id).run()
    assert page.number_input(key="predict.row").value == 8, "to see what another run makes of it"
    assert page.query_params["document"] == "7", "which a link does not find by itself"
    page = opened(open_page, matched, document="0")
    assert page.number_input(key="predict.row").value == 1
    assert page.query_params["document"] == "0"


def test_a_usual_document_has_labels_that_the_run_finds(matched: Run, popular: Run) -> None:
    test = load_dataset(Path(matched.config["data"])).test
    row = document_prediction.find_usual_document(matched, test)
    assert matched.read_topk().ids[row, 0] in test.Y[[row]].indices


def test_a_percentage_is_not_rounded_up_to_the_threshold_it_misses() -> None:
    from types import SimpleNamespace

    from xcwork_app.panels.predict.label_column import make_row

    model = SimpleNamespace(calibration_=None)

    def show(probability: float) -> str:
        label = SimpleNamespace(
            name="fig", sign="", frequency=3, rank=1, score=0.5, probability=probability, is_annotated=False
        )
        return make_row(label, model, 0.8).value

    assert [show(0.7996), show(0.79), show(0.81)] == ["79.9 %", "", ""]
