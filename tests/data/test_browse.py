"""Looking through documents."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from xcwork.core.dataset import Dataset
from xcwork.data.browse import choose_next_document, find_documents, get_document_text, make_documents_table


def test_documents_are_found_by_text_label_and_name(checkerboard: Dataset) -> None:
    train = checkerboard.train
    red = [row for row, text in enumerate(train.texts) if "red" in text]
    assert find_documents(train, search="  RED ").tolist() == red
    assert find_documents(train, label=0).tolist() == red
    assert find_documents(train, search="note2", label=0).tolist() == [2, 20, 22]
    assert find_documents(train, search="L1").tolist() == [row for row in range(24) if row % 2]
    assert len(find_documents(train)) == len(train)
    assert len(find_documents(train, search="no such word")) == 0


def test_documents_as_a_table(checkerboard: Dataset) -> None:
    frame = make_documents_table(checkerboard.train, np.array([1, 26]))
    assert frame["row"].tolist() == [1, 26]
    assert frame["labels"].tolist() == ["L1 · L3 · L5 · L7", ""]


@given(n_documents=st.integers(2, 3000), start=st.integers(0, 2999))
def test_one_after_the_other_every_document_comes_once(n_documents: int, start: int) -> None:
    row, seen = start % n_documents, []
    for _ in range(n_documents):
        row = choose_next_document(row, n_documents)
        seen.append(row)
    assert sorted(seen) == list(range(n_documents))
    assert seen[-1] == start % n_documents, "a full circle ends where it began"


def test_the_next_document_is_far_from_the_last() -> None:
    steps = [abs(choose_next_document(row, 975) - row) for row in range(975)]
    assert min(steps) > 975 / 4


def test_a_single_document_is_followed_by_itself() -> None:
    assert choose_next_document(0, 1) == 0


def test_a_document_without_text_shows_its_strongest_terms(jumble: Dataset) -> None:
    row = jumble.test.X[[0]].toarray().ravel()
    strongest = f"t{int(row.argmax())}"
    assert get_document_text(jumble.test, 0).split(", ")[0] == strongest
    assert get_document_text(jumble.train, 3) == ""
