"""All methods in groups: what each is good for, its time here and the best P@1 that it reached here."""

from __future__ import annotations

from xcwork_app import caches, state, widgets
from xcwork_app.components.label_list import LabelGroup, LabelRow, ListColumn, show_label_list
from xcwork_app.views.training_plan import MethodFacts, list_method_groups

from xcwork.advice.guide import get_note

COLUMNS = (
    ListColumn("Method", "10.2rem"),
    ListColumn("Good for", "1fr"),
    ListColumn("Time here", "5rem"),
    ListColumn("Best P@1 here", "6.6rem"),
)


def show_methods(chosen: str, facts: dict[str, MethodFacts]) -> None:
    """Show the table; a row that is chosen becomes the method of the page."""
    groups = [
        LabelGroup([make_row(facts[method]) for method in group.methods], title=group.title)
        for group in list_method_groups()
    ]
    show_label_list(
        groups,
        key="train_methods",
        label="Methods",
        selected=chosen,
        on_choose=lambda method: state.update(method=method),
        columns=COLUMNS,
        height="window",
        has_border=True,
    )


def make_row(facts: MethodFacts) -> LabelRow:
    """Return a method as a row; one that cannot work here says why instead of what it is good for."""
    note = get_note(facts.method)
    time = "" if facts.obstacle else "–" if facts.cost is None else widgets.shorten_seconds(facts.cost.seconds)
    best = None if facts.best is None else caches.glance(facts.best)
    return LabelRow(
        facts.method,
        note.title,
        cells=(facts.obstacle or note.good_for, time),
        value="" if best is None else f"{best.record['metrics']['P@1']:.1f}",
        run=None if best is None else best.number,
        is_off=bool(facts.obstacle),
    )
