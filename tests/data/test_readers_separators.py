"""What separates the labels of a column: lists are split, names stay whole."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.support.paths import SHARED_DATA, needs_shared_data
from xcwork.data.readers.columns import RecordTable
from xcwork.data.readers.label_cells import LabelCells, split_labels
from xcwork.data.readers.separators import PUNCTUATION, SPACE, WHOLE_CELL, find_separator, split_at

WRITTEN = {"|": "|", ";": "; ", ",": ", ", SPACE: " "}
COMPLAINTS = [
    "Credit reporting",
    "Credit reporting, credit repair services, or other personal consumer reports",
    "Credit card",
    "Credit card or prepaid card",
    "Money transfer, virtual currency, or money service",
    "Money transfers",
    "Mortgage",
    "Payday loan",
    "Payday loan, title loan, or personal loan",
    "Virtual currency",
    "Debt collection",
    "Student loan",
]


def names(count: int, words: int) -> list[str]:
    return [" ".join(f"n{i}w{word}" for word in range(1 + i % words)) for i in range(count)]


def lists(random: Random, vocabulary: list[str], n_documents: int, most: int) -> list[list[str]]:
    """Documents with 1 to `most` labels, frequent ones first in the vocabulary."""
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    return [
        list(dict.fromkeys(random.choices(vocabulary, weights, k=random.randint(1, most)))) for _ in range(n_documents)
    ]


@pytest.mark.parametrize("separator", PUNCTUATION)
@pytest.mark.parametrize("most", [2, 3, 6])
@pytest.mark.parametrize("in_order", [False, True])
def test_lists_of_a_known_vocabulary_are_split(separator, most, in_order):
    for seed in range(40):
        random = Random(seed)
        vocabulary = names(random.randint(5, 300), words=random.randint(1, 4))
        documents = lists(random, vocabulary, random.randint(30, 400), most)
        documents = [sorted(labels) if in_order else labels for labels in documents]
        cells = [WRITTEN[separator].join(labels) for labels in documents]
        assert find_separator(cells) == separator, seed
        assert [split_at(separator, cell) for cell in cells] == documents


@pytest.mark.parametrize("most", [2, 3, 5])
def test_spaces_separate_labels_that_are_used_again_and_again(most):
    for seed in range(20):
        random = Random(seed)
        documents = lists(random, names(random.randint(6, 40), words=1), 1000, most)
        assert find_separator([" ".join(labels) for labels in documents]) == SPACE, seed


@pytest.mark.parametrize("sign", [",", SPACE])
@pytest.mark.parametrize("n_pieces", [2, 3])
@pytest.mark.parametrize("share", [0.02, 0.3, 1])
def test_names_that_contain_a_separator_stay_whole(sign, n_pieces, share):
    """Such as `Washington, DC`: every piece has its place in the name."""
    for seed in range(40):
        random = Random(seed)
        n_names = random.randint(6, 200)
        whole = [
            WRITTEN[sign].join(f"place{place}-{random.randint(0, n_names)}" for place in range(n_pieces))
            if i < max(1, share * n_names)
            else f"plain{i}"
            for i in range(n_names)
        ]
        assert find_separator(whole * 2 + random.choices(whole, k=200)) == WHOLE_CELL, seed


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["physics, chemistry"] * 99 + ["C|C++, math"], ","),
        ((["physics, chemistry"] * 99 + ["C|C++, math"]) * 2, ","),
        ([f"{a}, {b}" for a in "abcdefghij" for b in "abcdefghij" if a != b] + ["C|C++, math"], ","),
        (["Boston"] * 30 + ["Chicago"] * 30 + ["Washington, DC"] * 40, WHOLE_CELL),
        (["Boston", "Chicago", "Paris", "Washington, DC"], WHOLE_CELL),
        (["Boston", "Washington", "DC", "Washington, DC"], WHOLE_CELL),
        (["Boston, MA", "Austin, TX", "Washington, DC"] * 20, WHOLE_CELL),
        (COMPLAINTS * 30, WHOLE_CELL),
        (["Smith, John; Doe, Jane", "Doe, Jane", "Roe, Ann; Smith, John", "Roe, Ann"], ";"),
        (["red, green", "red", "green", "blue", "blue, red"], ","),
        (["baking|sweet", "meat|oven"], "|"),
        (["meat|oven"] * 15 + ["baking|sweet"] * 15, "|"),
        (["a b"] * 20, WHOLE_CELL),
        (["x y", "y z", "x z", "x y z"], SPACE),
        (["New York", "San Francisco", "New York", "Los Angeles"], WHOLE_CELL),
        (["one"], WHOLE_CELL),
    ],
)
def test_columns_of_which_the_answer_is_known(cells, separator):
    assert find_separator(cells) == separator
    assert find_separator(cells[::-1]) == separator


def test_a_separator_takes_the_white_space_around_names_but_not_inside():
    assert split_at(",", " a b ,, c,") == ["a b", "c"]
    assert split_at(SPACE, "a\tb  c") == ["a", "b", "c"]
    assert split_at("\n", "New York\nParis") == ["New York", "Paris"]
    assert split_at(WHOLE_CELL, "a, b") == ["a, b"]


@needs_shared_data("formats/gutenberg-catalog")
@pytest.mark.parametrize("column", ["Subjects", "Authors", "Bookshelves", "LoCC"])
@pytest.mark.parametrize("most", [50, 200, None])
def test_a_library_catalogue(column, most):
    from xcwork.data.readers.columns import read_table

    catalogue = read_table(SHARED_DATA / "formats" / "gutenberg-catalog" / "pg_catalog.csv")
    cells = [cell for cell in catalogue.columns[column] if cell]
    assert find_separator(cells[:most]) == ";"
    assert find_separator([cell.split("; ")[0] for cell in cells[:most]]) == WHOLE_CELL


CITIES = ["Washington, DC"] * 20 + ["Portland, OR"] * 20 + ["Paris"] * 10
SUBJECTS = ["physics, chemistry"] * 99 + ["C|C++, math"]


@pytest.mark.parametrize("column", ["label", "city", "Home city", "target_class"])
def test_a_column_that_promises_one_label_keeps_names_whole(column):
    assert find_separator(CITIES, column) == WHOLE_CELL
    assert find_separator(["Washington, DC"] * 40, column) == WHOLE_CELL
    assert find_separator(["A|B testing", *["x", "y", "z"] * 3], column) == WHOLE_CELL
    assert find_separator(SUBJECTS, column) == ","


def read_column(*cells: str) -> LabelCells:
    return split_labels(
        [RecordTable.from_columns(Path("x.csv"), {"labels": list(cells)}, list(range(2, len(cells) + 2)))], "labels"
    )


def test_a_doubtful_split_is_said():
    assert "separator='' reads every cell as one label" in read_column(*CITIES).notes[0]
    assert not read_column("red, round", "round, red", "red").notes


def test_names_in_brackets_are_not_lists():
    found = read_column("[urgent] fix", "[low] later", "ok")
    assert found.labels == [[["[urgent] fix"], ["[low] later"], ["ok"]]]
