"""Every metric against a plain-Python reading of its definition, on small random data and on hand-made cases."""

from __future__ import annotations

from math import log, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.propensity import Propensity, compute_inverse_propensities
from xcwork.core.topk import TopK
from xcwork.errors import ConfigError, DataError
from xcwork.metrics.ranking import (
    ABSENT,
    DEFINITIONS,
    compute_coverage,
    compute_curves,
    compute_document_ratios,
    compute_f1,
    evaluate_topk,
    place_labels,
)

N_TRAIN, PROPENSITY = 50, Propensity(A=0.6, B=2.6)


def topk_of(rows: list[list[int]], k: int) -> TopK:
    """Lists of label ids, best first, as a TopK with falling scores."""
    ids = np.full((len(rows), k), -1, dtype=np.int32)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
    scores = np.where(ids >= 0, -np.arange(k, dtype=np.float32), -np.inf).astype(np.float32)
    return TopK(ids, scores)


def truth_of(rows: list[set[int]], n_labels: int) -> sparse.csr_array:
    indices = [label for row in rows for label in sorted(row)]
    indptr = np.cumsum([0, *map(len, rows)])
    return sparse.csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(len(rows), n_labels))


def oracle(
    lists: list[list[int]], truth: list[set[int]], frequencies: list[int], n_train: int, p: Propensity, k: int
) -> dict[str, float]:
    """The definitions, one document and one label at a time."""
    c = (log(n_train) - 1) * (p.B + 1) ** p.A
    q = [1 + c * (f + p.B) ** -p.A for f in frequencies]
    n = len(lists)
    precision = ndcg = ps = best_ps = psdcg = best_psdcg = macro = micro = hit = 0.0
    found_labels: set[int] = set()
    for ranked, true in zip(lists, truth, strict=True):
        hits = [(rank, label) for rank, label in enumerate(ranked[:k], start=1) if label in true]
        found_labels |= {label for _, label in hits}
        best = sorted((q[label] for label in true), reverse=True)[:k]
        ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(true)) + 1))
        precision += len(hits) / k
        micro += len(hits)
        hit += bool(hits)
        ps += sum(q[label] for _, label in hits)
        best_ps += sum(best)
        if true:
            ndcg += sum(1 / log2(rank + 1) for rank, _ in hits) / ideal
            psdcg += sum(q[label] / log2(rank + 1) for rank, label in hits) / ideal
            best_psdcg += sum(value / log2(rank + 1) for rank, value in enumerate(best, start=1)) / ideal
            macro += len(hits) / len(true)
    positives, occurring = sum(map(len, truth)), len(set().union(*truth))
    listed, true_labels = sum(len(ranked[:k]) for ranked in lists), set().union(*truth)

    def f1_of(label: int) -> float:
        pairs = [(label in ranked[:k], label in true) for ranked, true in zip(lists, truth, strict=True)]
        return 2 * sum(a and b for a, b in pairs) / sum(a + b for a, b in pairs)

    return {
        f"P@{k}": 100 * precision / n,
        f"nDCG@{k}": 100 * ndcg / n,
        f"PSP@{k}": 100 * ps / best_ps if best_ps else 0.0,
        f"PSnDCG@{k}": 100 * psdcg / best_psdcg if best_psdcg else 0.0,
        f"recall_macro@{k}": 100 * macro / n,
        f"recall_micro@{k}": 100 * micro / positives if positives else 0.0,
        f"hit@{k}": 100 * hit / n,
        f"coverage@{k}": 100 * len(found_labels) / occurring if occurring else 0.0,
        f"macro_F1@{k}": 100 * sum(map(f1_of, true_labels)) / len(true_labels) if true_labels else 0.0,
        f"micro_F1@{k}": 200 * micro / (listed + positives) if listed + positives else 0.0,
    }


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], list[set[int]], list[int], int]:
    """(ranked lists, truth, training frequencies, width): empty rows, short lists, fewer labels than k are common."""
    n_labels = draw(st.integers(1, 9))
    labels = st.integers(0, n_labels - 1)
    n_documents = draw(st.integers(1, 8))
    lists = draw(st.lists(st.lists(labels, unique=True, max_size=n_labels), min_size=n_documents, max_size=n_documents))
    truth = draw(st.lists(st.sets(labels, max_size=n_labels), min_size=n_documents, max_size=n_documents))
    frequencies = draw(st.lists(st.integers(0, N_TRAIN), min_size=n_labels, max_size=n_labels))
    return lists, truth, frequencies, draw(st.integers(n_labels, n_labels + 3))


