"""Labels as codes: exact, invertible, never beyond the labels, and with heads of sensible lengths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.errors import ConfigError
from xcwork.methods.multihead.codes import (
    BitSlices,
    MixedRadix,
    check_heads,
    choose_cascade_heads,
    choose_even_heads,
    choose_groups,
    compute_confusion_degree,
    parse_heads,
)
from xcwork.methods.multihead.label_order import ORDERS, order_labels

lengths = st.lists(st.integers(2, 7), min_size=2, max_size=4).map(tuple)


def test_the_worked_example_of_the_paper():
    assert MixedRadix((4, 5, 5), 100).split_codes(np.array([57])).tolist() == [[2, 1, 2]]


@given(lengths, st.data())
def test_digits_and_codes_are_inverse_for_all_labels(heads, data):
    n_labels = data.draw(st.integers(1, math.prod(heads)))
    radix, codes = MixedRadix(heads, n_labels), np.arange(n_labels)
    digits = radix.split_codes(codes)
    expected = list(itertools.islice(itertools.product(*map(range, heads)), n_labels))  # counting in mixed radix
    assert [tuple(row) for row in digits.tolist()] == expected
    np.testing.assert_array_equal(radix.join_digits(digits), codes)


@given(lengths, st.data())
def test_prefixes_are_counted_without_unused_ones(heads, data):
    n_labels = data.draw(st.integers(1, math.prod(heads)))
    radix = MixedRadix(heads, n_labels)
    digits = radix.split_codes(np.arange(n_labels))
    assert radix.prefixes == tuple(len({tuple(row[: h + 1]) for row in digits.tolist()}) for h in range(len(heads)))


@given(st.integers(1, 40), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_bit_slices_give_sets_back(n_labels, bits, seed):
    rng = np.random.default_rng(seed)
    Y = sparse.csr_array((rng.random((6, n_labels)) < 0.4).astype(np.float32))
    slices = BitSlices(n_labels, bits)
    codes = slices.encode_sets(Y)
    assert codes.shape == (6, math.ceil(n_labels / bits))
    assert codes.max() < slices.length
    np.testing.assert_array_equal(slices.decode_sets(codes).toarray(), Y.toarray())


def test_a_set_of_more_labels_than_a_machine_word_has_bits():
    everything = sparse.csr_array(np.ones((1, 200), np.float32))
    slices = BitSlices(200, 5)
    assert slices.encode_sets(everything).tolist() == [[31] * 40]
    assert slices.decode_sets(slices.encode_sets(everything)).nnz == 200


def test_marginals_are_sums_over_the_subsets_with_the_label():
    slices = BitSlices(5, 2)
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), (7, 3))
    for label in range(5):
        head, bit = divmod(label, 2)
        expected = sum(probabilities[:, head, code] for code in range(4) if code >> bit & 1)
        np.testing.assert_allclose(slices.compute_marginals(probabilities)[:, label], expected)


@given(st.integers(1, 10**7), st.integers(2, 5))
def test_even_heads_are_enough_and_no_shorter_ones_are(n_labels, n_heads):
    heads = choose_even_heads(n_labels, n_heads)
    assert math.prod(heads) >= n_labels
    assert max(heads) - min(heads) <= 1
    if heads[0] > 2:
        assert math.prod((*heads[:-1], heads[-1])) // heads[0] * (heads[0] - 1) < n_labels


def test_four_heads_of_36_cannot_code_what_the_paper_says_they_do():
    assert 36**4 < 1_728_000
    assert choose_even_heads(1_728_000, 4) == (37, 37, 36, 36)
    assert choose_even_heads(1_728_000, 3) == (120, 120, 120)


@given(st.integers(2, 10**6), st.integers(2, 4), st.integers(1, 50))
@example(n_labels=151, n_heads=4, beam=1)  # where rounding makes the first head the shortest
def test_heads_of_a_cascade_descend_and_are_enough(n_labels, n_heads, beam):
    heads = choose_cascade_heads(n_labels, n_heads, beam)
    assert math.prod(heads) >= n_labels
    assert min(heads) >= 2
    if n_labels >= 2 ** (n_heads + 1):
        assert list(heads) == sorted(heads, reverse=True)


def test_groups_are_reduced_until_less_than_one_group_is_padding():
    assert choose_groups(670_091, 8400) == (8377, 80)
    assert choose_groups(3956, 172) == (172, 23)


def test_confusion_degree_by_hand():
    assert compute_confusion_degree((172, 23)) == pytest.approx(23 / 172)
    assert compute_confusion_degree((4, 5, 6)) == pytest.approx((5 * 6 / 4) * (6 / 5))
    assert compute_confusion_degree((23, 172), parallel=True) == pytest.approx(172 / 23)


@settings(max_examples=40)
@given(st.lists(st.integers(2, 9), min_size=2, max_size=7))
def test_ascending_lengths_are_the_worst_order_of_parallel_heads(heads):
    worst = max(compute_confusion_degree(order) for order in set(itertools.permutations(heads)))
    assert compute_confusion_degree(heads, parallel=True) == pytest.approx(worst)


def test_confusion_degree_of_many_parallel_heads_needs_no_enumeration():
    heads = range(2, 18)
    assert compute_confusion_degree(heads[::-1], parallel=True) == pytest.approx(compute_confusion_degree(heads))


@pytest.mark.parametrize("n_labels", [64, 100, 343])
def test_equal_heads_confuse_parallel_heads_least_and_descending_ones_a_cascade(n_labels):
    options = [h for h in itertools.product(range(2, n_labels), repeat=2) if n_labels <= math.prod(h) < n_labels + h[0]]
    even = math.isqrt(n_labels - 1) + 1
    assert min(compute_confusion_degree(h, parallel=True) for h in options) >= compute_confusion_degree(
        (even, even), parallel=True
    )
    assert compute_confusion_degree((10, 5, 4)) == min(
        compute_confusion_degree(h) for h in itertools.permutations((10, 5, 4))
    )


def test_heads_are_read_from_text():
    assert parse_heads("172,23") == parse_heads("172; 23") == (172, 23)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("172,x", "heads must be lengths separated by commas, such as 172,23"),
        ("172", "heads needs at least two lengths.*use the method flat"),
        ("172,1", "a head of length 1 cannot tell labels apart; leave it out"),
        ("0,5", "a head of length 0"),
    ],
)
def test_bad_heads_are_refused_with_a_sentence(text, sentence):
    with pytest.raises(ConfigError, match=sentence):
        parse_heads(text)


def test_too_few_codes_are_refused_with_lengths_that_would_do():
    with pytest.raises(ConfigError, match=r"heads 5,2 make 10 codes, but there are 11 labels; use longer.* 4,3,"):
        check_heads((5, 2), 11)


def two_themes() -> Split:
    """Labels 0, 2, 4, … about one theme and the others about another, with names in reverse."""
    n_labels, rng = 16, np.random.default_rng(1)
    Y = sparse.csr_array(np.eye(n_labels, dtype=np.float32)[np.arange(64) % n_labels])
    X = rng.random((64, 12)).astype(np.float32) * 0.1
    X[np.arange(64), np.arange(64) % 2 * 6] += 1
    names = [f"{99 - label}" for label in range(n_labels)]
    return Split(sparse.csr_array(X), Y, LabelSpace(names), Features(12))


@pytest.mark.parametrize("kind", ORDERS)
def test_every_order_is_a_permutation_and_repeats(kind):
    split = two_themes()
    order = order_labels(split, kind, group_size=4, seed=3)
    assert sorted(order.tolist()) == list(range(16))
    np.testing.assert_array_equal(order, order_labels(split, kind, group_size=4, seed=3))


def test_orders_are_what_they_are_called():
    split = two_themes()
    assert order_labels(split, "given", group_size=4, seed=0).tolist() == list(range(16))
    assert order_labels(split, "alphabetical", group_size=4, seed=0).tolist() == list(range(15, -1, -1))
    assert (
        order_labels(split, "random", group_size=4, seed=0).tolist()
        != order_labels(split, "random", group_size=4, seed=1).tolist()
    )


def test_clusters_bring_labels_with_similar_documents_together():
    order = order_labels(two_themes(), "cluster", group_size=4, seed=0).reshape(4, 4)
    assert all(len({label % 2 for label in group}) == 1 for group in order.tolist())
