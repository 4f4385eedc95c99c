"""The parts of an explanation, and the families that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ANY_DOCUMENT = "(any document)"  # the document term of a part that does not depend on the document
LABEL_RARITY = "how rare the label is"  # the label term of what a label gets whatever the document says
TRAINING_DOCUMENT = "training document"  # how the document term of a part begins that is a neighbour's vote


class Family(StrEnum):
    """What kind of reason a part is, in the order in which families are shown."""

    starting_point = "starting point"  # what the label gets whatever the document says
    common_words = "words in common"  # a word that document and label share
    learned_pairs = "learned pairs"  # a word of the document meets another word of the label
    meaning = "meaning of the words (approximate)"  # what leaving out a word takes from the score
    memorised = "memorised for this label"  # weights that belong to this label alone
    neighbours = "neighbours"  # the label's documents, landmarks, nearest documents
    tree_path = "tree path"  # the classifiers on the way down to the label
    heads = "heads"  # the heads whose digits make up the label
    unexplained = "not explained"  # what approximate parts leave open

    @property
    def heading(self) -> str:
        """The name as it begins a line."""
        return self.value[:1].upper() + self.value[1:]


@dataclass(frozen=True)
class Part:
    """One reason: a document term meets a label term (or a landmark, a head, a tree node, a training document).

    A part without a `family` gets one by its terms: the starting point where it does not depend on the document, words
    in common where both terms are the same, and otherwise something that was memorised for the label.
    """

    document_term: str
    label_term: str
    value: float
    details: Mapping[str, Any] = field(default_factory=dict)
    family: Family | None = None

    def __post_init__(self) -> None:
        if self.document_term == ANY_DOCUMENT:
            object.__setattr__(self, "family", Family.starting_point)
        elif self.family is None:
            shared = self.document_term == self.label_term
            object.__setattr__(self, "family", Family.common_words if shared else Family.memorised)

    def to_dict(self) -> dict[str, Any]:
        """Return terms, value, family and what a method adds, for tables and JSON."""
        terms = {"document_term": self.document_term, "label_term": self.label_term, "value": self.value}
        return {**terms, "family": str(self.family), **self.details}
