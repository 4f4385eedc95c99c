"""The predict page: text, labels and reasons side by side; other runs, a new label, an edited text."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import HOSTILE, Open, Train, read_component, send_event
from xcwork.runs import Run, RunStore, worker

pytestmark = pytest.mark.slow

FRUIT = "apple apple apple"


@pytest.fixture
def matched(corpus: Path, train: Train) -> Run:
    """A finished run of a zero-shot method."""
    return train("tfidf", {}, corpus, "by words")


@pytest.fixture
def popular(corpus: Path, train: Train) -> Run:
    """A finished run of a method that knows labels from documents alone."""
    return train("popularity", {}, corpus, "by counts")


@pytest.fixture
def linked(home: Path) -> Run:
    """A finished run on a dataset with a filter pair: `apple` must not be predicted for the first test document."""
    folder = home / "data" / "links"
    folder.mkdir()
    names = ["apple", "pear", "plum"]
    train = [(f"{name} number {i}", [label]) for i in range(4) for label, name in enumerate(names)]
    test = [("apple apple pear", [1]), ("plum pear", [2])]
    for file, documents in (("trn", train), ("tst", test)):
        rows = [
            {"uid": f"{file}{i}", "title": text, "content": "", "target_ind": ids}
            for i, (text, ids) in enumerate(documents)
        ]
        write_json_lines(folder / f"{file}.json.gz", rows)
    write_json_lines(folder / "lbl.json.gz", [{"uid": f"label{i}", "title": name} for i, name in enumerate(names)])
    (folder / "filter_labels_test.txt").write_text("0 0\n")
    run = RunStore().create("tfidf", {}, folder, name="linked")
    assert worker.main(run.folder) == 0
    return run


def write_json_lines(path: Path, rows: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def opened(open_page: Open, run: Run, **query: str) -> AppTest:
    return open_page("predict", data="fruit.csv", run=run.id, **query)


def said(page: AppTest) -> str:
    shown = (*page.markdown, *page.caption, *page.warning, *page.info, *page.get("html"))
    return " ".join(str(getattr(each, "value", "") or each.proto.body) for each in shown).replace("\\", "")


def rows(page: AppTest) -> list[dict[str, Any]]:
    return [row for group in read_component(page, "predict_labels")["groups"] for row in group["rows"]]


def labels(page: AppTest) -> list[str]:
    return [row["id"] for row in rows(page)]


def listed(page: AppTest) -> list[str]:
    """The labels of the ranking, without those that were missed."""
    return [row["id"] for row in rows(page) if row["sign"] != "missed"]


def why(page: AppTest) -> dict[str, Any]:
    return read_component(page, "predict_reasons")


def typed(page: AppTest, text: str) -> AppTest:
    page.segmented_control(key="predict.where").set_value("own").run()
    return send_event(page, "predict_text_editor", text, event="edited")


def look(page: AppTest, view: str) -> AppTest:
    page.segmented_control(key="predict.view").set_value(view).run()
    assert not page.exception
    return page


def read_number(shown: str) -> Decimal:
    return Decimal(shown.replace("−", "-").replace(",", ""))


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
    assert read_component(page, "predict_new_reasons")["title"] == "Why apple number?"
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
    # Percentages where the run is calibrated, as this one is, and scores beside them.
    assert re.search(r"<b>\d+ %</b><small>rank 1</small>", said(page))
    assert re.search(r"before, .*after \(score [\d.e+-]+, then [\d.e+-]+\)", said(page))
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


def test_a_link_opens_the_same_document_and_label(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, document="3", label="pear", k="2")
    assert page.number_input(key="predict.row").value == 4, "people count from 1"
    assert why(page)["title"] == "Why pear?"
    assert len(listed(page)) <= 2


def test_next_previous_and_random_go_through_the_test_documents(open_page: Open, matched: Run) -> None:
    page, seen = opened(open_page, matched, document="1", family="words in common", word="apple"), []
    n_documents = int(page.number_input(key="predict.row").max)
    for _ in range(n_documents):
        page.button(key="predict.another").click().run()
        seen.append(page.number_input(key="predict.row").value)
    assert sorted(seen) == list(range(1, n_documents + 1))
    assert seen[-1] == 2
    page.button(key="predict.previous").click().run()
    assert page.number_input(key="predict.row").value == 1
    assert page.button(key="predict.previous").disabled
    page.button(key="predict.next").click().run()
    page.number_input(key="predict.row").set_value(n_documents).run()
    assert page.button(key="predict.next").disabled
    assert "word" not in page.query_params, "what was open belongs to another document"


def test_a_typed_text_stays_while_somebody_looks_elsewhere(open_page: Open, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    page.segmented_control(key="predict.where").set_value("test").run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert read_component(page, "predict_text_editor")["text"] == FRUIT
    assert labels(page)[0] == "apple"
    page.switch_page("app_pages/errors.py").run()
    assert "predict.text" not in page.query_params
    page.switch_page("app_pages/predict.py").run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert read_component(page, "predict_text_editor")["text"] == FRUIT


def test_a_new_label_stays_while_somebody_looks_at_another_view(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, **{"predict.view": "New label"})
    page.text_input(key="predict.new_label").set_value("apple number").run()
    page = look(look(page, "Why"), "New label")
    assert page.text_input(key="predict.new_label").value == "apple number"


def edited(page: AppTest, text: str) -> AppTest:
    page.button(key="predict.edit").click().run()
    page = send_event(page, "predict_text_editor", text, event="edited")
    return look(page, "What if")


def test_an_edit_stays_an_edit_of_its_document(open_page: Open, matched: Run) -> None:
    page = edited(opened(open_page, matched, document="3"), FRUIT)
    assert "Edited from document 4" in said(page)
    page.segmented_control(key="predict.where").set_value("test").run()
    page.button(key="predict.another").click().run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert "test document 4" in said(page)
    bound = {"predict.where": "My text", "predict.view": "What if"}  # which the browser writes
    again = open_page("predict", **(page.query_params | bound))
    assert "test document 4" in said(again), "the link of an edit opens the edit"


@pytest.mark.parametrize("begin_anew", ["button", "empty box"])
def test_a_new_text_is_not_compared_with_the_document_of_an_earlier_edit(
    open_page: Open, matched: Run, begin_anew: str
) -> None:
    page = edited(opened(open_page, matched), FRUIT)
    if begin_anew == "button":
        page.button(key="predict.new_text").click().run()
    else:
        page = send_event(page, "predict_text_editor", "", event="edited")
    assert read_component(page, "predict_text_editor")["text"] == ""
    page = send_event(page, "predict_text_editor", "plum", event="edited")
    assert "Edited from" not in said(page)
    assert "Edit the text" in said(page)


def test_an_edit_is_forgotten_with_its_dataset_and_the_text_is_not(open_page: Open, matched: Run, linked: Run) -> None:
    page = edited(opened(open_page, matched), FRUIT)
    page.selectbox(key="shell.data").set_value("links").run()
    assert read_component(page, "predict_text_editor")["text"] == FRUIT
    assert "Edited from" not in said(page)


def test_a_text_beyond_the_limit_is_kept_and_the_limit_is_said(open_page: Open, matched: Run) -> None:
    long = "apple " * 40_000
    page = typed(opened(open_page, matched), long)
    assert read_component(page, "predict_text_editor")["text"] == long
    (problem,) = page.error
    assert "240,000 characters; the limit is 200,000" in problem.value
    assert labels(page) == []


def test_every_ranking_of_an_edited_document_keeps_its_filter_pairs(open_page: Open, linked: Run) -> None:
    page = open_page("predict", data="links", run=linked.id)
    assert listed(page) == ["pear"]
    page = edited(page, "apple plum")
    assert labels(page) == ["plum"], "the list of labels"
    changes = next(each.proto.body for each in page.get("html") if "before" in each.proto.body)
    assert "plum" in changes
    assert "apple" not in changes
    page = look(page, "New label")
    page.text_input(key="predict.new_label").set_value("apple plum").run()
    table = next(each.proto.body for each in page.get("html") if "before" in each.proto.body)
    assert ">apple<" not in table


def test_the_explanation_of_a_filtered_label_says_that_it_is_never_listed(open_page: Open, linked: Run) -> None:
    page = open_page("predict", data="links", run=linked.id, label="apple")
    assert "A filter pair of the dataset keeps it out" in why(page)["facts"]
    assert "filter pair" not in why(open_page("predict", data="links", run=linked.id, label="pear"))["facts"]


@pytest.mark.parametrize("text", [None, "apple plum", "apple\n\nplum", "plum " * 200])
def test_the_command_of_the_page_lists_the_same_labels(
    open_page: Open, linked: Run, tmp_path: Path, text: str | None
) -> None:
    from typer.testing import CliRunner

    from xcwork.cli import app

    page = open_page("predict", data="links", run=linked.id)
    if text is not None:
        page = edited(page, text)
    command, _, file = page.code[0].value.partition(" < ")
    assert file == ("document.txt" if text is not None and len(text) > 400 else "")
    done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"], input=text if file else None)
    assert [each["label"] for each in json.loads(done.stdout)["predictions"]] == listed(page)


def test_strange_texts_and_labels_are_shown_as_they_are(open_page: Open, home: Path, train: Train) -> None:
    long = "x" * 300
    names = [HOSTILE, "=cmd()", "*bold* _it_", long, "深さ優先探索"]
    lines = [f"{['apple', 'pear', 'plum', 'fig', 'kiwi'][i % 5]} text {i},{names[i % 5]}" for i in range(40)]
    file = home / "data" / "strange.csv"
    file.write_text("\n".join(["text,labels", *lines]) + "\n", encoding="utf-8")
    run = train("one_vs_all", {}, file, "strange")
    page = open_page("predict", data="strange.csv", run=run.id)
    assert {row["path"] + row["name"] for row in rows(page)} <= set(names)
    page = typed(page, f"{HOSTILE} fig 😀 *plum* {long}")
    assert not page.exception
    parts = read_component(page, "predict_text_editor")["parts"]
    assert "".join(part["text"] for part in parts) == f"{HOSTILE} fig 😀 *plum* {long}"
    page = send_event(page, "predict_labels", long)
    assert why(page)["title"] == f"Why {long}?"


def test_a_dataset_of_features_cannot_read_a_text(open_page: Open, home: Path) -> None:
    lines = ["12 4 3", *(f"{i % 3} {i % 4}:1.0 {(i + 1) % 4}:0.5" for i in range(12))]
    file = home / "data" / "features.txt"
    file.write_text("\n".join(lines) + "\n")
    run = RunStore().create("one_vs_all", {}, file, name="numbers")
    assert worker.main(run.folder) == 0
    page = open_page("predict", data="features.txt", run=run.id)
    assert labels(page)
    assert not any(button.key == "predict.edit" for button in page.button)
    page.segmented_control(key="predict.where").set_value("own").run()
    assert "This dataset has no texts, so it cannot read yours." in said(page)
