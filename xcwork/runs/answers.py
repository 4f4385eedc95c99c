"""What a run answers about documents: labels with scores, probabilities and decisions, as JSON holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xcwork.compute.cluster import get_cluster
from xcwork.errors import ConfigError
from xcwork.runs.calibration import explain_missing_calibration

if TYPE_CHECKING:
    from xcwork.decisions.choice import Decisions
    from xcwork.methods.base import Documents, Method
    from xcwork.runs.document_files import Document
    from xcwork.runs.store import Run


@dataclass(frozen=True)
class Question:
    """What is asked of a run about every document."""

    k: int
    probabilities: bool
    decide: bool
    new_labels: tuple[str, ...] = ()


class Answerer:
    """A run that answers a question, document by document; `decisions` are the thresholds in use."""

    def __init__(self, run: Run, model: Method, question: Question, decisions: Decisions | None) -> None:
        self.run, self.model = run, model
        self._question, self._decisions = question, decisions
        if question.probabilities and model.calibration_ is None:
            raise ConfigError(
                f"run {run.id} has no calibration, so it gives no probabilities; {explain_missing_calibration(run)}"
            )

    @property
    def decisions(self) -> dict[str, Any] | None:
        """The thresholds in use, for the answer."""
        return None if self._decisions is None else self._decisions.to_dict()

    def answer_batches(
        self, batches: Iterable[Sequence[Document]]
    ) -> Iterator[tuple[Sequence[Document], list[list[dict[str, Any]]]]]:
        """Yield every batch with the predictions for its documents, in order; on the cluster where one is used.

        Its workers get the model once.
        """
        place = get_cluster()
        if place is None:
            yield from ((batch, _answer_batch(self, batch)) for batch in batches)
        else:
            yield from place.map_stream(_answer_batch, self, batches, "predicting")

    def answer(self, documents: Documents) -> list[list[dict[str, Any]]]:
        """Return the predictions for each document.

        A score has the seven digits that single precision holds, a probability six decimals.
        """
        best = self.model.predict(documents, self._question.k, proba=self._question.probabilities)
        answers = [best.to_records(row) for row in range(len(best))]
        for predictions in answers:
            for each in predictions:
                each["score"] = float(f"{each['score']:.7g}")
                if "probability" in each:
                    each["probability"] = round(each["probability"], 6)
        if self._decisions is not None:
            words = self._decisions.decide(best, self.model.label_frequencies_)
            for row, predictions in enumerate(answers):
                for slot, each in enumerate(predictions):
                    each["decision"] = words[row, slot]
        return answers


def _answer_batch(answerer: Answerer, batch: Sequence[Document]) -> list[list[dict[str, Any]]]:
    return answerer.answer([document.text for document in batch])
