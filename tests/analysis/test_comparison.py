"""Runs side by side: the best in bold, what may be chance in italics, and nothing compared across data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xcwork.analysis.agreement import find_better_and_worse
from xcwork.analysis.comparison import Entry, compute_deltas, make_comparison_table
from xcwork.core.topk import TopK
from xcwork.data.synthetic import make_synthetic
from xcwork.errors import ConfigError
from xcwork.export.tables import BOLD, ITALIC
from xcwork.metrics import compare_predictions, evaluate_topk

K = 5


@pytest.fixture(scope="module")
def dataset():
    return make_synthetic(n_documents=600, n_labels=60, n_topics=4, labels_per_document=3, seed=3)


def guessed(dataset, right: float, seed: int) -> TopK:
    """Predictions that put a true label into a slot with probability `right`."""
    rng = np.random.default_rng(seed)
    topk = TopK.make_empty(len(dataset.test), K)
    for i in range(len(dataset.test)):
        true = dataset.test.Y[[i]].indices
        others = np.setdiff1d(np.arange(dataset.test.n_labels), true)
        n_right = min(rng.binomial(K, right), len(true))
        chosen = np.concatenate([rng.permutation(true)[:n_right], rng.permutation(others)[: K - n_right]])
        topk.ids[i], topk.scores[i] = rng.permutation(chosen), -np.arange(K)
    return topk


def entry(dataset, name: str, topk: TopK) -> Entry:
    metrics = evaluate_topk(
        topk,
        dataset.test.Y,
        frequencies=dataset.train.label_frequencies,
        n_train=len(dataset.train),
        propensity=dataset.propensity,
    )
    return Entry(name, name, metrics, topk=topk, fingerprint=dataset.fingerprint, train_seconds=1.5, model_mb=2.0)


@pytest.fixture(scope="module")
def entries(dataset):
    good = guessed(dataset, 0.5, 1)
    near = replace(good, ids=good.ids.copy())
    near.ids[:2] = near.ids[:2, ::-1]  # as good as the first, but for two documents
    return [
        entry(dataset, "good", good),
        entry(dataset, "near", near),
        entry(dataset, "=bad", guessed(dataset, 0.05, 2)),
    ]


def test_best_is_bold_and_chance_is_italic(dataset, entries):
    table = make_comparison_table(entries, dataset, metrics=["P@1", "P@5"])
    marks = dict(zip(table.frame["run"], table.emphasis[:, 2:4].tolist(), strict=True))
    assert marks["good"][1] == marks["near"][1] == BOLD  # the same labels in another order
    assert sorted([marks["good"][0], marks["near"][0]]) in ([BOLD, BOLD], [BOLD, ITALIC])
    assert marks["=bad"] == ["", ""]
    assert table.notes == ()


def test_marks_agree_with_the_pairwise_bootstrap(dataset, entries):
    table = make_comparison_table(entries, dataset)
    for metric in ("P@3", "nDCG@5", "PSP@5"):
        values = table.frame[metric].to_numpy()
        best = int(values.argmax())
        for i, one in enumerate(entries):
            mark = table.emphasis[i, table.frame.columns.get_loc(metric)]
            tested = compare_predictions(entries[best].topk, one.topk, dataset).set_index("metric").loc[metric]
            expected = BOLD if values[i] == values[best] else "" if tested["significant"] else ITALIC
            assert mark == expected, (metric, one.name)


def test_deltas_agree_with_the_pairwise_bootstrap(dataset, entries):
    table = compute_deltas(entries, 0, dataset, metrics=["P@1", "PSP@3"]).set_index(["run", "metric"])
    for one in entries[1:]:
        expected = compare_predictions(one.topk, entries[0].topk, dataset).set_index("metric")
        for metric in ("P@1", "PSP@3"):
            for field in ("difference", "low", "high", "p_value"):
                assert table.loc[(one.name, metric), field] == pytest.approx(expected.loc[metric, field], abs=1e-9)
    assert len(compute_deltas(entries[:1], 0, dataset)) == 0


def test_runs_on_other_data_keep_their_numbers_but_are_not_compared(dataset, entries):
    stranger = replace(entries[0], name="stranger", fingerprint="other", metrics={"P@1": 99.0})
    blind = replace(entries[1], name="blind", topk=None)
    table = make_comparison_table([*entries, stranger, blind], dataset, metrics=["P@1"])
    assert table.frame["P@1"].tolist()[3] == 99.0
    assert (table.emphasis[3:] == "").all()
    assert table.notes == (
        "stranger was measured on other data, so it is not compared",
        "blind has no stored predictions, so it is not compared",
    )
    with pytest.raises(ConfigError, match="cannot be the reference"):
        compute_deltas([*entries, stranger], 3, dataset)
    alone = make_comparison_table([stranger, blind], None)
    assert (alone.emphasis == "").all()


def test_published_rows_follow_with_their_source(dataset, entries):
    table = make_comparison_table(entries, replace(dataset, name="Bibtex"), metrics=["P@1", "P@3"])
    assert table.n_published == len(table.frame) - 3 > 5
    papers = table.frame.iloc[3:]
    assert papers["source"].notna().all()
    assert (papers["run"] == "published").all()
    assert (table.emphasis[3:] == "").all()
    assert make_comparison_table(entries, replace(dataset, name="Bibtex"), published=False).n_published == 0


def test_exports_are_harmless_and_emphasised(dataset, entries):
    table = make_comparison_table(entries, dataset, metrics=["P@5"])
    assert "'=bad" in table.to_csv()
    best = f"{entries[0].metrics['P@5']:.2f}"
    assert f"**{best}**" in table.to_markdown()
    assert rf"\textbf{{{best}}}" in table.to_latex()
    assert "ms per document" not in table.to_markdown()  # nobody has that number
    assert "1.50" in table.to_markdown()


def test_other_scopes_are_shown_without_a_test(dataset, entries):
    unseen = [replace(one, unseen={"P@1": value}) for one, value in zip(entries, (3.0, 2.0, 1.0), strict=True)]
    table = make_comparison_table(unseen, dataset, metrics=["P@1"], scope="unseen")
    assert table.emphasis[:, 2].tolist() == [BOLD, "", ""]
    assert "not tested" in table.notes[0]
    with pytest.raises(ConfigError, match="scope must be"):
        make_comparison_table(entries, dataset, scope="tail")
    with pytest.raises(ConfigError, match="at least one run"):
        make_comparison_table([], dataset)


def test_better_and_worse_documents(checkerboard):
    def listing(*rows):
        return TopK(np.array(rows, np.int32), np.tile(np.float32([2, 1]), (8, 1)))

    # Even documents have L0, L2, L4, L6; odd ones L1, L3, L5, L7; the last two L8.
    before = listing(*[[0, 1]] * 8)
    after = listing([0, 2], [0, 3], [2, 4], [8, 8], [0, 1], [0, 1], [8, 0], [0, 1])
    changes = find_better_and_worse(after, before, checkerboard, k=2)
    table = changes.documents.set_index("document")
    assert table["state"].to_dict() == {0: "better", 1: "mixed", 2: "mixed", 3: "worse", 6: "better"}
    assert table.loc[2, ["won_labels", "lost_labels"]].tolist() == ["L2 | L4", "L0"]
    assert changes.counts == {"better": 2, "mixed": 2, "alike": 3, "worse": 1}
    assert changes.bands.set_index("band").loc["zero-shot", ["won", "lost", "net"]].tolist() == [1, 0, 1]
    assert changes.bands["won"].sum() == table["won"].sum() == 5
    assert changes.labels.set_index("label").loc["L1", ["won", "lost", "net"]].tolist() == [0, 2, -2]
    assert changes.labels["label"].tolist()[0] in ("L1", "L2")
    assert changes.sentence == "2 documents better, 2 mixed, 3 alike, 1 worse."
    assert sum(changes.counts.values()) == len(checkerboard.test)
    assert len(find_better_and_worse(before, before, checkerboard).documents) == 0
