"""What became of true labels: the parts add up however they are cut, and a filter leaves what its figure says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.test_errors import dataset_of, ranked
from xcwork.analysis.errors import list_missed_labels
from xcwork.analysis.outcomes import (
    FITTING,
    FOUND,
    MISSED,
    count_outcomes,
    describe_ranks,
    list_documents,
    list_labels,
    list_rank_ranges,
    name_selected,
    round_parts,
    select_labels,
)
from xcwork.core.bands import make_absolute_bands, make_share_bands, make_shot_bands
from xcwork.core.dataset import Dataset
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError
from xcwork.metrics.ranking import ABSENT, place_labels

N_LABELS = 9


@st.composite
def cases(draw) -> tuple[Dataset, TopK, int]:
    """A small dataset and lists of different lengths."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, depth = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    dataset = dataset_of(rng.random((30, N_LABELS)) < rng.random(N_LABELS) ** 3, rng.random((n, N_LABELS)) < 0.4)
    rows = [rng.permutation(N_LABELS)[: rng.integers(0, depth + 1)].tolist() for _ in range(n)]
    return dataset, ranked(rows, depth), draw(st.sampled_from([1, 3, 5, 10]))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_all_ways_to_cut_the_true_labels_add_up(case: tuple[Dataset, TopK, int]) -> None:
    dataset, topk, k = case
    placement = place_labels(topk, dataset.test.Y)
    for make in (make_absolute_bands, make_share_bands, make_shot_bands):
        bands = make(dataset.train.label_frequencies)
        found = count_outcomes(placement, bands, k)
        assert found.counts.total == dataset.test.Y.nnz
        assert sum(each.total for each in found.bands.values()) == found.counts.total
        for part in ("found", "outranked", "not_listed"):
            assert sum(getattr(each, part) for each in found.bands.values()) == getattr(found.counts, part)
        assert sum(each.count for each in found.ranks) == found.counts.outranked
        assert found.counts.missed == len(list_missed_labels(topk, dataset, k=k, bands=bands))
        assert found.precision <= found.highest_precision + 1e-9
        assert sum(found.counts.round_shares()) == (100 if found.counts.total else 0)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_filter_leaves_as_many_as_the_figure_that_was_clicked(case: tuple[Dataset, TopK, int]) -> None:
    dataset, topk, k = case
    placement, bands = place_labels(topk, dataset.test.Y), make_shot_bands(dataset.train.label_frequencies)
    found = count_outcomes(placement, bands, k)
    for name, counts in found.bands.items():
        for outcome, expected in (
            (FOUND, counts.found),
            ("outranked", counts.outranked),
            ("not listed", counts.not_listed),
            (MISSED, counts.missed),
        ):
            positions = select_labels(placement, bands, k, outcome=outcome, band=name)
            assert len(positions) == expected
            labels = list_labels(placement, positions, dataset, k=k)
            documents = list_documents(placement, positions, dataset, k=k)
            assert labels["selected"].sum() == documents["selected"].sum() == expected
            named = name_selected(placement, positions, dataset, documents["document"].tolist())
            assert [len(each) for each in named] == documents["selected"].tolist()
            assert sorted(name for each in named for name in each) == sorted(
                dataset.labels.names[label] for label in placement.truth.indices[positions]
            )
    for each in found.ranks:
        assert len(select_labels(placement, bands, k, outcome=each.id)) == each.count
    fitting = select_labels(placement, bands, k, outcome=FITTING)
    assert (placement.n_true[placement.documents[fitting]] <= k).all()


def test_what_cannot_fit_is_what_the_best_list_must_leave_out() -> None:
    dataset = dataset_of(np.ones((2, 4)), np.array([[1, 1, 1, 1], [1, 0, 0, 0]]))
    found = count_outcomes(
        place_labels(ranked([[0, 1], [0]], 2), dataset.test.Y), make_absolute_bands(np.full(4, 2)), 2
    )
    assert (found.counts.found, found.counts.not_listed, found.cannot_fit) == (3, 2, 2)
    assert found.precision == found.highest_precision == 75.0
    assert found.sentence == "Of 100 true labels 60 are found, 0 ranked too low, 40 never considered."


