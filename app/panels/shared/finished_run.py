"""The run that a page works on."""

from __future__ import annotations

from xcwork_app import widgets
from xcwork_app.views import selection

from xcwork.runs import Run
from xcwork.runs.status import tell_state


def require_finished_run() -> Run:
    """Return the run that a page works on; without a finished one the page says what to do and ends."""
    run = selection.get_run()
    if run is not None and run.state == "finished":
        return run
    if run is None:
        sentence = f"There is no finished run on {widgets.escape_text(selection.get_source().title)} yet."
    else:
        sentence = f"The run {widgets.escape_text(run.name)} {tell_state(run.state)} and has no results yet."
    widgets.show_empty(sentence, page="train", action="Train a method")
    raise widgets.PageEnd
