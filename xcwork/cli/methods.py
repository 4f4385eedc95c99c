"""`xcwork methods`: which methods there are, what each can do and which parameters it takes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xcwork.cli.arguments import Json
from xcwork.cli.output import print_result
from xcwork.options import format_value

if TYPE_CHECKING:
    from xcwork.methods.base import Method, Parameter

ABILITY_NAMES = {
    "zero_shot": "zero-shot",
    "exact_explanations": "exact explanations",
    "aggregated_labels": "aggregated labels",
    "gpu": "GPU",
    "resumable": "resumable",
    "needs_label_text": "needs label text",
    "reads_text": "reads the text itself",
    "ranks": "several processes",
}


def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Show this method's parameters.")] = None,
    as_json: Json = False,
) -> None:
    """List the methods, or show one with its parameters."""
    from xcwork.export.terminal import render_table
    from xcwork.methods.registry import METHODS, find_method_class, list_usable_methods

    if name is not None:
        _show_one(name, find_method_class(name), as_json)
        return
    cards = {name: _make_card(name, find_method_class(name)) for name in list_usable_methods()}
    rows = [(name, card["title"], _list_abilities(card)) for name, card in cards.items()]
    missing = [name for name in METHODS if name not in cards]
    print_result(
        as_json,
        {"methods": list(cards.values())},
        render_table(("method", "what it is", "abilities"), rows),
        "\nxcwork methods NAME shows the parameters of one.",
        *list(_name_missing(missing)),
    )


def _name_missing(methods: list[str]) -> Iterator[str]:
    """Yield which extra the methods need whose packages are not installed."""
    from xcwork.methods.names import ENCODER_METHODS, TORCH_METHODS

    for names, package, extra in (
        (TORCH_METHODS, "torch", "neural"),
        (ENCODER_METHODS, "sentence-transformers", "encoders"),
    ):
        if missing := [name for name in methods if name in names]:
            verb = "needs" if len(missing) == 1 else "need"
            yield f"{', '.join(missing)} {verb} {package}, which is not installed; pip install 'xcwork[{extra}]'"


def _show_one(name: str, cls: type[Method], as_json: bool) -> None:
    from xcwork.export.terminal import render_table
    from xcwork.methods.presets import list_preset_names

    card = _make_card(name, cls)
    card["presets"] = [_make_preset_record(preset, cls) for preset in list_preset_names(name)]
    card["parameters"] = [_make_parameter_record(declared) for declared in cls.parameters().values()]
    rows = [(p.name, format_value(p.default), p.allowed, p.help) for p in cls.parameters().values()]
    print_result(
        as_json,
        card,
        f"{name}: {card['title']}",
        *[line for line in card["description"].splitlines() if line.strip()],
        f"abilities: {_list_abilities(card) or 'none beyond ranking labels seen in training'}",
        render_table(("parameter", "default", "allowed", "meaning"), rows),
        *[f"preset {p['name']}: {_describe_preset(p)}" for p in card["presets"][1:]],
        f"\nxcwork train {name} --data DATA --preset NAME --set NAME=VALUE",
    )


def _make_card(name: str, cls: type[Method]) -> dict[str, Any]:
    description = inspect.getdoc(cls) or ""
    return {
        "name": name,
        "title": cls.title or description.split("\n")[0],
        "description": description,
        "paper": cls.paper,
        "capabilities": asdict(cls.capabilities),
    }


def _list_abilities(card: dict[str, Any]) -> str:
    return ", ".join(ABILITY_NAMES[name] for name in ABILITY_NAMES if card["capabilities"][name])


def _make_parameter_record(declared: Parameter) -> dict[str, Any]:
    fields = ("name", "optional", "default", "help", "low", "high", "advanced")
    choices = None if declared.choices is None else list(declared.choices)
    return {field: getattr(declared, field) for field in fields} | {"choices": choices, "type": declared.type.__name__}


def _make_preset_record(name: str, cls: type[Method]) -> dict[str, Any]:
    preset = cls.find_preset(name)
    return {"name": name, "params": dict(preset.params), "ours_adds": preset.ours_adds, "not_yet": preset.not_yet}


def _describe_preset(preset: dict[str, Any]) -> str:
    changes = ", ".join(f"{name}={format_value(value)}" for name, value in preset["params"].items())
    notes = (("ours adds", preset["ours_adds"]), ("not yet", preset["not_yet"]))
    return ". ".join([changes, *(f"{title}: {text}" for title, text in notes if text)])
