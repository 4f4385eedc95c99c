"""The start page: what there is to train on, and the runs with their states and metrics.

Everything shown comes from the home folder through the engine. The table of runs refreshes itself, quickly while
something is under way and slowly otherwise, so runs started from a shell appear here too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from xcwork import device
from xcwork.data.load import list_datasets
from xcwork.errors import XcworkError
from xcwork.home import home
from xcwork.runs import Run, RunStore

QUICK, SLOW = 2, 10  # seconds between two looks at the run folders
SHOWN = ("P@1", "P@3", "P@5", "nDCG@5", "PSP@5")


@st.cache_resource
def device_line() -> str:
    return device.describe()


def datasets_table() -> None:
    st.header("Datasets")
    rows = [
        {"dataset": entry.name, "format": entry.format, "what it is": entry.description} for entry in list_datasets()
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="home.datasets")


def is_active() -> bool:
    return any(run.status.is_active for run in RunStore().list())


def run_row(run: Run) -> dict[str, Any]:
    record, status = run.to_dict(), run.status
    steps = f" {status.step}/{status.total}" if status.total else ""
    doing = f": {status.phase}{steps}" if status.is_active and status.phase else ""
    return {
        "run": record["name"], "method": record.get("method"), "data": Path(str(record.get("data", ""))).name,
        "state": status.state + doing, **{metric: record["metrics"].get(metric) for metric in SHOWN},
        "unseen P@5": record["unseen"].get("P@5"), "training, s": status.train_seconds, "message": status.message,
    }  # fmt: skip


def runs_table(was_active: bool) -> None:
    runs = RunStore().list()
    if not runs:
        st.info("No runs yet. Start one in a shell: `xcwork train one_vs_all --data pyseealso`")
        return
    frame = pd.DataFrame([run_row(run) for run in reversed(runs)])
    numbers = {name: st.column_config.NumberColumn(format="%.2f") for name in frame.columns if "@" in name}
    numbers["training, s"] = st.column_config.NumberColumn(format="%.1f")
    st.dataframe(frame, hide_index=True, column_config=numbers, placeholder="–", key="home.runs")
    under_way = is_active()
    count = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    st.caption(count + (", some under way" if under_way else ""))
    if under_way != was_active:
        st.rerun()  # the pace of the refresh is fixed when the page is built


def page() -> None:
    st.title("xcwork")
    st.write(
        "A workbench for extreme multi-label classification: thousands to millions of labels, most of them rare, some "
        "never seen in training. Load a dataset, train, see what a model predicts and why, find where it fails."
    )
    about = st.empty()
    datasets_table()
    st.header("Runs")
    active = is_active()
    st.fragment(runs_table, run_every=QUICK if active else SLOW)(active)
    # Asking for the device imports torch, which takes seconds: the rest of the page does not wait for it.
    about.caption(f"Device: {device_line()} · Home: {home()}")


# No icon: the browser would fetch it from a host on the internet.
st.set_page_config(page_title="xcwork", layout="wide")
try:
    page()
except XcworkError as problem:
    st.error(str(problem))
