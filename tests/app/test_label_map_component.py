"""What the label map tells the page is checked before it is used."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app.components.label_map import MAX_POLYGON_POINTS, MapEvent

from tests.support.paths import ROOT
from xcwork.errors import DataError

CORNERS = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]


def test_events_are_read() -> None:
    assert MapEvent.from_json({"kind": "label", "label": 7}) == MapEvent("label", label=7)
    assert MapEvent.from_json({"kind": "region", "region": 0}) == MapEvent("region", region=0)
    assert MapEvent.from_json({"kind": "clear"}) == MapEvent("clear")
    lasso = MapEvent.from_json({"kind": "lasso", "polygon": CORNERS, "n_labels": 12})
    assert lasso == MapEvent("lasso", polygon=((0, 0), (1, 0), (1, 1)), n_labels=12)


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"kind": "delete"},
        {"kind": "label", "label": "seven"},
        {"kind": "lasso", "polygon": [[1, 2, 3]]},
        {"kind": "lasso", "polygon": [["a", "b"]]},
        {"kind": "lasso", "polygon": [[0, 0]] * (MAX_POLYGON_POINTS + 1)},
    ],
)
def test_what_is_no_event_is_an_error(sent: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="the map sent"):
        MapEvent.from_json(sent)


def test_a_page_shows_the_map_and_goes_on() -> None:
    page = AppTest.from_file(str(ROOT / "tests" / "support" / "map_demo.py"), default_timeout=300).run()
    assert not page.exception
    assert [line.value for line in page.text] == ["run 1"]
    page.toggle[0].set_value(True).run()
    assert not page.exception
    assert [line.value for line in page.text] == ["run 2"]