def measure(lists: list[list[int]], truth: list[set[int]], frequencies: list[int], width: int, ks: list[int]):
    return evaluate_topk(
        topk_of(lists, width),
        truth_of(truth, len(frequencies)),
        frequencies=np.array(frequencies),
        n_train=N_TRAIN,
        propensity=PROPENSITY,
        ks=ks,
    )


@given(cases(), st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_every_metric_equals_its_definition(case, k):
    lists, truth, frequencies, width = case
    expected = oracle(lists, truth, frequencies, N_TRAIN, PROPENSITY, k)
    assert measure(lists, truth, frequencies, width, [k]) == pytest.approx(expected, abs=1e-9)
    assert {name.partition("@")[0] + "@k" for name in expected} == set(DEFINITIONS)


@given(cases(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_order_of_documents_and_the_numbering_of_labels_do_not_matter(case, random):
    lists, truth, frequencies, width = case
    before = measure(lists, truth, frequencies, width, [1, 3])
    documents = random.sample(range(len(lists)), len(lists))
    renumbered = random.sample(range(len(frequencies)), len(frequencies))
    lists = [[renumbered[label] for label in lists[i]] for i in documents]
    truth = [{renumbered[label] for label in truth[i]} for i in documents]
    moved = [frequencies[renumbered.index(label)] for label in range(len(frequencies))]
    assert measure(lists, truth, moved, width, [1, 3]) == pytest.approx(before, abs=1e-9)


@given(cases(), st.integers(1, 12))
@settings(max_examples=50, deadline=None)
def test_the_ranking_by_inverse_propensity_reaches_one_hundred(case, k):
    _, truth, frequencies, width = case
    # The rarest true labels first: nothing can score a higher PSP or PSnDCG.
    best = [sorted(true, key=lambda label: (frequencies[label], label)) for true in truth]
    values = measure(best, truth, frequencies, width, [k])
    reached = 100.0 if any(truth) else 0.0
    assert values[f"PSP@{k}"] == pytest.approx(reached)
    assert values[f"PSnDCG@{k}"] == pytest.approx(reached)


@given(cases())
@settings(max_examples=50, deadline=None)
def test_at_the_first_rank_precision_is_ndcg_is_hit(case):
    values = measure(*case, [1])
    assert values["P@1"] == pytest.approx(values["nDCG@1"])
    assert values["P@1"] == pytest.approx(values["hit@1"])


def test_known_values_by_hand():
    values = measure([[0, 9, 1], [2, 3]], [{0, 1}, {3, 4, 5}], [0] * 10, 4, [3])
    gain = {rank: 1 / log2(rank + 1) for rank in (1, 2, 3)}
    assert values["P@3"] == pytest.approx(100 * (2 / 3 + 1 / 3) / 2)
    assert values["nDCG@3"] == pytest.approx(
        100 * ((gain[1] + gain[3]) / (gain[1] + gain[2]) + gain[2] / (gain[1] + gain[2] + gain[3])) / 2
    )
    assert values["recall_macro@3"] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert values["recall_micro@3"] == pytest.approx(100 * 3 / 5)
    # All labels are equally rare, so a hit weighs the same everywhere: 3 found of the 2 + 3 that fit into three slots.
    assert values["PSP@3"] == pytest.approx(100 * 3 / 5)


def test_missing_slots_are_wrong_and_precision_divides_by_k():
    assert measure([[0]], [{0}], [1], 1, [5])["P@5"] == pytest.approx(20.0)
    assert set(measure([[]], [{0}], [1], 0, [1]).values()) == {0.0}


@given(
    st.lists(
        st.tuples(st.lists(st.integers(-1, 8), min_size=4, max_size=4), st.sets(st.integers(0, 6))),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=100, deadline=None)
def test_ranks_equal_a_plain_search(rows):
    """Lists of any content: holes, repeated labels, labels that the truth does not know."""
    lists, truth = [row for row, _ in rows], [true for _, true in rows]
    topk = TopK(np.array(lists, np.int32), np.zeros((len(lists), 4), np.float32))
    placement = place_labels(topk, truth_of(truth, 7))
    expected = [
        ranked.index(label) + 1 if label in ranked else ABSENT
        for ranked, true in zip(lists, truth, strict=True)
        for label in sorted(true)
    ]
    assert placement.ranks.tolist() == expected
    slots = [
        [label in true and ranked.index(label) == slot for slot, label in enumerate(ranked)]
        for ranked, true in zip(lists, truth, strict=True)
    ]
    assert placement.mark_hits().tolist() == slots


def test_a_hole_in_the_middle_keeps_the_rank_of_what_follows():
    topk = TopK(np.array([[-1, 3]], np.int32), np.zeros((1, 2), np.float32))
    assert place_labels(topk, truth_of([{3}], 5)).ranks.tolist() == [2]


def test_a_label_listed_twice_counts_once():
    topk = TopK(np.array([[2, 2, 2]], np.int32), np.zeros((1, 3), np.float32))
    placement = place_labels(topk, truth_of([{2, 4}], 5))
    assert placement.ranks.tolist() == [1, ABSENT]
    assert placement.count_hits(3).tolist() == [1]
    assert placement.mark_hits().tolist() == [[True, False, False]]


def test_labels_beyond_the_truth_are_wrong():
    assert place_labels(topk_of([[7, 0]], 2), truth_of([{0}], 3)).ranks.tolist() == [2]


def test_unsorted_repeated_and_zero_entries_of_the_truth_are_understood():
    messy = sparse.csr_array((np.array([1, 1, 1, 0], np.float32), [4, 1, 4, 0], [0, 4]), shape=(1, 5))
    placement = place_labels(topk_of([[0, 4, 1]], 3), messy)
    assert placement.truth.indices.tolist() == [1, 4]
    assert placement.ranks.tolist() == [3, 2]
    assert messy.indices.tolist() == [4, 1, 4, 0], "the caller's matrix stays as it was"


def test_sixty_four_bit_indices_give_the_same_answer():
    truth = truth_of([{1, 3}], 5)
    wide = sparse.csr_array(truth)
    wide.indices, wide.indptr = truth.indices.astype(np.int64), truth.indptr.astype(np.int64)
    assert place_labels(topk_of([[3, 0, 1]], 3), wide).ranks.tolist() == [3, 1]


def test_no_documents_give_zeros_and_not_nan():
    values = evaluate_topk(
        TopK.make_empty(0, 3), truth_of([], 4), frequencies=np.zeros(4), n_train=10, propensity=PROPENSITY
    )
    assert set(values.values()) == {0.0}


@given(cases())
@settings(max_examples=50, deadline=None)
def test_curves_are_the_metrics_at_every_k(case):
    lists, truth, frequencies, width = case
    drawn = compute_curves(place_labels(topk_of(lists, width), truth_of(truth, len(frequencies))))
    values = measure(lists, truth, frequencies, width, drawn["k"])
    assert drawn["k"] == list(range(1, width + 1))
    for name in ("P", "recall_macro", "recall_micro", "hit"):
        assert drawn[name] == pytest.approx([values[f"{name}@{k}"] for k in drawn["k"]])


@given(cases())
@settings(max_examples=50, deadline=None)
def test_document_ratios_sum_up_to_the_metrics(case):
    lists, truth, frequencies, width = case
    placement = place_labels(topk_of(lists, width), truth_of(truth, len(frequencies)))
    q = compute_inverse_propensities(np.array(frequencies), N_TRAIN, PROPENSITY)
    ratios = compute_document_ratios(placement, q, [2])
    values = measure(lists, truth, frequencies, width, [2])
    over_labels = {"coverage@2": compute_coverage(placement, 2)} | compute_f1(placement, 2)
    assert {name: ratio.compute_percent() for name, ratio in ratios.items()} | over_labels == values
    expected = [sum(label in true for label in ranked[:2]) / 2 for ranked, true in zip(lists, truth, strict=True)]
    assert ratios["P@2"].numerator.tolist() == pytest.approx(expected)


def test_predictions_for_other_documents_are_refused():
    with pytest.raises(DataError, match="predictions for 1 documents, but true labels of 2 documents"):
        place_labels(topk_of([[0]], 1), truth_of([{0}, {0}], 1))


@pytest.mark.parametrize("ks", [[], [0, 1]])
def test_a_k_below_one_is_refused(ks):
    with pytest.raises(ConfigError, match="at least 1"):
        measure([[0]], [{0}], [1], 1, ks)
