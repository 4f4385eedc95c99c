"""`evaluate` on a method whose every score is planted, so that all, seen and unseen rankings are known by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from xcwork.core.dataset import Dataset
from xcwork.core.features import Features
from xcwork.core.labels import LabelSpace
from xcwork.core.propensity import Propensity
from xcwork.core.split import Split
from xcwork.errors import Cancelled, ConfigError, DataError, NotFittedError
from xcwork.methods.base import Capabilities, Explanation, Method, TopK
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.model import FittedModel
from xcwork.metrics import EvalReport, evaluate, evaluate_topk, tabulate_documents, tabulate_labels, write_details
from xcwork.progress import Callback, track_batches
from xcwork.search.exact import top_k_rows

NONE = -np.inf  # the method has no score for this label


@dataclass(frozen=True, kw_only=True, eq=False)
class PlantedModel(FittedModel):
    """Scores document i as row i of a table: test documents are the unit vectors."""

    table: np.ndarray

    def predict(self, X: sparse.csr_array, k: int, among: np.ndarray | None = None) -> TopK:
        Planted.calls.append((X.shape[0], k))
        scores = self.table if among is None else self.table[:, among]
        best = TopK.concatenate([top_k_rows(scores[x.indices], k) for x in track_batches(X, 2, "looking up")])
        return best if among is None else best.renumber(among)

    def explain(self, x: sparse.csr_array, label: int) -> Explanation:
        return Explanation.from_parts([], exact=True)

    def diagnose(self, split: Split) -> dict[str, float]:
        return {"documents": np.int64(len(split))}

    def check_finite(self) -> None:
        """Allow -inf, which stands for no score."""


@dataclass(kw_only=True, eq=False)
class Planted(Method):
    """Learns nothing: the table is given."""

    table: ClassVar[np.ndarray]
    capabilities = Capabilities(zero_shot=True)
    calls: ClassVar[list[tuple[int, int]]] = []
    model_type = PlantedModel

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> PlantedModel:
        return PlantedModel(**self._collect_facts(train), table=self.table)


class SeenOnly(Planted):
    capabilities = Capabilities()


# Labels 0 and 1 occur in training, 2 and 3 do not.
TRAIN = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
TEST = [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
SCORES = np.array([[9, 1, 8, 7], [5, 6, 7, 8], [9, 8, 6, 7], [4, 3, 2, 1]], dtype=np.float32)


def dataset_of(train: list, test: list, **options) -> Dataset:
    labels = LabelSpace(["=zero", "one", "two", "three"][: len(train[0])])
    X = sparse.csr_array(np.eye(4, dtype=np.float32))
    parts = (sparse.csr_array(np.array(Y, np.float32)) for Y in (train, test))
    train_split, test_split = (Split(X, Y, labels, Features(4)) for Y in parts)
    return Dataset("toy", train_split, replace(test_split, **options))


def fitted(cls: type[Planted], dataset: Dataset, scores: np.ndarray = SCORES) -> Planted:
    cls.table, Planted.calls = scores, []
    return cls().fit(dataset.train)


def test_all_seen_and_unseen_rankings():
    dataset = dataset_of(TRAIN, TEST)
    report = evaluate(fitted(Planted, dataset), dataset)
    # All: document 0 has label 0 on top, document 1 has label 1 at rank 3, document 2 has label 3 at rank 3.
    assert report.metrics["P@1"] == pytest.approx(25.0)
    assert report.metrics["P@3"] == pytest.approx(100 * (2 + 1 + 1) / 3 / 4)
    # Seen labels only: documents 0 and 1 have one; both find it at once.
    assert report.seen["P@1"] == pytest.approx(100.0)
    assert report.n_seen_documents == 2
    # Unseen only: documents 0 and 2 have one; both rank it first among {2, 3}.
    assert report.unseen["P@1"] == pytest.approx(100.0)
    assert report.unseen["P@3"] == pytest.approx(100 / 3)
    assert report.n_unseen_documents == 2
    assert report.n_without_labels == 1
    assert "1 documents have no true label" in report.notes["documents"]
    assert report.diagnostics == {"documents": 4.0}
    assert report.topk.ids.shape == (4, 4)


def test_shots_and_bands_contribute_exactly_the_precision():
    dataset = dataset_of(TRAIN, TEST)
    report = evaluate(fitted(Planted, dataset), dataset)
    for table in (report.shots, *report.bands.values()):
        for k in (1, 3, 5):
            assert sum(band[f"contribution@{k}"] for band in table.values()) == pytest.approx(report.metrics[f"P@{k}"])
    assert report.shots["zero-shot"]["test_positives"] == 2
    assert report.shots["many-shot"]["recall@1"] == 100.0, "label 0 has four training documents and is found"
    assert report.bands["absolute"]["tail"]["labels"] == 2
    assert set(report.definitions) == {"absolute", "share", "shots"}


def test_a_method_that_cannot_score_unseen_labels_gets_zero_with_the_reason():
    dataset = dataset_of(TRAIN, TEST)
    report = evaluate(fitted(SeenOnly, dataset), dataset)
    assert set(report.unseen.values()) == {0.0}
    assert list(report.unseen) == list(report.metrics)
    assert "SeenOnly cannot predict labels" in report.notes["unseen"]
    assert report.n_unseen_documents == 2


def test_unseen_labels_that_such_a_method_lists_by_id_order_earn_nothing():
    # Every score is equal, so the list is 0, 1, 2, 3 for every document: the id order, not knowledge.
    dataset = dataset_of([[0, 0, 1, 1]] * 4, [[1, 0, 0, 0]] * 4)
    tied = np.zeros((4, 4), np.float32)
    report = evaluate(fitted(SeenOnly, dataset, tied), dataset)
    assert report.metrics["P@1"] == 0.0
    assert set(report.topk.ids[report.topk.ids >= 0]) == {2, 3}
    assert "8 predictions were labels without a training document" in report.notes["all"]
    assert report.unseen["P@1"] == 0.0


def test_labels_without_a_score_are_missing_and_wrong():
    dataset = dataset_of(TRAIN, TEST)
    scores = np.where(np.arange(4) < 2, SCORES, NONE).astype(np.float32)
    report = evaluate(fitted(Planted, dataset, scores), dataset)
    assert set(report.unseen.values()) == {0.0}
    assert "unseen" not in report.notes
    assert (report.topk.ids[:, 2:] == -1).all()


def test_without_unseen_labels_one_prediction_is_enough():
    dataset = dataset_of([[1, 1, 1, 1]] * 4, TEST)
    report = evaluate(fitted(Planted, dataset), dataset)
    assert [documents for documents, _ in Planted.calls] == [1, 4], "one document to warm up, then the test split"
    assert report.notes["unseen"] == "every label occurs in training"
    assert report.n_seen_documents == 3
    assert report.seen["P@1"] == pytest.approx(100 / 3)


def test_unseen_labels_without_test_positives():
    dataset = dataset_of(TRAIN, [[1, 0, 0, 0]] * 4)
    report = evaluate(fitted(Planted, dataset), dataset)
    assert "no test document has a label that is unseen" in report.notes["unseen"]


def test_no_seen_positives():
    dataset = dataset_of(TRAIN, [[0, 0, 1, 0]] * 4)
    report = evaluate(fitted(Planted, dataset), dataset)
    assert set(report.seen.values()) == {0.0}
    assert "no test document has a label that occurs in training" in report.notes["seen"]


def test_filter_pairs_never_appear_in_any_ranking():
    dataset = dataset_of(TRAIN, TEST, filter_pairs=np.array([[1, 3], [1, 2], [2, 0]]))
    report = evaluate(fitted(Planted, dataset), dataset)
    assert report.topk.ids[1].tolist() == [1, 0, -1, -1]
    assert report.topk.ids[2].tolist() == [1, 3, 2, -1]
    assert report.metrics["P@1"] == pytest.approx(50.0), "label 1 moves to the top of document 1"
    assert report.n_filter_pairs == 3


def test_metrics_agree_with_evaluate_topk_and_k_is_never_too_small():
    dataset = dataset_of(TRAIN, TEST)
    method = fitted(Planted, dataset)
    expected = evaluate_topk(
        method.predict(dataset.test, 4),
        dataset.test.Y,
        frequencies=dataset.train.label_frequencies,
        n_train=4,
        propensity=dataset.propensity,
    )
    assert evaluate(method, dataset, k=1).metrics == pytest.approx(expected)
    assert evaluate(method, dataset, k=1).k == 5


def test_time_is_measured_per_document():
    dataset = dataset_of(TRAIN, TEST)
    report = evaluate(fitted(Planted, dataset), dataset)
    assert report.predict_seconds > 0
    assert report.predict_ms_per_document == pytest.approx(1000 * report.predict_seconds / 4)


def test_a_callback_sees_the_phases_and_can_stop_the_evaluation():
    class Stop(Callback):
        def on_step(self, phase: str, step: int, total: int | None) -> bool:
            return phase == "looking up" and step == 2

    dataset = dataset_of(TRAIN, TEST)
    with pytest.raises(Cancelled, match="looking up"):
        evaluate(fitted(Planted, dataset), dataset, callbacks=[Stop()])


def test_a_model_for_other_labels_is_refused():
    dataset = dataset_of(TRAIN, TEST)
    other = replace(dataset, train=replace(dataset.train, labels=LabelSpace(["a", "b", "c", "d"])))
    with pytest.raises(DataError, match="trained on other labels"):
        evaluate(fitted(Planted, dataset), other)
    with pytest.raises(NotFittedError):
        evaluate(Planted(), dataset)


def test_json_round_trip_keeps_full_precision_and_shows_two_decimals():
    dataset = replace(dataset_of(TRAIN, TEST), propensity=Propensity(0.6, 2.6, "by hand"))
    report = evaluate(fitted(Planted, dataset), dataset)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["metrics"]["P@3"] == 33.33
    assert content["unseen"]["P@3"] == 33.33
    assert content["shots"]["zero-shot"]["contribution@3"] == round(100 / 6, 2)
    assert content["propensity"] == {"A": 0.6, "B": 2.6, "source": "by hand"}
    back = EvalReport.from_dict(content, topk=report.topk)
    assert back.metrics == report.metrics
    assert back.bands == report.bands
    assert back.propensity == dataset.propensity
    assert back.topk is report.topk
    assert back.to_dict() == content
    assert EvalReport.from_dict(content).topk is None


@pytest.mark.parametrize("damage", [{}, {"metrics": {}}, {"exact": None}])
def test_a_damaged_report_is_one_clear_error(damage):
    with pytest.raises(DataError, match="not a complete evaluation report"):
        EvalReport.from_dict(damage)


def test_frames_and_notebook_view():
    dataset = replace(dataset_of(TRAIN, TEST), name="<toy>")
    report = evaluate(fitted(SeenOnly, dataset), dataset)
    frame = report.to_frame().set_index("metric")
    assert list(frame.columns) == ["all", "seen", "unseen"]
    assert frame.loc["P@1", "all"] == report.metrics["P@1"]
    assert len(report.to_bands_frame()) == 4 + 4 + 3
    view = report._repr_html_()
    assert "&lt;toy&gt;" in view
    assert "<toy>" not in view
    assert "cannot predict labels" in view


def test_per_label_table():
    dataset = dataset_of(TRAIN, TEST)
    report = evaluate(fitted(Planted, dataset), dataset)
    table = tabulate_labels(report, dataset, k=2).set_index("label_id")
    assert table["train_documents"].tolist() == [4, 1, 0, 0]
    assert table["test_documents"].tolist() == [1, 1, 1, 1]
    # The first two of each document: 0 2 | 3 2 | 0 1 | 0 1.
    assert table["predicted@2"].tolist() == [3, 2, 2, 1]
    assert table["hits@2"].tolist() == [1, 0, 1, 0]
    assert table["recall@2"].tolist() == [100, 0, 100, 0]
    assert table["precision@2"].tolist() == pytest.approx([100 / 3, 0, 50, 0])
    assert table["band"].tolist() == ["tail", "tail", "zero-shot", "zero-shot"]


def test_per_label_ratios_are_missing_where_nothing_is_counted():
    dataset = dataset_of(TRAIN, [[0, 0, 0, 0]] * 4)
    table = tabulate_labels(TopK.make_empty(4, 5), dataset)
    assert table["recall@5"].isna().all()
    assert table["precision@5"].isna().all()


def test_per_document_table():
    dataset = dataset_of(TRAIN, TEST, uids=["a", "b", "c", "d"])
    topk = fitted(Planted, dataset).predict(dataset.test, 4)
    table = tabulate_documents(topk, dataset, k=2)
    assert table["uid"].tolist() == ["a", "b", "c", "d"]
    assert table["n_true"].tolist() == [2, 1, 1, 0]
    assert table["hits@2"].tolist() == [2, 0, 0, 0]
    assert table["misses@2"].tolist() == [0, 1, 1, 0]
    assert table["P@2"].tolist() == [100, 0, 0, 0]
    assert table["first_hit"].tolist() == [1, 3, 3, pd.NA]
    assert table["recall@2"].tolist()[:3] == [100, 0, 0]


def test_details_are_written_as_safe_csv(tmp_path):
    dataset = dataset_of(TRAIN, TEST)
    report = evaluate(fitted(Planted, dataset), dataset)
    write_details(report, dataset, tmp_path)
    labels = pd.read_csv(tmp_path / "per_label.csv")
    assert labels["label"].tolist() == ["'=zero", "one", "two", "three"]
    assert pd.read_csv(tmp_path / "per_document.csv")["n_true"].tolist() == [2, 1, 1, 0]


def test_details_of_a_report_without_predictions_are_refused():
    dataset = dataset_of(TRAIN, TEST)
    report = replace(evaluate(fitted(Planted, dataset), dataset), topk=None)
    with pytest.raises(DataError, match="read without its predictions"):
        tabulate_labels(report, dataset)


def test_per_document_needs_a_k():
    dataset = dataset_of(TRAIN, TEST)
    with pytest.raises(ConfigError, match="at least 1"):
        tabulate_documents(TopK.make_empty(4, 5), dataset, k=0)
