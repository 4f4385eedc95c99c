"""What to do next with a dataset and its best run: at most three steps, each with the reason for it.

A run to resume comes first, because it costs nothing; then what the best run leaves open. Every step is computed from
what is stored; a step whose data cannot be read is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xcwork_app import caches, navigation
from xcwork_app.sources import Source
from xcwork_app.views import map_content, review_state, run_decisions, run_findings, selection

from xcwork.decisions.choice import ASSIGN
from xcwork.errors import XcworkError
from xcwork.export.text import count_noun
from xcwork.runs import Run
from xcwork.runs.status import RESUMABLE_STATES, tell_state

MAX_STEPS = 3
MAX_TEST_DOCUMENTS = 20_000  # beyond which Home does not look for labels to review by itself
MISSING_QUEUE = "missing"
FIRST_METHODS = ("bm25", "tfidf", "zestxml", "siamesexml", "one_vs_all", "label_tree")  # in the order to try them


@dataclass(frozen=True)
class NextStep:
    """One thing to do, why, and where."""

    title: str
    reason: str
    page: str
    changes: dict[str, Any] = field(default_factory=dict)  # of the view

    @property
    def button(self) -> str:
        return navigation.get_place(self.page).title


def list_next_steps(source: Source, run: Run | None) -> list[NextStep]:
    """Return what to do next; `run` is the best one on the dataset."""
    steps: list[NextStep] = []
    finders: list[Callable[[], Iterator[NextStep]]] = [lambda: _resume(source)]
    if run is not None:
        finders += [lambda: _review(source, run), lambda: _look_at_region(source, run), lambda: _decide(source, run)]
    finders.append(lambda: _try_method(source))
    for find in finders:
        try:
            steps += [step for step in find() if navigation.has_page(step.page)]
        except (XcworkError, OSError):  # its own page says what is wrong
            continue
        if len(steps) >= MAX_STEPS:
            break
    return steps[:MAX_STEPS]


def _resume(source: Source) -> Iterator[NextStep]:
    runs = selection.list_runs(source)
    for run, seen in zip(runs, caches.glance_at(runs), strict=True):
        status = seen.status
        if status.state in RESUMABLE_STATES:
            said = status.message or f"it {tell_state(status.state)}"
            reason = said[:1].upper() + said[1:]
            yield NextStep(
                f"Resume {run.name}",
                f"{reason.rstrip('.')}. It resumes from its checkpoint.",
                "train",
                {"run": run.id, "data": source.id},
            )
            return


def _review(source: Source, run: Run) -> Iterator[NextStep]:
    if len(caches.get_topk(run)) > MAX_TEST_DOCUMENTS:
        return
    review = review_state.get_review(run, source)
    queue = review.queue(MISSING_QUEUE)
    waiting = queue.count_answered(review_state.get_verdicts(review))["waiting"]
    if not waiting:
        return
    share = 100 * float(queue.pairs.probabilities.mean())
    yield NextStep(
        f"Check {count_noun(waiting, 'confident prediction')} that nobody annotated",
        f"{share:.0f} of 100 such predictions are right, so an annotation may be missing.",
        "review",
        {"data": source.id, "run": run.id, "queue": "", "item": ""},
    )


def _look_at_region(source: Source, run: Run) -> Iterator[NextStep]:
    from xcwork.analysis.map_selection import list_weakest_regions

    if not map_content.has_layout(run, map_content.NEIGHBOURHOODS):
        return
    found = run_findings.get_findings(run, source, k=5, bands=run_findings.get_band_definition())
    content = map_content.get_content(found, map_content.NEIGHBOURHOODS)
    for score in list_weakest_regions(content.scores, limit=1):
        name = content.names[score.region]
        n_true = sum(each.n_true for each in content.scores)
        average = 100 * sum(each.n_found for each in content.scores) / max(1, n_true)
        n_missed = score.n_true - score.n_found
        yield NextStep(
            f"Look at {count_noun(n_missed, 'missed label')} around {name}",
            f"The weakest region of the label map: {100 * score.share:.0f} % found, {average:.0f} % on average.",
            "label_map",
            {"data": source.id, "run": run.id, "region": name, "label": "", "lasso": ""},
        )


def _decide(source: Source, run: Run) -> Iterator[NextStep]:
    if run_decisions.is_stored(run) or run_decisions.get_calibration(run) is None:
        return
    decisions = run.read_decisions()
    summary = run_decisions.get_summary(run, source, decisions)
    group = summary.groups[ASSIGN]
    if not group.n or group.share_right is None:
        return
    documents = 100 * group.n_documents / max(1, summary.n_documents)
    labels = count_noun(group.n, "label")
    yield NextStep(
        "Decide what is assigned without asking",
        f"From {100 * decisions.assign:.0f} % on: {labels} for {documents:.0f} % of the documents, "
        f"{group.share_right:.0f} % of them right.",
        "decisions",
        {"data": source.id, "run": run.id},
    )


def _try_method(source: Source) -> Iterator[NextStep]:
    from xcwork.methods.registry import find_method_class

    seen = caches.glance_at(selection.list_runs(source))
    tried = {each.record.get("method") for each in seen}
    has_label_text = any(each.measured.get("label_text") for each in seen) or not seen
    for name in FIRST_METHODS:
        method = find_method_class(name)
        if name not in tried and (has_label_text or not method.capabilities.needs_label_text):
            reason = "No run has used it on this dataset. The page says what it costs before it starts."
            yield NextStep(f"Try {method.title}", reason, "train", {"data": source.id, "method": name})
            return