def test_labels_come_with_most_misses_first_and_their_share_of_the_whole_split() -> None:
    dataset = dataset_of(np.ones((2, 3)), np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1]]))
    placement = place_labels(ranked([[0], [0], [2]], 1), dataset.test.Y)
    bands = make_absolute_bands(dataset.train.label_frequencies)
    table = list_labels(placement, select_labels(placement, bands, 1, outcome=MISSED), dataset, k=1)
    assert table[["label_id", "selected", "found", "test_documents"]].values.tolist() == [[1, 3, 0, 3]]


@pytest.mark.parametrize(
    ("k", "depth", "ranges"),
    [
        (5, 100, [(6, 10), (11, 20), (21, 100)]),
        (1, 100, [(2, 5), (6, 10), (11, 20), (21, 100)]),
        (10, 100, [(11, 20), (21, 100)]),
        (7, 9, [(8, 9)]),
        (5, 5, []),
        (10, 5, []),
        (5, 300, [(6, 10), (11, 20), (21, 100), (101, 300)]),
    ],
)
def test_ranges_of_ranks_end_with_the_list(k: int, depth: int, ranges: list[tuple[int, int]]) -> None:
    assert list_rank_ranges(k, depth) == ranges


@pytest.mark.parametrize(
    ("ranks", "sentence"),
    [
        ([7, 7, 9, 12], "Never found: rank 7, 7, 9 and 12."),
        ([1, 8], "Found in 1 of 2 documents, else rank 8."),
        ([1, 2], "Found in 2 of 2 documents."),
        ([ABSENT], "Never found: not listed."),
        ([6, ABSENT, ABSENT], "Never found: rank 6, not listed 2 times."),
        (list(range(6, 16)), "Never found: rank 6, 7, 8, 9, 10, 11 and 4 lower."),
        ([], "No test document has it."),
    ],
)
def test_ranks_in_words(ranks: list[int], sentence: str) -> None:
    assert describe_ranks(np.array(ranks, dtype=np.int64), 5, 100) == sentence


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.sampled_from([100, 1000]))
def test_rounded_parts_add_up_and_are_near(parts: list[int], whole: int) -> None:
    rounded = round_parts(parts, whole)
    total = sum(parts)
    assert sum(rounded) == (whole if total else 0)
    assert all(abs(each * total - whole * part) < max(total, 1) for each, part in zip(rounded, parts, strict=True))


def test_few_labels_have_an_interval_and_many_have_none() -> None:
    dataset = dataset_of(np.ones((2, 1)), np.ones((99, 1)))
    placement = place_labels(ranked([[0]] * 99, 1), dataset.test.Y)
    bands = make_absolute_bands(dataset.train.label_frequencies)
    low, high = count_outcomes(placement, bands, 1).counts.interval
    assert 96 < low < high == 100
    dataset = dataset_of(np.ones((2, 1)), np.ones((100, 1)))
    placement = place_labels(ranked([[0]] * 100, 1), dataset.test.Y)
    assert count_outcomes(placement, bands, 1).counts.interval is None


def test_filters_that_do_not_exist_are_refused() -> None:
    dataset = dataset_of(np.ones((2, 1)), np.ones((1, 1)))
    placement = place_labels(ranked([[0]], 1), dataset.test.Y)
    bands = make_absolute_bands(dataset.train.label_frequencies)
    for wrong in ({"outcome": "lost"}, {"outcome": "1-"}, {"band": "none"}):
        with pytest.raises(ConfigError):
            select_labels(placement, bands, 1, **wrong)


def test_bands_say_how_many_training_documents_a_label_has() -> None:
    frequencies = np.array([0, 1, 3, 9, 60])
    assert make_absolute_bands(frequencies).spans == ("more than 50", "6 to 50", "1 to 5", "none")
    assert make_shot_bands(frequencies).spans == ("more than 3", "1 to 3", "none")
    shares = make_share_bands(frequencies)
    assert len(shares.spans) == len(shares.names)
    assert shares.spans[0] == "60"
    assert shares.spans[-1] == "none"
