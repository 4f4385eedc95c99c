"""The layout that takes a while: started in the background, watched, cancelled; the page follows when it is there."""

from __future__ import annotations

import streamlit as st
from xcwork_app import dialogs, widgets
from xcwork_app.views import map_content

from xcwork.runs import Run
from xcwork.runs.map_job import MapProgress, cancel_map, read_map_progress, start_map
from xcwork.runs.status import name_state

SECONDS_BETWEEN_LOOKS = 1.0
INTERRUPTED = "stopped"  # its process is gone; it resumes where it was


def start_missing(run: Run) -> None:
    """Begin with the neighbourhood map of a run unless somebody did, or did not want it."""
    progress = read_map_progress(run)
    if progress is None or progress.state == INTERRUPTED:
        start_map(run)


@st.fragment(run_every=SECONDS_BETWEEN_LOOKS)
def show_progress(run: Run) -> None:
    """Say how far the neighbourhood map is; when it is there, the page is drawn again."""
    progress = read_map_progress(run)
    if map_content.has_layout(run, map_content.NEIGHBOURHOODS):
        dialogs.refresh_page()
    if progress is None:
        return
    with st.container(key=f"map_progress_{run.id}", border=True):
        if progress.is_running:
            st.progress(_measure_share(progress), f"Neighbourhood map: {widgets.escape_text(progress.phase)}")
            st.button("Cancel", key=f"label_map.cancel.{run.id}", type="tertiary", on_click=cancel_map, args=(run,))
        else:
            reason = f": {progress.message}" if progress.message else ""
            st.caption(widgets.escape_text(f"The neighbourhood map is missing ({name_state(progress.state)}{reason})."))
            st.button("Build it", key=f"label_map.make.{run.id}", on_click=start_map, args=(run,))


def _measure_share(progress: MapProgress) -> float:
    return min(1.0, progress.step / progress.total) if progress.total else 0.0
