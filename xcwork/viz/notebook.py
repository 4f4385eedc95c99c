"""What the guided notebooks share: figures that read well on light and dark pages, and questions that check themselves.

>>> from xcwork.viz import notebook
>>> notebook.use_figure_style()  # once, at the top
>>> notebook.check(answer, 3.0, why="every document counts once")  # below a question; `answer = ...` is a blank
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import Any

from xcwork.viz import COLOURS

TEXT_COLOUR = "#767676"  # a contrast of 4.5 to white and of 4.6 to black
GRID_COLOUR = "rgba(127, 127, 127, 0.25)"
CLEAR_COLOUR = "rgba(0, 0, 0, 0)"
RENDERER_NAME = "xcwork"
RELATIVE_TOLERANCE = 0.01


def use_figure_style() -> None:
    """Show every Plotly figure of this notebook on a clear background, with text that reads on white and on black."""
    import plotly.io as pio
    from plotly.io.base_renderers import PlotlyRenderer

    class NotebookRenderer(PlotlyRenderer):
        """Plotly's own way of showing a figure in a notebook, after `adapt_to_any_page`."""

        def to_mimebundle(self, fig_dict: dict[str, Any]) -> dict[str, Any]:
            words = _describe_figure(fig_dict)
            return super().to_mimebundle(adapt_to_any_page(fig_dict)) | {"text/plain": words}

    pio.renderers[RENDERER_NAME] = NotebookRenderer(config={"displaylogo": False})
    pio.renderers.default = RENDERER_NAME


def adapt_to_any_page(figure: dict[str, Any]) -> dict[str, Any]:
    """Return the figure with colours for light and dark pages, without its table, which would double its size."""
    axis = {
        "gridcolor": GRID_COLOUR,
        "linecolor": TEXT_COLOUR,
        "zerolinecolor": GRID_COLOUR,
        "tickcolor": GRID_COLOUR,
        "automargin": True,
        "title": {"standoff": 12},
    }
    template = {
        "paper_bgcolor": CLEAR_COLOUR,
        "plot_bgcolor": CLEAR_COLOUR,
        "font": {"color": TEXT_COLOUR, "size": 14},
        "colorway": list(COLOURS),
        "xaxis": axis,
        "yaxis": axis,
        "title": {"x": 0, "xanchor": "left"},
        "coloraxis": {"colorbar": {"outlinewidth": 0}},
        "hoverlabel": {"align": "left"},
        "legend": {"orientation": "h"},
        "scene": {f"{name}axis": {**axis, "backgroundcolor": CLEAR_COLOUR} for name in "xyz"},
    }
    layout = dict(figure.get("layout", {}))
    meta = {key: value for key, value in (layout.pop("meta", None) or {}).items() if key != "table"}
    return {**figure, "layout": {**layout, "template": {"layout": template}} | ({"meta": meta} if meta else {})}


def _describe_figure(figure: dict[str, Any]) -> str:
    layout = figure.get("layout", {})
    title = (layout.get("title") or {}).get("text", "")
    return (layout.get("meta") or {}).get("alt") or f"A figure: {title}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """What became of an answer; a notebook shows it in colour and in words."""

    is_right: bool | None  # None: not answered yet
    right: str
    why: str

    def __repr__(self) -> str:
        if self.is_right is None:
            return "Not answered yet: replace the dots above and run both cells again."
        return f"Right. {self.why}" if self.is_right else "Not yet. Try again, or unfold the answer."

    def _repr_html_(self) -> str:
        colour = {None: COLOURS[6], True: COLOURS[2], False: COLOURS[1]}[self.is_right]
        shown = f'<p style="border-left: .3em solid {colour}; padding-left: .6em">{escape(repr(self))}</p>'
        if self.is_right:
            return shown
        folded = f"{escape(self.right)}. {escape(self.why)}"
        return f"{shown}<details><summary>Show the answer</summary><p>{folded}</p></details>"


def check(answer: Any, right: Any, *, why: str = "", tolerance: float = RELATIVE_TOLERANCE) -> Verdict:
    """Compare an answer with the right one: numbers within a relative `tolerance`, words in any case, lists as sets.

    `...` is an unanswered question: the right answer stays folded away.
    """
    if answer is ...:
        return Verdict(None, _format_answer(right), why)
    return Verdict(_agree(answer, right, tolerance), _format_answer(right), why)


def _agree(answer: Any, right: Any, tolerance: float) -> bool:
    if isinstance(right, str):
        return isinstance(answer, str) and answer.strip().casefold() == right.strip().casefold()
    if isinstance(right, Real):
        return isinstance(answer, Real) and math.isclose(float(answer), float(right), rel_tol=tolerance, abs_tol=1e-9)
    if isinstance(right, Iterable):
        return isinstance(answer, Iterable) and set(answer) == set(right)
    return bool(answer == right)


def _format_answer(right: Any) -> str:
    if isinstance(right, str | bool | int):
        return str(right)
    if isinstance(right, Real):
        return f"{float(right):.4g}"
    return ", ".join(str(each) for each in right) if isinstance(right, Iterable) else str(right)
