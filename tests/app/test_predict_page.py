"""The predict page: suggested labels, their reasons, runs side by side, a new label, an edited text."""

from __future__ import annotations

import gzip
import json
import shlex
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import Open, Train
from xcwork.data.load import load_dataset
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


def opened(open_page, run: Run, **query: str) -> AppTest:
    return open_page("predict", data="fruit.csv", run=run.id, **query)


def said(page: AppTest) -> str:
    shown = (*page.markdown, *page.caption, *page.warning, *page.info)
    return " ".join(each.value for each in shown).replace("\\", "")


def labels(page: AppTest) -> list[str]:
    return list(page.dataframe[0].value["label"])


def typed(page: AppTest, text: str) -> AppTest:
    page.segmented_control(key="predict.where").set_value("own").run()
    page.text_area(key="predict.text").set_value(text)
    return page.button(key="predict.submit").click().run()


def test_without_a_run_the_page_says_what_to_do(open_page, corpus: Path) -> None:
    page = open_page("predict", data="fruit.csv")
    assert "no finished run" in said(page)


def test_a_test_document_has_its_labels_marked(open_page, matched: Run) -> None:
    page = opened(open_page, matched)
    table = page.dataframe[0].value
    assert set(table["sign"]) <= {"✓", "✗", "○"}
    assert "✓" in set(table["sign"])  # every document about fruit names its fruit
    assert page.get("plotly_chart")


def test_the_first_label_is_explained_and_the_parts_add_up(open_page, corpus: Path, matched: Run) -> None:
    page = opened(open_page, matched)
    label = page.selectbox(key="predict.label").value
    assert label == labels(page)[0]
    parts = next(each.value for each in page.dataframe if "document_term" in each.value)
    document = load_dataset(corpus).test.take([0])
    assert parts["value"].sum() == pytest.approx(matched.model().explain(document, label).score)
    assert ("makes up the score" if len(parts) == 1 else "add up to the score") in said(page)


