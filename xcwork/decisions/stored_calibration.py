"""The `calibration/` folder of a stored model: read without the model, replaced without touching it."""

from __future__ import annotations

from pathlib import Path

from xcwork.decisions.calibration import Calibration
from xcwork.errors import DataError, XcworkError
from xcwork.storage.state import read_state, write_state

FOLDER = "calibration"


def write_calibration(model_folder: str | Path, calibration: Calibration) -> None:
    """Store the calibration of the model in `model_folder`, replacing an earlier one in one step."""
    write_state(Path(model_folder) / FOLDER, {"calibration": calibration})


def read_calibration(model_folder: str | Path) -> Calibration | None:
    """Return the calibration stored with the model in `model_folder`; None if there is none."""
    folder = Path(model_folder) / FOLDER
    if not folder.is_dir():
        return None
    remedy = "run `xcwork calibrate RUN DATA` again"
    try:
        found = read_state(folder).get("calibration")
    except XcworkError as damage:
        raise DataError(f"the calibration cannot be read ({damage})", file=folder, remedy=remedy) from None
    if not isinstance(found, Calibration):
        raise DataError("this folder does not hold a calibration", file=folder, remedy=remedy)
    return found
