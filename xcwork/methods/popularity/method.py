"""Popularity: every document gets the most frequent labels of the training documents.

    s(x, l) = (training documents that have l) / (training documents)

It reads nothing of the document, so it shows what a method earns for knowing the label frequencies alone: a method
that does not beat it has learned nothing. Cost: one count. It cannot predict a label that no training document has.
"""

from __future__ import annotations

from dataclasses import dataclass

from xcwork.core.split import Split
from xcwork.methods.base import Capabilities, Method
from xcwork.methods.common.checkpoints import Checkpoint
from xcwork.methods.popularity.model import PopularityModel


@dataclass(kw_only=True, eq=False)
class Popularity(Method):
    """The same ranking for every document: the most frequent labels first."""

    title = "Popularity"
    capabilities = Capabilities(exact_explanations=True)
    model_type = PopularityModel
    learns_from_labels = False

    def _fit(self, train: Split, checkpoint: Checkpoint | None) -> PopularityModel:
        return PopularityModel(**self._collect_facts(train), n_documents=train.n_documents)