def test_a_typed_text_is_predicted(open_page, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    assert labels(page)[0] == "apple"


def test_a_text_of_unknown_words_gets_one_true_sentence(open_page: Open, matched: Run, popular: Run) -> None:
    page = typed(opened(open_page, matched), "zzyzx qwrtp")
    assert [each.value for each in (*page.info, *page.warning)] == [
        "No word of this text is known to this run, so nothing is suggested."
    ]
    page = typed(opened(open_page, popular), "zzyzx qwrtp")
    assert labels(page)
    (sentence,) = [each.value for each in (*page.info, *page.warning)]
    assert "these labels do not depend on it" in sentence
    assert labels(page) == labels(typed(opened(open_page, popular), "xyzzy")), "as the sentence says"


def test_another_label_is_found_by_a_part_of_its_name(open_page, matched: Run) -> None:
    page = opened(open_page, matched, label="plu")
    assert not page.warning
    assert "plum" in said(page)


def test_a_label_that_does_not_exist_is_said_not_to_exist(open_page, matched: Run) -> None:
    assert "There is no label with “durian”" in said(opened(open_page, matched, label="durian"))


def test_a_new_label_gets_its_rank(open_page, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    page.segmented_control(key="predict.view").set_value("new").run()
    page.text_input(key="predict.new_label").set_value("apple number")
    page.button(key="predict.try_label").click().run()
    assert not page.exception
    assert "apple number comes" in said(page)
    assert "apple number" not in matched.model().labels_.names


def test_a_method_that_cannot_take_new_labels_says_why(open_page, popular: Run) -> None:
    page = opened(open_page, popular)
    page.segmented_control(key="predict.view").set_value("new").run()
    assert "cannot score a new one" in said(page)


def test_runs_stand_side_by_side_with_agreement(open_page, matched: Run, popular: Run) -> None:
    page = opened(open_page, matched)
    page.segmented_control(key="predict.view").set_value("runs").run()
    grid = page.dataframe[1].value
    assert len(grid) == 2
    assert any("by words" in name for name in grid["run"])
    assert "In the list of every run" in said(page)


def test_an_edit_shows_what_changed(open_page, matched: Run) -> None:
    page = opened(open_page, matched)
    page.button(key="predict.edit").click().run()
    text = page.text_area(key="predict.text").value
    assert text
    page.text_area(key="predict.text").set_value("plum plum plum")
    page.button(key="predict.submit").click().run()
    page.segmented_control(key="predict.view").set_value("edited").run()
    assert not page.exception
    assert "Of the labels in either list" in said(page)


def test_a_search_finds_documents_to_choose_from(open_page, matched: Run) -> None:
    page = opened(open_page, matched)
    page.text_input(key="predict.search").set_value("plum").run()
    found = page.selectbox(key="predict.found.plum")
    assert found.options
    found.set_value(found.options[0]).run()
    assert not page.exception
    assert "plum" in labels(page)
    page.text_input(key="predict.search").set_value("durian").run()
    assert "No test document matches" in said(page)


def test_a_run_whose_model_is_gone_is_a_sentence(open_page, matched: Run) -> None:
    shutil.rmtree(matched.folder / "model")
    page = opened(open_page, matched)
    assert page.error


def test_a_link_opens_the_same_document_and_label(open_page, matched: Run) -> None:
    page = opened(open_page, matched, document="3", label="pear", k="2")
    assert page.number_input(key="predict.row").value == 3
    assert page.selectbox(key="predict.label").value == "pear"
    assert sum(sign != "○" for sign in page.dataframe[0].value["sign"]) <= 2


def test_another_goes_through_every_test_document(open_page: Open, matched: Run) -> None:
    page, seen = opened(open_page, matched, document="1"), []
    n_documents = int(page.number_input(key="predict.row").max) + 1
    for _ in range(n_documents):
        page.button(key="predict.another").click().run()
        seen.append(page.number_input(key="predict.row").value)
    assert sorted(seen) == list(range(n_documents))
    assert seen[-1] == 1


def test_a_typed_text_stays_while_somebody_looks_at_a_test_document(open_page: Open, matched: Run) -> None:
    page = typed(opened(open_page, matched), FRUIT)
    page.segmented_control(key="predict.where").set_value("test").run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert page.text_area(key="predict.text").value == FRUIT
    assert labels(page)[0] == "apple"
    page.switch_page("app_pages/errors.py").run()
    page.switch_page("app_pages/predict.py").run()
    assert page.text_area(key="predict.text").value == FRUIT


def test_a_new_label_stays_while_somebody_looks_at_another_view(open_page: Open, matched: Run) -> None:
    page = opened(open_page, matched, section="new")
    page.text_input(key="predict.new_label").set_value("apple number").run()
    page.segmented_control(key="predict.view").set_value("why").run()
    page.segmented_control(key="predict.view").set_value("new").run()
    assert page.text_input(key="predict.new_label").value == "apple number"


def edited(page: AppTest, text: str) -> AppTest:
    page.button(key="predict.edit").click().run()
    page.text_area(key="predict.text").set_value(text).run()
    return page.segmented_control(key="predict.view").set_value("edited").run()


def test_an_edit_stays_an_edit_of_its_document(open_page: Open, matched: Run) -> None:
    page = edited(opened(open_page, matched, document="3"), FRUIT)
    assert "Edited from test document 3." in said(page)
    page.segmented_control(key="predict.where").set_value("test").run()
    page.button(key="predict.another").click().run()
    page.segmented_control(key="predict.where").set_value("own").run()
    assert "Against test document 3" in said(page)
    again = open_page("predict", **page.query_params)
    assert "Against test document 3" in said(again), "the link of an edit opens the edit"


@pytest.mark.parametrize("begin_anew", ["button", "empty box"])
def test_a_new_text_is_not_compared_with_the_document_of_an_earlier_edit(
    open_page: Open, matched: Run, begin_anew: str
) -> None:
    page = edited(opened(open_page, matched), FRUIT)
    if begin_anew == "button":
        page.button(key="predict.new_text").click().run()
    else:
        page.text_area(key="predict.text").set_value("").run()
    assert page.text_area(key="predict.text").value == ""
    page.text_area(key="predict.text").set_value("plum").run()
    assert "Edited from" not in said(page)
    assert "Press “Edit this text”" in said(page)


def test_an_edit_is_forgotten_with_its_dataset_and_the_text_is_not(open_page: Open, matched: Run, linked: Run) -> None:
    page = edited(opened(open_page, matched), FRUIT)
    page.selectbox(key="shell.data").set_value("links").run()
    assert page.text_area(key="predict.text").value == FRUIT
    assert "Edited from" not in said(page)


def test_a_text_beyond_the_limit_is_kept_and_the_limit_is_said(open_page: Open, matched: Run) -> None:
    long = "apple " * 40_000
    page = typed(opened(open_page, matched), long)
    assert page.text_area(key="predict.text").value == long
    (problem,) = page.error
    assert "240,000 characters, and 200,000 are the limit" in problem.value


def test_every_ranking_of_an_edited_document_keeps_its_filter_pairs(open_page: Open, linked: Run) -> None:
    page = open_page("predict", data="links", run=linked.id)
    assert labels(page) == ["pear"]
    page = edited(page, "apple plum")
    assert labels(page) == ["plum"], "the table of labels"
    changes = next(each.value for each in page.dataframe if "rank_before" in each.value)
    assert dict(zip(changes["label"], changes["state"], strict=True)) == {"plum": "new", "pear": "out"}
    page.segmented_control(key="predict.view").set_value("runs").run()
    assert not any("apple" in str(cell) for cell in page.dataframe[1].value.to_numpy().ravel()), "other runs"
    page.segmented_control(key="predict.view").set_value("new").run()
    page.text_input(key="predict.new_label").set_value("apple plum").run()
    assert "apple" not in set(next(each.value for each in page.dataframe if "rank_after" in each.value)["label"])


def test_the_explanation_of_a_filtered_label_says_that_it_is_never_listed(open_page: Open, linked: Run) -> None:
    page = open_page("predict", data="links", run=linked.id, label="apple")
    assert "a filter pair of the dataset keeps the label out" in said(page)
    assert "filter pair" not in said(open_page("predict", data="links", run=linked.id, label="pear"))


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
    assert [each["label"] for each in json.loads(done.stdout)["predictions"]] == labels(page)
