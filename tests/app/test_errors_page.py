"""The errors page: bands, documents, missed labels, one label, hints; and runs whose folders are incomplete."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.support.pages import FORMULA, HOSTILE, Train, choose_row, table
from xcwork.data.load import load_dataset
from xcwork.metrics import absolute_bands, band_table, per_document, place
from xcwork.runs import Run, RunStore

pytestmark = pytest.mark.slow


@pytest.fixture
def run(corpus: Path, train: Train) -> Run:
    """A finished run of a method that has label vectors, with a name that would like to be Markdown."""
    return train("one_vs_all", None, corpus, "ova *<b>* :red[x]")


def test_without_a_run_it_says_what_to_do(open_page, corpus: Path) -> None:
    page = open_page("errors", data="fruit.csv")
    assert any("no finished run" in text.value for text in page.markdown)
    RunStore().create("gated", None, corpus, name="waiting")
    assert any("no finished run" in text.value for text in open_page("errors", data="fruit.csv").markdown)


def test_bands_are_those_of_the_predictions(open_page, run: Run, corpus: Path) -> None:
    page = open_page("errors", data="fruit.csv", k="2")
    dataset = load_dataset(corpus)
    wanted = band_table(place(run.topk(), dataset.test.Y), absolute_bands(dataset.train.label_frequencies), [2])
    shown = table(page, "points of P@k").set_index("band")
    assert shown["found"].to_dict() == {band: row["hits@2"] for band, row in wanted.items()}
    metrics = {metric.label: metric.value for metric in page.metric}
    assert metrics["P@2"] == f"{shown['points of P@k'].sum():.2f}"
    shares = [float(metrics[name].removesuffix(" %")) for name in ("Found", "Outranked", "Not retrieved", "Unseen")]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert len(page.get("plotly_chart")) == 2
    page.segmented_control(key="errors.bands").set_value("shots").run()
    assert list(table(page, "points of P@k")["band"]) == ["many-shot", "few-shot", "zero-shot"]
    assert page.query_params["bands"] == "shots"


def test_documents_are_searched_filtered_and_opened(open_page, run: Run, corpus: Path) -> None:
    page = open_page("errors", data="fruit.csv", k="1")
    details = per_document(run.topk(), load_dataset(corpus), k=1)
    page.selectbox(key="errors.documents.state").set_value("missed").run()
    missed = details[details["misses@1"] > 0]
    if len(missed):
        assert set(table(page, "missed", "wrong")["document"]) <= set(missed["document"])
    page.selectbox(key="errors.documents.state").set_value("any").run()
    page.selectbox(key="errors.documents.order").set_value("number").run()
    assert list(table(page, "missed", "wrong")["document"]) == list(range(min(10, len(details))))
    page.text_input(key="errors.documents.search").set_value("plum number").run()
    shown = table(page, "missed", "wrong")
    assert set(shown["text"].str[:4]) == {"plum"}
    wanted = int(shown["document"].iloc[1])
    choose_row(page, "errors.documents", 1)
    assert not page.exception
    assert page.title[0].value == "Predict"
    assert page.query_params.get("document", "0") == str(wanted)
    page.switch_page("app_pages/errors.py").run()
    assert page.title[0].value == "Errors", "an old choice does not open the document again"
    page.text_input(key="errors.documents.search").set_value("no such thing").run()
    assert any("No test document fits" in text.value for text in page.markdown)


def test_missed_labels_have_ranks_and_lead_to_their_explanation(open_page, finished: Run) -> None:
    page = open_page("errors", data="fruit.csv", section="missed", k="1")
    shown = table(page, "state", "rank", "top_label")
    assert (shown["state"] == "outranked").any()
    assert (shown["rank"].dropna() > 1).all()
    page.text_input(key="errors.missed.search").set_value("plum").run()
    assert set(table(page, "state", "rank", "top_label")["label"]) <= {"plum"} | set(shown["label"])
    page.text_input(key="errors.missed.search").set_value("").run()
    shown = table(page, "state", "rank", "top_label")
    choose_row(page, "errors.missed", 0)
    assert page.title[0].value == "Predict"
    assert page.query_params["label"] == shown["label"].iloc[0]
    page.switch_page("app_pages/errors.py").run()
    page.selectbox(key="errors.missed.state").set_value("filtered").run()
    assert any("No missed label fits" in text.value for text in page.markdown)


def test_one_label_with_what_is_near_it(open_page, run: Run, corpus: Path) -> None:
    page = open_page("errors", data="fruit.csv", section="label")
    assert any("Choose a label" in text.value for text in page.markdown)
    choose_row(page, "errors.labels", 0)
    assert page.query_params["label"] == table(page, "label", "missed")["label"].iloc[0]
    page = open_page("errors", data="fruit.csv", section="label", label="PLU")
    assert page.selectbox(key="errors.label").options == ["PLU", "plum"]
    dataset = load_dataset(corpus)
    metrics = {metric.label: metric.value for metric in page.metric}
    assert metrics["In training"] == str(dataset.train.label_frequencies[dataset.labels.names.index("plum")])
    near = table(page, "similarity", "shared_documents")
    assert len(near)
    assert "plum" not in set(near["label"])
    page = open_page("errors", data="fruit.csv", section="label", label="nothing like it")
    assert any("no label with" in text.value for text in page.warning)


@pytest.mark.parametrize("name", [HOSTILE, FORMULA])
def test_hostile_labels_are_text(open_page, run: Run, name: str) -> None:
    page = open_page("errors", data="fruit.csv", section="label", label=name)
    assert page.selectbox(key="errors.label").value == name
    assert not page.error
    assert all("<script>" not in text.value for text in (*page.markdown, *page.caption))
    assert r"\<b\>" in page.caption[0].value or any(r"\<b\>" in text.value for text in page.caption)


def test_hints_are_listed_or_said_to_be_none(open_page, finished: Run) -> None:
    page = open_page("errors", data="fruit.csv", section="hints", k="1")
    shown = table(page, "confidence")
    assert shown["confidence"].is_monotonic_decreasing
    choose_row(page, "errors.hints.missing", 0)
    assert page.title[0].value == "Predict"
    page.switch_page("app_pages/errors.py").run()
    page.segmented_control(key="errors.hints.kind").set_value("wrong").run()
    assert not page.exception


def test_incomplete_folders_are_sentences(open_page, run: Run) -> None:
    (run.folder / "eval" / "topk.npz").unlink()
    page = open_page("errors", data="fruit.csv")
    assert page.error
    shutil.rmtree(run.folder / "eval")
    page = open_page("errors", data="fruit.csv")
    assert any("has no evaluation" in each.value.replace("\\", "") for each in page.error)
    shutil.rmtree(run.folder)
    page.run()
    assert not page.exception
    assert any("no finished run" in text.value for text in page.markdown)


def test_a_run_without_its_model_still_shows_its_errors(open_page, run: Run) -> None:
    shutil.rmtree(run.folder / "model")
    page = open_page("errors", data="fruit.csv", section="label", label="plum")
    assert page.metric
    assert any("model" in each.value for each in page.error)


def test_data_that_changed_since_is_said(open_page, run: Run, corpus: Path) -> None:
    facts = run.config["dataset"]
    run.complete_config(dataset=facts | {"fingerprint": "another"})
    page = open_page("errors", data="fruit.csv")
    assert any("has changed since" in each.value for each in page.warning)
    assert page.metric
    corpus.write_text(corpus.read_text() + "".join(f"kiwi {i},kiwi\n" for i in range(9)))
    page = open_page("errors", data="fruit.csv")
    assert any("other documents" in each.value for each in page.error)


def test_numbers_in_a_link_that_cannot_be_are_ignored(open_page, run: Run) -> None:
    page = open_page("errors", data="fruit.csv", bands="nonsense", section="<b>", band="<i>", k="9999")
    assert page.number_input(key="errors.k").value == 100
    assert page.segmented_control(key="errors.bands").value == "count"
    assert np.isfinite(table(page, "points of P@k")["points of P@k"]).all()
