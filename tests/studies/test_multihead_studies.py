"""The studies of multi-head encoding: known answers where there are any, and frames of the promised shape."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import sparse

from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.split import Split
from xcwork.methods.multihead.codes import compute_confusion_degree
from xcwork.methods.registry import create
from xcwork.studies import low_rank
from xcwork.studies.multihead import (
    add_ratios,
    compare_ensemble,
    compare_head_lengths,
    compare_label_orders,
    compare_stages,
    draw_random_split,
    measure_costs,
    measure_head_accuracies,
    measure_tail_trimming,
    trim_tail,
)

pytestmark = pytest.mark.slow

QUICK = {"epochs": 2, "min_steps": 30}


@functools.cache
def themes(n_labels: int = 12, per_label: int = 8) -> Split:
    """One word a label, one document a label and copy."""
    label = np.repeat(np.arange(n_labels), per_label)
    rng = np.random.default_rng(0)
    X = rng.random((len(label), 2 * n_labels)) * (rng.random((len(label), 2 * n_labels)) < 0.1)
    X[np.arange(len(label)), label] += 1
    Y = sparse.csr_array(np.eye(n_labels, dtype=np.float32)[label])
    names = [f"l{i}" for i in range(n_labels)]
    return Split(sparse.csr_array(X.astype(np.float32)), Y, LabelSpace(names), Features(2 * n_labels))


def test_every_order_width_and_seed_is_a_row():
    frame = compare_label_orders(themes(), themes(), widths=(4, 16), seeds=(0, 1), **QUICK)
    assert len(frame) == 8
    assert set(frame["order"]) == {"cluster", "random"}
    assert frame["P@1"].between(0, 100).all()


def test_head_lengths_come_with_their_confusion_degree():
    frame = compare_head_lengths(themes(), themes(), ["6,2", "4,3", "3,2,2"], width=16, **QUICK)
    assert frame["method"].value_counts().to_dict() == {"mhp": 3, "mhc": 3, "mhs": 2}
    row = frame[(frame["method"] == "mhc") & (frame["heads"] == "6,2")].iloc[0]
    assert row["confusion degree"] == pytest.approx(compute_confusion_degree((6, 2)))
    sizes = frame[frame["method"] == "mhp"].set_index("heads")["parameters"]
    assert sizes.to_dict() == {text: 17 * n for text, n in {"6,2": 8, "4,3": 7, "3,2,2": 7}.items()}


def test_trimming_takes_the_rarest_labels_and_counts_what_is_lost():
    Y = np.zeros((10, 4), np.float32)
    Y[:, 0], Y[:4, 1], Y[0, 2] = 1, 1, 1  # frequencies 10, 4, 1, 0
    split = Split(
        sparse.csr_array(np.eye(10, dtype=np.float32)), sparse.csr_array(Y), LabelSpace(list("abcd")), Features(10)
    )
    less, lost = trim_tail(split, 1 / 3)
    assert less.label_frequencies.tolist() == [10, 4, 0, 0]
    assert lost == pytest.approx(1 / 15)
    same, nothing = trim_tail(split, 0.0)
    assert same.Y.nnz == 15
    assert nothing == 0
    less, lost = trim_tail(split, 2 / 3)
    assert less.label_frequencies.tolist() == [10, 0, 0, 0]
    assert lost == pytest.approx(5 / 15)


def test_tail_trimming_is_evaluated_on_all_labels():
    frame = measure_tail_trimming(themes(), themes(), shares=(0.0, 0.5), width=32, **QUICK | {"min_steps": 60})
    assert frame["positives lost"].tolist() == [0.0, 0.5]
    assert frame["P@1"][0] > 95
    assert 40 < frame["P@1"][1] <= 50  # labels that were trimmed cannot be found


def test_the_sum_of_three_members_is_a_row_of_its_own():
    frame = compare_ensemble(themes(), themes(), method="flat", width=16, **QUICK)
    assert frame["members"].tolist() == ["1", "1", "1", "3"]
    assert frame["P@1"].iloc[-1] >= frame["P@1"].iloc[:-1].min()


def test_both_choices_of_a_cascade_multiply_to_its_precision():
    settings = QUICK | {"width": 16, "label_dimension": 16, "heads": "4,3"}
    frame = compare_stages(themes(), themes(), **settings)
    assert frame["order"].tolist() == ["cluster", "random"]
    shares = frame[["group right", "label right then"]]
    assert shares.ge(0).all(axis=None)
    assert shares.le(100).all(axis=None)
    model = create("mhc", label_order="random", beam=1, **settings).fit(themes())
    best = model.predict(themes(), k=1).ids[:, 0]  # a longer list would make the beam wider
    precision = 100 * float((best == themes().Y.indices).mean())
    assert shares.iloc[1].prod() / 100 == pytest.approx(precision)


def test_heads_are_right_more_often_than_all_together():
    frame = measure_head_accuracies(themes(), themes(), heads="4,3", width=16, **QUICK)
    assert frame["head"].tolist() == ["head 1", "head 2", "together", "product"] * 2
    shares = frame.set_index(["part", "head"])["accuracy"]
    assert shares["test", "together"] <= min(shares["test", "head 1"], shares["test", "head 2"])
    assert shares["test", "product"] == pytest.approx(shares["test", "head 1"] * shares["test", "head 2"] / 100)


def test_costs_count_parameters_and_compare_with_flat():
    frame = measure_costs((50, 200), width=8, batch_size=16, steps=2, documents=16)
    sizes = frame.set_index(["labels", "method"])["parameters"]
    assert sizes[200, "flat"] == sizes[200, "mhs"] == 200 * 9
    assert sizes[200, "mhp"] == (15 + 14) * 9
    assert (frame.loc[frame["method"] == "flat", ["train ×", "predict ×"]] == 1).all().all()
    assert (frame[["train ms per step", "predict ms per document"]] > 0).all().all()


def test_ratios_divide_by_the_flat_row_of_the_same_size():
    rows = measure_costs((50,), ("flat", "mhp"), width=4, batch_size=8, steps=2, documents=8).assign(
        **{"train ms per step": [30.0, 3.0]}
    )
    assert add_ratios(rows)["train ×"].tolist() == [1.0, 10.0]


def test_random_documents_have_one_label_each():
    split = draw_random_split(20, 1000, n_features=50, terms=5)
    assert np.diff(split.Y.indptr).tolist() == [1] * 20
    assert split.X.shape == (20, 50)


def test_the_explicit_low_rank_solution_is_always_right():
    points = low_rank.draw_gaussian_points(100)
    logits = low_rank.make_parabola_logits(points, np.random.default_rng(1).standard_normal(100))
    assert (logits.argmax(1) == np.arange(100)).all()
    assert np.linalg.matrix_rank(logits) == 2  # one unit and a bias


def test_cross_entropy_separates_where_the_squared_error_cannot():
    frame = low_rank.compute_low_rank_curves(low_rank.draw_gaussian_points(30), epochs=2000, every=2000)
    last = frame[frame["epoch"] == 2000].set_index("loss")
    assert last.loc["cross-entropy", "accuracy"] > 90  # all but a point or two; which ones depends on the processor
    assert last.loc["squared error", "accuracy"] < 40
    assert last.loc["cross-entropy", "rank"] > last.loc["squared error", "rank"]


def test_quadrants_are_separable_but_not_on_a_line():
    points, classes = low_rank.make_quadrants(400)
    signs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    assert ((points @ signs.T).argmax(1) == classes).mean() == 1.0
    best = low_rank.find_best_on_a_line(points, classes, directions=60)
    assert 0.6 < best < 0.75


def test_classes_in_a_row_are_separable_on_a_line():
    points = np.column_stack([np.linspace(0, 1, 40), np.zeros(40)])
    assert low_rank.find_best_on_a_line(points, np.repeat([2, 0, 1], [10, 20, 10]), directions=4) == 1.0
