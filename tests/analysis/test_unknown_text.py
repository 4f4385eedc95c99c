"""What is said about a text that a run knows nothing of: one sentence, and a true one."""

from __future__ import annotations

import pytest

from xcwork.analysis.unknown_text import describe_unknown_text
from xcwork.core.dataset import Dataset
from xcwork.methods import registry

UNKNOWN = "Zaubertrank und Hexenkessel"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["popularity", "one_vs_all", "tfidf", "nearest_documents"])
def test_the_sentence_fits_what_the_method_does(name: str, checkerboard: Dataset) -> None:
    model = registry.create(name).fit(checkerboard.train)
    found = model.predict(UNKNOWN, 5).get_row(0)
    said = describe_unknown_text(model, UNKNOWN, n_suggested=len(found))
    assert said.startswith("No word of this text is known to this run, so ")
    assert ("nothing is suggested" in said) == (not found)
    assert ("these labels do not depend on it" in said) == bool(found)
    assert model.predict("", 5).get_row(0) == found, "nothing of the text counts"


def test_a_known_text_needs_no_sentence_unless_nothing_is_suggested(checkerboard: Dataset) -> None:
    model = registry.create("tfidf").fit(checkerboard.train)
    assert describe_unknown_text(model, "red square", n_suggested=4) == ""
    assert describe_unknown_text(model, "red square", n_suggested=0) == "This run suggests no label for this text."
