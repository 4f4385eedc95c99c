"""The review page: queues, answers that are kept, undo, notes, several people, bad files, exports."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app.panels.review.question import drop_name
from xcwork_app.panels.review.reasons import phrase_rest
from xcwork_app.views.review_state import ReviewEffect

from tests.support.doubtful import write_doubtful
from tests.support.pages import HOSTILE, Open, Train, read_component, send_event, table
from xcwork.data.load import load_dataset
from xcwork.decisions.choice import NEVER_ASSIGN, Decisions, write_decisions
from xcwork.review import verdicts
from xcwork.review.correction import phrase_corrections
from xcwork.review.session import RunReview
from xcwork.runs import Run

pytestmark = pytest.mark.slow
LABEL = HOSTILE  # no blank in it, so it is one label


def test_one_waiting_item_is_not_called_all() -> None:
    effect = ReviewEffect(original=60.0, corrected=60.0, if_confirmed=61.25)
    assert phrase_rest(1, "right", effect) == "If the one that waits is right, it is 61.2."
    assert phrase_rest(1200, "wrong", effect) == "If all 1,200 waiting are wrong, it is 61.2."


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ((1, 0, 2, 0), "The answers add 1 label, remove 0 and confirm 2."),
        ((3, 1, 0, 1), "The answers add 3 labels, remove 1 and confirm 0; people disagree about 1 item."),
    ],
)
def test_numbers_agree_with_their_nouns(counts: tuple[int, int, int, int], sentence: str) -> None:
    assert phrase_corrections(*counts) == sentence


@pytest.fixture
def doubtful(home: Path) -> Path:
    return write_doubtful(home / "data" / "doubtful.csv", LABEL, "<img src=x onerror=hit()>")


@pytest.fixture
def run(doubtful: Path, train: Train) -> Run:
    return train("one_vs_all", None, doubtful, "ova *<b>*")


@pytest.fixture
def review(run: Run, doubtful: Path) -> RunReview:
    """The same review, asked without the page."""
    return RunReview.from_run(run, load_dataset(doubtful))


@pytest.fixture
def items(review: RunReview) -> list[str]:
    """The ids of the items that are likely missing."""
    found = [item.id for item in review.queue("missing").list_items()]
    assert len(found) >= 4
    return found


def open_review(open_page: Open, **query: str) -> AppTest:
    return open_page("review", data="doubtful.csv", **query)


def get_item(page: AppTest) -> str:
    return read_component(page, "review_queue")["selected"]


def press(page: AppTest, verdict: str) -> AppTest:
    """Give the answer to the open item."""
    page.button(key=f"review_{verdict}_{get_item(page)}").click().run()
    assert not page.exception
    return page


def read_lines(home: Path) -> list[dict[str, Any]]:
    file = home / "data" / "reviews" / "doubtful.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def read_html(page: AppTest) -> str:
    return "\n".join(each.proto.body for each in page.get("html"))


def read_waiting(page: AppTest) -> str:
    """The number beside Review in the side bar."""
    link = next(each.proto.label for each in page.get("page_link") if "Review" in each.proto.label)
    return link.partition(":gray[")[2].rstrip("]")


def test_a_label_is_put_into_the_review_from_predict(
    open_page: Open, home: Path, run: Run, review: RunReview, items: list[str]
) -> None:
    first = review.queue("missing").list_items(0, 1)[0]
    label = review.dataset.labels.names[first.label]
    page = open_page("predict", data="doubtful.csv", run=run.id, document=str(first.document), label=label)
    shown = read_component(page, "predict_labels")
    assert shown["foot"].endswith(", but nobody has annotated it.")
    assert shown["footAction"] == "Put it into Review"
    page = send_event(page, "predict_labels", "foot", event="foot")
    shown = read_component(page, "predict_labels")
    assert shown["foot"].endswith(" waits in Review.")
    assert shown["footAction"] == "Open it there"
    (line,) = read_lines(home)
    assert (line["event"], line["document"], line["label"]) == ("request", first.document, label)
    opened = open_review(open_page, run=run.id, queue="requested")
    assert get_item(opened) == first.id
    assert "Added by " in read_html(opened)
    assert "Added by hand 1" in str(opened.segmented_control(key="review.queue").options)
    press(opened, "right")
    page = page.run()
    assert read_component(page, "predict_labels")["foot"].endswith("was answered in Review: right.")


@pytest.mark.parametrize(
    ("about", "rest"),
    [
        ("networkx.dfs_tree networkx dfs tree Returns a tree.", "Returns a tree."),
        ("networkx.dfs_tree", ""),
        ("networkx.dfs_trees are many", "networkx.dfs_trees are many"),
        ("A tree of dfs_tree", "A tree of dfs_tree"),
    ],
)
def test_the_text_of_a_label_does_not_repeat_its_name(about: str, rest: str) -> None:
    assert drop_name(about, "networkx.dfs_tree") == rest


def test_without_a_run_it_says_what_to_do(open_page: Open, doubtful: Path) -> None:
    page = open_review(open_page)
    assert any("no finished run" in text.value for text in page.markdown)


def test_the_first_item_is_asked_about_and_text_from_outside_stays_text(
    open_page: Open, review: RunReview, items: list[str]
) -> None:
    page = open_review(open_page)
    assert page.title[0].value == "Review"
    queue = read_component(page, "review_queue")
    rows = queue["groups"][0]["rows"]
    assert [row["id"] for row in rows] == items
    assert queue["selected"] == items[0]
    shown = read_html(page)
    assert f"0 of {len(items)} answered" in shown
    assert "Should this label be added?" in shown
    assert read_waiting(page) == str(len(items))
    first = review.queue("missing").list_items(0, 1)[0]
    assert first.reason[1:] in shown
    texts = review.dataset.test.texts
    assert texts is not None
    parts = read_component(page, "review_text")["parts"]
    assert "".join(part["text"] for part in parts) == texts[first.document]
    assert any(part["strength"] for part in parts)
    # Every item in turn: no name or text becomes a tag.
    for item in items:
        body = read_html(send_event(page, "review_queue", item))
        assert "<script" not in body
        assert "<img" not in body
    assert HOSTILE in {row["name"] for row in rows} | {review.dataset.labels.names[i] for i in range(4)}


def test_answers_are_stored_and_a_reload_keeps_answers_and_place(
    open_page: Open, run: Run, items: list[str], home: Path
) -> None:
    page = press(open_review(open_page), "right")
    assert get_item(page) == items[1]
    assert read_waiting(page) == str(len(items) - 1)
    press(page, "wrong")
    press(page, "unsure")
    assert read_waiting(page) == str(len(items) - 3)
    stored = read_lines(home)
    assert [line["verdict"] for line in stored] == ["right", "wrong", "unsure"]
    assert [f"{line['split']}:{line['document']}" for line in stored] == [item.rpartition(":")[0] for item in items[:3]]
    assert {line["run"] for line in stored} == {run.id}
    assert {line["queue"] for line in stored} == {"missing"}
    assert all(line["by"] and line["when"] for line in stored)
    assert page.query_params["item"] == items[3]
    again = open_review(open_page, item=items[3])
    assert get_item(again) == items[3]
    rows = read_component(again, "review_queue")["groups"][0]["rows"]
    assert [row["sign"] for row in rows[:4]] == ["right", "wrong", "unsure", ""]
    assert [row["isDone"] for row in rows[:4]] == [True, True, True, False]
    assert f"3 of {len(items)} answered: 1 right, 1 wrong, 1 unsure" in read_html(again)
    assert get_item(open_review(open_page)) == items[3]  # without a place: the first that waits


def test_the_reasons_are_words_of_the_text(open_page: Open, items: list[str], review: RunReview) -> None:
    page = open_review(open_page)
    words = re.findall('class="review-word"><span>([^<]*)', read_html(page))
    assert words, "features may be pairs of words, of which each counts half"
    row = int(items[0].split(":")[1])
    texts = review.dataset.test.texts
    assert texts is not None
    assert set(words) <= set(re.findall(r"\w+", texts[row]))


def test_undo_restores_count_and_item(open_page: Open, items: list[str]) -> None:
    page = press(press(open_review(open_page), "right"), "wrong")
    page.button(key="review.undo").click().run()
    assert get_item(page) == items[1]
    assert read_waiting(page) == str(len(items) - 1)
    assert any("wrong for" in text.value for text in page.caption)
    page.button(key="review.undo").click().run()
    assert get_item(page) == items[0]
    assert read_waiting(page) == str(len(items))
    page.button(key="review.undo").click().run()
    assert any("no answer to undo" in text.value for text in page.caption)


def test_skip_leaves_an_item_waiting_and_comes_back_to_it(open_page: Open, items: list[str]) -> None:
    page = open_review(open_page, item=items[-1])
    page.button(key=f"review_skip_{items[-1]}").click().run()
    assert get_item(page) == items[0]
    assert read_waiting(page) == str(len(items))


def test_a_note_is_stored_with_the_answer_and_comes_back_with_undo(
    open_page: Open, items: list[str], home: Path
) -> None:
    page = open_review(open_page)
    page.text_area(key=f"review_note_{items[0]}").set_value("see § 3 *<b>*").run()
    press(page, "right")
    assert read_lines(home)[0]["note"] == "see § 3 *<b>*"
    assert not page.text_area(key=f"review_note_{items[1]}").value
    again = open_review(open_page, item=items[0])
    assert "right by" in read_html(again)
    assert "see § 3 *&lt;b&gt;*" in read_html(again)
    page.button(key="review.undo").click().run()
    assert page.text_area(key=f"review_note_{items[0]}").value == "see § 3 *<b>*"


def test_several_people_answer_at_once_and_never_undo_each_other(
    open_page: Open, items: list[str], home: Path, review: RunReview
) -> None:
    ann, bob = open_review(open_page), open_review(open_page)
    ann.text_input(key="review.by").set_value("ann").run()
    bob.text_input(key="review.by").set_value("bob").run()
    press(ann, "right")
    assert get_item(bob) == items[0]  # as drawn before ann answered
    bob.button(key=f"review_wrong_{items[0]}").click().run()
    assert [(line["by"], line["verdict"]) for line in read_lines(home)] == [("ann", "right"), ("bob", "wrong")]
    assert get_item(bob) == items[1]
    ann.button(key="review.undo").click().run()
    assert [(answer.by, answer.verdict) for answer in review.read_verdicts().answers] == [("bob", "wrong")]
    press(ann, "right")
    ann.button(key="review.table").click().run()
    assert not ann.exception
    assert table(ann, "people", "kappa").iloc[0]["people"] == "ann and bob"
    assert {"as annotated", "corrected", "95 % interval"} <= set(table(ann, "metric").columns)


def test_an_answer_that_cannot_be_stored_stays_on_the_screen(
    open_page: Open, items: list[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    page = open_review(open_page)
    with monkeypatch.context() as full:
        full.setattr(verdicts, "append_line", refuse)
        press(page, "right")
    assert get_item(page) == items[0]
    assert any("could not be stored" in error.value for error in page.error)
    assert any("**right** is not stored yet" in text.value for text in page.markdown)
    assert not read_lines(home)
    press(page, "right")
    assert get_item(page) == items[1]
    assert not page.error
    assert len(read_lines(home)) == 1


def test_all_answered_gives_counts_and_the_corrected_metric(
    open_page: Open, items: list[str], review: RunReview
) -> None:
    page = open_review(open_page)
    for _ in items:
        press(page, "right")
    shown = read_html(page)
    assert f"All {len(items)} items are answered" in shown
    assert f"{len(items)} right, 0 wrong, 0 unsure" in shown
    change = next(each for each in review.measure_changes(review.read_verdicts()) if each.metric == "P@1")
    assert f"from {change.original:.1f} to <b>{change.corrected:.1f}</b>" in shown
    assert not read_waiting(page)
    page.button(key="review.undo").click().run()
    assert get_item(page) == items[-1]


def test_an_empty_queue_says_so(open_page: Open, run: Run) -> None:
    write_decisions(run.folder, Decisions(assign=NEVER_ASSIGN))
    page = open_review(open_page, queue="threshold")
    assert any("Nothing looks doubtful" in text.value for text in page.markdown)


def test_what_the_address_asks_for_in_vain_is_named(open_page: Open, items: list[str]) -> None:
    page = open_review(open_page, item="test:999999:1")
    assert get_item(page) == items[0]
    assert any("not in this queue" in text.value for text in page.warning)
    page = open_review(open_page, queue="nothing")
    assert get_item(page) == items[0]
    assert any("There is no queue" in text.value for text in page.warning)


def test_lines_that_do_not_count_are_named_and_the_rest_counts(open_page: Open, items: list[str], home: Path) -> None:
    page = press(open_review(open_page), "right")
    with (home / "data" / "reviews" / "doubtful.jsonl").open("a") as file:
        file.write('{"event": "answer", "ver')
    again = press(page, "wrong")
    assert any("not a complete answer" in text.value for text in again.markdown)
    assert f"2 of {len(items)} answered" in read_html(again)


def test_a_corrected_copy_is_written_under_a_new_name(open_page: Open, items: list[str], home: Path) -> None:
    page = open_review(open_page)
    assert page.button(key="review.copy").disabled
    press(page, "right")
    page.text_input(key="review.copy_name").set_value("doubtful.csv").run()
    page.button(key="review.copy").click().run()
    assert any("already" in error.value for error in page.error)
    page.text_input(key="review.copy_name").set_value("better").run()
    page.button(key="review.copy").click().run()
    assert any("1 label added, 0 removed" in text.value.replace("\\", "") for text in page.success)
    _, document, label = items[0].split(":")
    copy, original = load_dataset("better"), load_dataset("doubtful.csv")
    assert copy.test.Y[[int(document)], :].toarray()[0, int(label)] == 1
    assert original.test.Y[[int(document)], :].toarray()[0, int(label)] == 0
    assert copy.train.Y.nnz == original.train.Y.nnz
    command = next(each.value for each in page.code)
    assert command.startswith("xcwork export doubtful.csv")
    assert command.endswith("--with-reviews")


def test_a_changed_dataset_is_refused_in_a_sentence(open_page: Open, run: Run, doubtful: Path) -> None:
    doubtful.write_text(doubtful.read_text() + "apple again,apple\n")
    page = open_review(open_page)
    assert any("has changed since" in error.value for error in page.error)


def test_suspicious_on_errors_leads_to_the_queue(open_page: Open, run: Run, items: list[str]) -> None:
    page = open_page("errors", data="doubtful.csv", section="suspicious")
    page.button(key="errors.review").click().run()
    assert not page.exception
    assert page.title[0].value == "Review"
    assert get_item(page) == items[0]
    assert page.button(key="page.back").label == "Errors"
