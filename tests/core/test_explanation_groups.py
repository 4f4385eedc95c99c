"""Explanations from above: families, words, pairs; what is shown adds up, and ten bars tell nearly all of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcwork.core.explanation import ANY_DOCUMENT, Explanation, Family, Part
from xcwork.core.explanation_groups import MAX_BARS, count_decimals, count_named, group_parts, round_to_sum

WORDS = [f"w{at}" for at in range(40)]
parts_of_texts = st.lists(
    st.builds(
        Part,
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join),
        st.sampled_from(["a", "b", "w1"]),
        st.floats(-5, 5, allow_nan=False),
        st.just({}),
        st.sampled_from([family for family in Family if family != Family.unexplained]),
    ),
    max_size=120,
)


@given(parts_of_texts)
def test_what_is_shown_adds_up_on_every_level(parts: list[Part]) -> None:
    score = math.fsum(part.value for part in parts)
    grouped = group_parts(parts, score, split_term=str.split)
    scale = 10**grouped.decimals
    assert sum(bar.units for bar in grouped.families) == grouped.units == round(score * scale)
    assert math.fsum(bar.value for bar in grouped.families) == pytest.approx(score, abs=1e-9)
    for bar in grouped.families:
        assert sum(word.units for word in bar.words) == bar.units
        assert sum(group.units for group in bar.groups) == bar.units
        assert abs(bar.units - bar.value * scale) <= 1
        for word in bar.words:
            assert sum(pair.units for pair in word.pairs) == word.units
            assert math.fsum(pair.value for pair in word.pairs) == pytest.approx(word.value, abs=1e-9)


@given(parts_of_texts)
def test_ten_bars_tell_nine_tenths_of_a_family_and_the_rest_is_never_the_largest(parts: list[Part]) -> None:
    grouped = group_parts(parts, math.fsum(part.value for part in parts), split_term=str.split)
    for bar in grouped.families:
        assert len(bar.groups) <= MAX_BARS
        assert bar.measure_cover() >= 0.9 - 1e-9
        assert sorted(word.word for group in bar.groups for word in group.words) == sorted(w.word for w in bar.words)
        named = [abs(group.value) for group in bar.groups if not group.is_rest]
        assert all(abs(group.value) <= max(named) + 1e-9 for group in bar.groups if group.is_rest)
        for group in bar.groups:
            if not group.is_rest:
                assert len({word.value >= 0 for word in group.words}) == 1, "a bar has one direction"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(-3, 3))
def test_rounded_numbers_are_close_and_have_the_wanted_sum(values: list[float], off: int) -> None:
    total = round(math.fsum(values)) + off
    rounded = round_to_sum(values, total)
    assert sum(rounded) == total
    slack = 1 + math.ceil((abs(off) + 1) / len(values))
    assert all(abs(each - value) <= slack for each, value in zip(rounded, values, strict=True))


def test_a_pair_of_words_counts_half_for_each() -> None:
    parts = [
        Part("dfs", "dfs", 0.4, family=Family.common_words),
        Part("networkx dfs", "networkx dfs", 0.2, family=Family.common_words),
    ]
    (family,) = Explanation.from_parts(parts, has_words=True).group().families
    assert {word.word: word.value for word in family.words} == {"dfs": pytest.approx(0.5), "networkx": 0.1}
    dfs = family.words[0]
    assert [(pair.document_term, pair.value) for pair in dfs.pairs] == [("dfs", 0.4), ("networkx dfs", 0.1)]


def test_a_term_that_is_no_run_of_words_stays_whole() -> None:
    vote = Part("training document number 7", "has the label", 0.3, family=Family.neighbours)
    grouped = Explanation.from_parts([vote, Part("(the whole text)", "head 1", 0.1)], has_words=True).group()
    assert [word.word for bar in grouped.families for word in bar.words] == [
        "(the whole text)",
        "training document number 7",
    ]
    named = Explanation.from_parts([Part("petal width", "x", 1.0)], has_words=False).group()
    assert named.families[0].words[0].word == "petal width"


def test_families_come_in_their_order_and_the_starting_point_is_by_reason() -> None:
    parts = [
        Part("a", "x", 3.0, family=Family.heads),
        Part("a", "a", 1.0),
        Part("a", "x", 2.0),
        Part(ANY_DOCUMENT, "bias", -9.0, family=Family.heads),
    ]
    grouped = Explanation.from_parts(parts).group()
    assert [bar.family for bar in grouped.families] == [
        "starting point",
        "words in common",
        "memorised for this label",
        "heads",
    ]
    assert grouped.families[0].words[0].word == "bias"
    assert grouped.sum_words() == {"a": 6.0}


def test_what_parts_leave_open_is_a_family_of_its_own() -> None:
    grouped = group_parts([Part("a", "x", 1.0)], 3.0)
    assert [(bar.family, bar.value) for bar in grouped.families] == [
        ("memorised for this label", 1.0),
        ("not explained", 2.0),
    ]
    assert sum(bar.units for bar in grouped.families) == grouped.units


def test_many_equal_words_share_bars_that_name_them() -> None:
    parts = [Part(f"w{at:03}", "x", 1.0, family=Family.tree_path) for at in range(200)]
    (family,) = group_parts(parts, 200.0).families
    assert len(family.groups) == MAX_BARS
    assert not any(group.is_rest for group in family.groups)
    assert family.groups[5].name == "w005, w006, w007 and 36 more"


@pytest.mark.parametrize(
    ("sizes", "named"), [([], 0), ([1.0], 1), ([5, 4, 0.3, 0.2], 2), ([1, 1, 1], 3), ([10, 0.5], 2)]
)
def test_the_rest_is_small_and_stands_for_at_least_two_words(sizes: list[float], named: int) -> None:
    assert count_named(sizes) == named


@pytest.mark.parametrize(
    ("largest", "decimals"), [(4.79, 2), (47.9, 2), (479.0, 0), (0.03, 4), (1e9, 0), (0.0, 2), (1e-30, 8)]
)
def test_numbers_have_three_digits_and_two_decimals_below_100(largest: float, decimals: int) -> None:
    assert count_decimals(largest) == decimals


def test_shown_numbers_have_signs() -> None:
    grouped = group_parts([Part("a", "x", -4.786)], -4.786)
    assert grouped.format(grouped.units) == "−4.79"
    assert (grouped.format(271), grouped.format(335, sign=False), grouped.format(0)) == ("+2.71", "3.35", "0.00")


def test_no_parts_make_no_families() -> None:
    assert group_parts([], 0.0).families == ()
    assert Explanation.from_parts([]).to_dict()["families"] == []


def test_the_errors_of_many_small_words_do_not_add_up_in_their_bar() -> None:
    """Rounded one by one, eighty words of 0.004 each would be bars of 0.00 and of many times what they are."""
    parts = [Part(f"word{at}", "label", 0.3 if at < 3 else 0.004, family=Family.learned_pairs) for at in range(83)]
    (family,) = group_parts(parts, sum(part.value for part in parts)).families
    grouped = group_parts(parts, sum(part.value for part in parts))
    for group in family.groups:
        assert abs(group.units / 10**grouped.decimals - group.value) < 10.0**-grouped.decimals
        assert group.units == sum(word.units for word in group.words)
