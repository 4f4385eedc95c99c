"""What to say about a text that a run knows nothing of, in the same words on pages and on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xcwork.methods.base import Documents, Method


def describe_unknown_text(method: Method, document: Documents, *, n_suggested: int) -> str:
    """Say that nothing is suggested, or that suggestions do not depend on the text; "" where neither is the case."""
    if method.read_matrix(document).nnz:
        return "" if n_suggested else "This run suggests no label for this text."
    if n_suggested:
        return (
            "No word of this text is known to this run, so these labels do not depend on it: "
            "any text of unknown words gets the same ones."
        )
    return "No word of this text is known to this run, so nothing is suggested."
