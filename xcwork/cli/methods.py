"""`xcwork methods`: which methods there are, what each can do and which parameters it takes."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import Json
from xcwork.cli.output import print_result
from xcwork.options import format_value

if TYPE_CHECKING:
    from xcwork.methods.base import Method, Parameter

_SHORT = {
    "zero_shot": "zero-shot",
    "exact_explanations": "exact explanations",
    "aggregated_labels": "aggregated labels",
    "gpu": "GPU",
    "resumable": "resumable",
    "needs_label_text": "needs label text",
    "ranks": "several processes",
}


def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show this method's parameters.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods, or show one with its parameters."""
    from xcwork.export.terminal import render_table
    from xcwork.methods.registry import METHODS, method_class, usable_methods

    if name is not None:
        _show_one(name, method_class(name), as_json)
        return
    cards = {name: _card(name, method_class(name)) for name in usable_methods()}
    rows = [(name, card["title"], _abilities(card)) for name, card in cards.items()]
    missing = ", ".join(name for name in METHODS if name not in cards)
    print_result(
        as_json,
        {"methods": list(cards.values())},
        render_table(("method", "what it is", "abilities"), rows),
        "\nxcwork methods NAME shows the parameters of one.",
        *([f"{missing} need torch, which is not installed; pip install 'xcwork[neural]'"] if missing else []),
    )


def _show_one(name: str, cls: type[Method], as_json: bool) -> None:
    from xcwork.export.terminal import render_table

    card = _card(name, cls)
    card["parameters"] = [_parameter(declared) for declared in cls.parameters().values()]
    rows = [(p["name"], format_value(p["default"]), _describe_allowed(p), p["help"]) for p in card["parameters"]]
    print_result(
        as_json,
        card,
        f"{name}: {card['title']}",
        *[line for line in card["description"].splitlines() if line.strip()],
        f"abilities: {_abilities(card) or 'none beyond ranking labels seen in training'}",
        render_table(("parameter", "default", "allowed", "meaning"), rows),
        f"\nxcwork train {name} --data DATA --set NAME=VALUE",
    )


def _card(name: str, cls: type[Method]) -> dict[str, Any]:
    description = inspect.getdoc(cls) or ""
    return {
        "name": name,
        "title": cls.title or description.split("\n")[0],
        "description": description,
        "paper": cls.paper,
        "capabilities": asdict(cls.capabilities),
    }


def _abilities(card: dict[str, Any]) -> str:
    return ", ".join(_SHORT[name] for name, able in card["capabilities"].items() if able)


def _parameter(declared: Parameter) -> dict[str, Any]:
    fields = ("name", "optional", "default", "help", "low", "high", "choices", "advanced")
    return {field: getattr(declared, field) for field in fields} | {"type": declared.type.__name__}


def _describe_allowed(parameter: dict[str, Any]) -> str:
    if parameter["choices"] is not None:
        return ", ".join(map(str, parameter["choices"]))
    low, high = parameter["low"], parameter["high"]
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else parameter["type"]
