"""How often labels occur: the rank-frequency curve of a dataset with its bands of head, torso and tail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from xcwork.export.palette import LIGHT, Palette
from xcwork.viz import apply_style, clean_caption, pick_colour

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from xcwork.data.card import Card

BAND_WORDS = {"head": "frequent", "torso": "medium", "tail": "rare"}
BAND_OPACITY = 0.14
SHARE_PER_CHARACTER = 0.028  # of the width that a name of a band takes, in a narrow chart


def draw_label_frequencies(card: Card, *, bands: str = "count", palette: Palette | None = None) -> go.Figure:
    """Draw training documents of each label against its rank, both on a logarithmic scale, with the bands shaded.

    `bands` is one of the definitions of the card: "count" or "share". Without a palette the curve has a colour that
    reads on light and on dark pages.
    """
    import pandas as pd
    import plotly.graph_objects as go

    points, shades = card.frequency_curve, (palette or LIGHT).bands
    figure = go.Figure()
    figure.add_scatter(
        x=[point["rank"] for point in points],
        y=[point["frequency"] for point in points],
        mode="lines",
        line={"color": pick_colour(0) if palette is None else palette.bands[0], "width": 3, "shape": "hv"},
        showlegend=False,
        hovertemplate="label %{x:,}: %{y:,} training documents<extra></extra>",
    )
    first, above_until, width = 1, 0.0, math.log10(1 + sum(counts["labels"] for counts in card.bands[bands].values()))
    for (band, counts), shade in zip(card.bands[bands].items(), shades, strict=False):
        if counts["labels"]:
            last = first + counts["labels"]
            figure.add_vrect(x0=first, x1=last, fillcolor=shade, opacity=BAND_OPACITY, line_width=0, layer="below")
            text = clean_caption(f"{BAND_WORDS.get(band, band)} · {counts['labels']:,}")
            # The place of an annotation on a logarithmic axis is the logarithm, unlike that of a shape.
            room = width * SHARE_PER_CHARACTER * len(text)
            begin = min(math.log10(first), width - room)
            is_above = begin >= above_until  # else below the upper edge, where the curve has fallen
            figure.add_annotation(
                x=width if begin < math.log10(first) else begin,
                y=1,
                yref="paper",
                xanchor="right" if begin < math.log10(first) else "left",
                yanchor="bottom" if is_above else "top",
                showarrow=False,
                text=text,
            )
            above_until = begin + room if is_above else above_until
            first = last
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=1)
    return apply_style(
        figure,
        title="How often labels occur",
        x="labels by frequency",
        y="training documents",
        alt=describe_frequencies(card),
        table=pd.DataFrame(points, columns=["rank", "frequency"]),
    )


def draw_labels_per_document(counts: Mapping[str, int], *, palette: Palette = LIGHT) -> go.Figure:
    """Draw how many documents have one label, two labels, …; `counts` as `xcwork.data.profile` counts them."""
    import pandas as pd
    import plotly.graph_objects as go

    names = list(counts)
    figure = go.Figure()
    figure.add_bar(
        x=names,
        y=list(counts.values()),
        marker_color=palette.bands[1],
        hovertemplate="%{y:,} documents with %{x} labels<extra></extra>",
    )
    figure.update_xaxes(type="category", tickangle=0)
    most = max(counts, key=lambda name: counts[name], default="")
    sentence = f"Most documents, {counts[most]:,}, have {most} label{'' if most == '1' else 's'}." if most else "None."
    return apply_style(
        figure,
        title="Labels per document",
        x="labels",
        y="documents",
        alt=sentence,
        table=pd.DataFrame({"labels": names, "documents": list(counts.values())}),
    )


def describe_frequencies(card: Card) -> str:
    """Return the curve as a sentence."""
    if not card.frequency_curve:
        return "No label occurs in training."
    most, of_label = card.frequency_curve[0]["frequency"], card.train_documents_per_label
    sentence = (
        f"The most frequent label has {most:,} training documents; half of the {card.n_seen_labels:,} seen labels "
        f"have at most {of_label['median']:,.0f}."
    )
    unseen = card.n_unseen_labels
    return sentence + (f" {unseen:,} label{'s have' if unseen != 1 else ' has'} none." if unseen else "")
