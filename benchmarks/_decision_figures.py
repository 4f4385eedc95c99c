"""The cells of `benchmarks/results/decisions.json` in words: one line per dataset and method, and what falls short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

GOAL_METHODS = ("zestxml", "siamesexml", "label_tree", "one_vs_all", "flat", "mhc")
GOAL_DATA = {
    "pyseealso": "`pyseealso`",
    "eurlex57k": "EURLEX57K",
    "tibkat-gnd": "tibkat-gnd",
    "windows-seealso": "windows-seealso",
    "stackexchange-cooking": "stackexchange-cooking",
}
ASKED_PERCENT = (80, 90, 95)
MAX_MISS_POINTS = 1.5
MAX_ECE_POINTS = 2.0
N_SEEDS = 3
Cells = Sequence[Mapping[str, Any]]


def list_rows(cells: Cells) -> list[dict[str, Any]]:
    """Return one row per dataset and method: errors before and after, asked against achieved precision, and costs."""
    rows = []
    for (data, method), found in sorted(_group(cells).items()):
        before = min(("logistic", "softmax"), key=lambda name: mean([cell["ece"][name]["5"] for cell in found]))
        row = {"dataset": GOAL_DATA.get(data, data), "method": f"`{method}`", "seeds": len(found)}
        row["held out"] = round(mean([cell["held out"] for cell in found]))
        row["ECE@5 before"] = f"{mean([cell['ece'][before]['5'] for cell in found]):.1f}"
        row["ECE@5 after"] = _spread([cell["ece"]["after"]["5"] for cell in found], 2)
        if any("by chance" in cell["ece"] for cell in cells):  # older cells do not say it
            row["by chance"] = _average([cell["ece"]["by chance"]["5"] for cell in found if "by chance" in cell["ece"]])
        row["Brier before"] = f"{mean([cell['brier'][before]['all'] for cell in found]):.1f}"
        row["Brier after"] = _spread([cell["brier"]["after"]["all"] for cell in found])
        for percent in ASKED_PERCENT:
            row[f"{percent} % asked"] = describe_precision([cell["asked"][f"{percent} by one"] for cell in found])
        row["training +%"] = f"{mean([cell['training cost %'] for cell in found]):.0f}"
        row["training +s"] = f"{mean([_add_seconds(cell) for cell in found]):.0f}"
        row["prediction +%"] = f"{mean([cell['prediction cost %'] for cell in found]):.1f}"
        rows.append(row)
    return rows


def describe_precision(found: Sequence[Mapping[str, Any]]) -> str:
    """Return achieved precision, share of documents that get a label, and how often the precision was promised."""
    reached = [one for one in found if one["achieved"] is not None]
    if not reached:
        return "not reached"
    text = f"{_spread([one['achieved'] for one in reached])} ({mean([one['automation'] for one in reached]):.0f} %)"
    text += f", {len(reached)} of {len(found)} seeds" if len(reached) < len(found) else ""
    n_promised = sum(one["promised"] for one in found)
    return text + (f", promised {n_promised} of {len(found)}" if n_promised else "")


def describe_shortfalls(cells: Cells) -> str:
    """Return what was promised and kept, what falls short, what it costs and what was not measured, as sentences."""
    parts = (_describe_promises(cells), _describe_errors(cells), _describe_costs(cells), _describe_gaps(cells))
    return "\n".join(f"- {part}" for part in parts)


def _describe_promises(cells: Cells) -> str:
    asked = [
        {"where": f"{_name(cell)} at {percent} %", "percent": percent} | cell["asked"][f"{percent} by one"]
        for cell in cells
        for percent in ASKED_PERCENT
    ]
    found = [one for one in asked if one["achieved"] is not None]
    promised = [one for one in found if one["promised"]]
    others = [one for one in found if not one["promised"]]
    missed = [f"{one['where']} ({one['achieved']:.1f})" for one in promised if not _is_close(one)]
    foreseen = sum(one["foreseen"][0] <= one["achieved"] <= one["foreseen"][1] for one in found)
    return (
        f"**Precision.** {len(asked)} were asked for in {len(cells)} cells. **Promised: {len(promised)}**, of which "
        f"{sum(map(_is_close, promised))} are within {MAX_MISS_POINTS} points on the test split"
        f"{_list_in_brackets('not: ', missed)}. Not promised, which the output says: {len(asked) - len(promised)}. Of "
        f"these, {len(asked) - len(found)} were not reached on held-out documents, so nothing is assigned; of the "
        f"other {len(others)}, {sum(map(_is_close, others))} are within {MAX_MISS_POINTS} points, and in "
        f"{sum(_is_open(one) for one in others)} the test split is too small to tell (its own 95 % interval contains "
        f"the asked precision). The interval that was foreseen contains the achieved precision in {foreseen} of "
        f"{len(found)}."
    )


def _describe_errors(cells: Cells) -> str:
    above = [
        f"{_name(cell)} {cell['ece']['after']['5']:.2f}" + _add_chance(cell["ece"])
        for cell in cells
        if cell["ece"]["after"]["5"] > MAX_ECE_POINTS
    ]
    return (
        f"**Calibration error.** ECE@5 is at most {MAX_ECE_POINTS:g} in {len(cells) - len(above)} of {len(cells)} cells"
        f"{_list_in_brackets('above: ', above)}."
    )


def _describe_costs(cells: Cells) -> str:
    texts = []
    for way, words in (("held_out", "the model itself scores held-out documents"), ("refit", "it is refitted")):
        of_way = [cell for cell in cells if cell["way"] == way]
        if of_way:
            shares = [cell["training cost %"] for cell in of_way]
            seconds = [_add_seconds(cell) for cell in of_way]
            texts.append(
                f"where {words}, calibrating adds {min(shares):.0f} to {max(shares):.0f} % to training "
                f"({min(seconds):.0f} to {max(seconds):.0f} processor seconds)"
            )
    highest = max(cell["prediction cost %"] for cell in cells)
    return f"**Cost.** {'; '.join(texts).capitalize()}. Probabilities add at most {highest:.1f} % to prediction."


def _describe_gaps(cells: Cells) -> str:
    seeds = {key: len(found) for key, found in _group(cells).items()}
    gaps = []
    for data, name in GOAL_DATA.items():
        missing = [f"`{method}`" for method in GOAL_METHODS if (data, method) not in seeds]
        if missing:
            gaps.append(f"{name}: {', '.join(missing)}")
    once = sum(number < N_SEEDS for number in seeds.values())
    said = f"**Not measured.** {'; '.join(gaps)}." if gaps else "**Measured** is every dataset and method of the goal."
    return f"{said} {once} of {len(seeds)} lines rest on fewer than {N_SEEDS} seeds."


def _group(cells: Cells) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for cell in cells:
        found.setdefault((cell["data"], cell["method"]), []).append(cell)
    return found


def _name(cell: Mapping[str, Any]) -> str:
    return f"{GOAL_DATA.get(cell['data'], cell['data'])} `{cell['method']}` seed {cell['seed']}"


def _is_close(one: Mapping[str, Any]) -> bool:
    return abs(one["achieved"] - one["percent"]) <= MAX_MISS_POINTS


def _is_open(one: Mapping[str, Any]) -> bool:
    return not _is_close(one) and one["low"] <= one["percent"] <= one["high"]


def _add_seconds(cell: Mapping[str, Any]) -> float:
    return float(cell["score CPU s"] + cell["fit CPU s"])


def _add_chance(errors: Mapping[str, Any]) -> str:
    return f", of which {errors['by chance']['5']:.2f} by chance" if "by chance" in errors else ""


def _average(values: Sequence[float]) -> str:
    return f"{mean(values):.2f}" if values else "–"


def _list_in_brackets(what: str, entries: Iterable[str]) -> str:
    listed = ", ".join(entries)
    return f" ({what}{listed})" if listed else ""


def _spread(values: Sequence[float], digits: int = 1) -> str:
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")
