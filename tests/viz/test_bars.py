"""Bars for a handful of numbers."""

from __future__ import annotations

from xcwork.viz import get_alt_text, read_table
from xcwork.viz.bars import draw_grouped_bars


def test_every_series_is_a_trace_with_its_own_hatching() -> None:
    figure = draw_grouped_bars({"P@1": [10.0, 20.0], "P@3": [5.0, 6.0]}, ["a", "b"], title="Two runs", y="percent")
    assert [trace.name for trace in figure.data] == ["P@1", "P@3"]
    assert len({trace.marker.pattern.shape for trace in figure.data}) == 2
    assert read_table(figure)["P@3"].tolist() == [5.0, 6.0]
    assert "a 10.0 and b 20.0" in get_alt_text(figure)


def test_numbers_stand_above_the_bars_where_hatching_does_not_hide_them() -> None:
    figure = draw_grouped_bars({"P@1": [10.0], "P@3": [5.0]}, ["a"], title="One run")
    assert {trace.textposition for trace in figure.data} == {"outside"}
    assert not any(trace.cliponaxis for trace in figure.data)


def test_names_are_escaped() -> None:
    figure = draw_grouped_bars({"<b>x</b>": [1.0]}, ["<i>y</i>"], title="<s>z</s>")
    assert figure.data[0].name == "&lt;b&gt;x&lt;/b&gt;"
    assert figure.data[0].x[0] == "&lt;i&gt;y&lt;/i&gt;"


def test_counts_have_no_decimals() -> None:
    figure = draw_grouped_bars({"labels": [1455, 0]}, ["a", "b"], title="How many")
    assert figure.data[0].text == ("1,455", "0")
