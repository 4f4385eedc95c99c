"""A full disk, and run folders that somebody deleted or half copied: a sentence, and everything else keeps working."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.pages import Train
from xcwork.data import load, uploads
from xcwork.runs import Run, RunStore, store

pytestmark = pytest.mark.slow

FULL = OSError(errno.ENOSPC, "No space left on device", "here")


def refuse(*_: object, **__: object) -> None:
    raise FULL


def errors(page: AppTest) -> str:
    return " ".join(each.value for each in page.error).replace("\\", "")


def test_a_training_that_cannot_be_stored_leaves_nothing_behind(
    open_page, finished: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page("train", data="fruit.csv", method="popularity")
    with monkeypatch.context() as full:
        full.setattr(store, "write_config", refuse)
        page.button(key="train.start").click().run()
        assert not page.exception
        assert "No space left on device" in errors(page)
        assert "check the disk" in errors(page).lower()
    assert [run.id for run in RunStore().list()] == [finished.id]
    assert [entry.name for entry in RunStore().folder.iterdir() if entry.is_dir()] == [finished.id]
    page.button(key="train.start").click().run()
    assert not page.error
    assert len(RunStore().list()) == 2, "with room again, the same button works"


def test_an_upload_that_does_not_fit_is_a_sentence(
    open_page, corpus: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads.UploadFolder, "copy", refuse)
    page = open_page("data", data="fruit.csv", add="file")
    page.file_uploader[0].set_value([("pets.csv", b"text,labels\na cat,cat\n", "text/csv")]).run()
    assert not page.exception
    assert "No space left on device" in errors(page)
    assert page.metric[0].label == "Training documents", "the dataset of before is still shown"
    assert not list((home / "data" / ".uploads").glob("*"))
    assert [entry.name for entry in (home / "data").glob("*.csv")] == ["fruit.csv"]


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        (MemoryError(), "memory"),
        (FULL, "No space left on device"),
        pytest.param(KeyError("column"), None, id="a defect of ours"),
    ],
)
def test_an_upload_that_cannot_be_read_to_its_end_leaves_nothing(
    open_page, corpus: Path, home: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception, sentence: str | None
) -> None:
    page = open_page("data", data="fruit.csv", add="file")
    rows = "\n".join(f"a {pet} {i},{pet}" for i in range(9) for pet in ("cat", "dog"))
    page.file_uploader[0].set_value([("pets.csv", f"q,t\n{rows}\n".encode(), "text/csv")]).run()

    asked: list[object] = []

    def fail(source: object, *_: object, **__: object) -> None:
        asked.append(source)
        raise failure

    before = {path.name for path in (home / "data").iterdir()}
    assert "fruit.csv" in before
    monkeypatch.setattr(load, "read", fail)
    page.button(key="data.upload.add").click().run()
    assert asked, "the upload was read"
    if sentence is None:  # shown as what it is, not as a sentence about the file
        assert [each.message for each in page.exception] == [str(failure)]
        assert not page.error
    else:
        assert sentence in errors(page)
        assert not page.exception
    assert {path.name for path in (home / "data").iterdir()} == before, "neither the file nor its options"


@pytest.mark.parametrize(
    ("page_name", "part"),
    [
        ("home", "config.json"),
        ("train", "status.json"),
        ("errors", "eval"),
        ("errors", "eval/topk.npz"),
        ("compare", "eval/topk.npz"),
        ("predict", "model"),
        ("predict", "model/state.json"),
        ("label_map", "model"),
    ],
)
def test_a_half_copied_run_is_a_sentence_at_most(
    open_page, corpus: Path, train: Train, page_name: str, part: str
) -> None:
    whole = train("tfidf", {}, corpus, "whole")
    half = train("popularity", {}, corpus, "half")
    target = half.folder / part
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()
    page = open_page(page_name, data="fruit.csv", run=half.id)
    assert page.title, "the page has its heading"
    page.selectbox(key="shell.run").set_value(whole.id).run()
    assert not page.exception
    assert not page.error, "another run is shown as if nothing had happened"


def test_a_run_deleted_under_an_open_page(open_page, corpus: Path, train: Train) -> None:
    whole, gone = train("tfidf", {}, corpus, "whole"), train("popularity", {}, corpus, "gone")
    for name in ("predict", "errors", "compare"):
        copy = gone.folder.with_name(gone.id + "-copy")
        shutil.copytree(gone.folder, copy)
        page = open_page(name, data="fruit.csv", run=copy.name)
        shutil.rmtree(copy)
        page.run()
        assert not page.exception
        assert not page.error
        assert page.selectbox(key="shell.run").value in (whole.id, gone.id), "a run that is left"
