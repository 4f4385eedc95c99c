"""Which item of a review is about one of some labels."""

from __future__ import annotations

import numpy as np
from xcwork_app.sources import Source
from xcwork_app.views import review_state

from xcwork.runs import Run


def find_first_item(run: Run, source: Source, labels: np.ndarray) -> tuple[str, str] | None:
    """Return queue and id of the first item about one of the labels, queue by queue; None where there is none."""
    review = review_state.get_review(run, source)
    for name in review_state.QUEUES:
        queue = review.queue(name)
        about_them = np.flatnonzero(np.isin(queue.pairs.labels, labels))
        if len(about_them):
            return name, queue.list_items(int(about_them[0]), 1)[0].id
    return None
