"""Write the generated pages of the documentation site; mkdocs runs it, nothing of it is committed.

A method's page comes from its declaration, the commands from the command line itself, and texts that live elsewhere in
the repository (formats, benchmarks, security, contributing) become pages, so that nothing has to be said twice.
"""

from __future__ import annotations

import html
import inspect
import pkgutil
import posixpath
import re
import textwrap
from pathlib import Path

import mkdocs_gen_files
import typer.main
from click import Command, Parameter

from xcwork.advice.guide import GROUPS, get_note
from xcwork.cli import app
from xcwork.methods.base import Method
from xcwork.methods.presets import list_preset_names
from xcwork.methods.registry import METHODS, find_method_class
from xcwork.options import format_value

ROOT = Path(__file__).resolve().parents[1]
# A text of the repository and its page.
COPIES = {
    "data/README.md": "data.md",
    "benchmarks/README.md": "results/index.md",
    "benchmarks/RESULTS.md": "results/standing.md",
    "notebooks/README.md": "notebooks.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
# Pages without a menu beside them, because their tables are wide or they are alone in their section.
WITHOUT_MENU = ("index.md", "data.md", "papers.md", "results/index.md", "results/standing.md", "results/methods.md")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
# Texts that explain a method where its own module explains several.
MANUALS = {
    "bm25": "xcwork.methods.label_match.model:BM25Model",
    "flat": "xcwork.methods.multihead.flat",
    "mhc": "xcwork.methods.multihead.cascade",
    "mhp": "xcwork.methods.multihead.product",
    "mhs": "xcwork.methods.multihead.flat:SampledHeads",
}
FAMILIES = {"Flat and its relatives": "xcwork.methods.multihead.method"}  # on the page of all methods
ABILITIES = {
    "zero_shot": "finds labels that no training document has",
    "exact_explanations": "gives reasons that add up exactly to the score",
    "aggregated_labels": "learns from labels of groups",
    "gpu": "uses a GPU",
    "resumable": "can be resumed",
    "needs_label_text": "needs label texts",
    "ranks": "can be split over several processes",
}


def write_page(page: str, text: str) -> None:
    with mkdocs_gen_files.open(page, "w") as file:
        file.write(text)


def set_option(page: str, option: str) -> None:
    """Write an option of a page before its text."""
    with mkdocs_gen_files.open(page, "r") as file:
        text = file.read()
    write_page(page, f"---\n{option}\n---\n\n{text}")


def copy_text(source: str, page: str) -> None:
    """Write a text of the repository as a page, with links that lead to other pages or, for other files, to nothing."""
    folder = posixpath.dirname(source)

    def adapt_link(found: re.Match[str]) -> str:
        bang, words, target = found.groups()
        path, _, anchor = target.partition("#")
        if "://" in target or not path:
            return found[0]
        file = posixpath.normpath(posixpath.join(folder, path))
        if file.startswith("docs/") or file in COPIES:
            place = COPIES.get(file, file.removeprefix("docs/"))
            address = posixpath.relpath(place, posixpath.dirname(page) or ".")
            return f"{bang}[{words}]({address}{'#' + anchor if anchor else ''})"
        if bang:
            with mkdocs_gen_files.open(f"assets/{posixpath.basename(file)}", "wb") as picture:
                picture.write((ROOT / file).read_bytes())
            address = posixpath.relpath(f"assets/{posixpath.basename(file)}", posixpath.dirname(page) or ".")
            return f"![{words}]({address})"
        return f"{words} (`{file}`)"

    write_page(page, LINK.sub(adapt_link, (ROOT / source).read_text("utf-8")))


def render_method(name: str, cls: type[Method]) -> str:
    """Return the page of a method: idea, picture, what it can do, presets, parameters, and the text of its module."""
    note = get_note(name)
    boxes = " <i>→</i> ".join(f"<span>{html.escape(words)}</span>" for words in note.flow)
    able = [words for ability, words in ABILITIES.items() if getattr(cls.capabilities, ability, False)]
    blocks = [
        f"# {note.title}",
        f"`{name}` · {note.good_for}",
        " ".join(note.how),
        f'<p class="flow">{boxes}</p>',
        f"```sh\nxcwork train {name} --data pyseealso\n```",
        "## When to use it",
        note.when,
        f"It {_join_words(able)}." if able else "",
        "## How it works",
        _render_manual(MANUALS.get(name) or cls.__module__),
        "## Presets",
        *[_render_preset(cls, preset) for preset in list_preset_names(name)],
        "## Parameters",
        _render_parameters(cls),
    ]
    if cls.paper:
        blocks.append(f"Source: {cls.paper}. [The claims of the papers, measured](../papers.md).")
    return "\n\n".join(block for block in blocks if block) + "\n"


def _join_words(words: list[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _render_manual(place: str) -> str:
    """Return the docstring of a module or class, which is Markdown but for its title line."""
    text = inspect.getdoc(pkgutil.resolve_name(place)) or ""
    title, _, rest = text.partition("\n\n")
    return f"*{' '.join(title.split())}*\n\n{_mark_blocks(rest)}"


def _mark_blocks(text: str) -> str:
    """Set formulas, which are indented, in blocks of their own, and lists apart from the line above."""
    text = re.sub(r"(?m)^((?: {4,}.*\n?)+)", lambda block: f"```text\n{textwrap.dedent(block[1])}```\n", text)
    return re.sub(r"(?m)^(?!- |  )(.+)\n(?=- )", r"\1\n\n", text)


def _render_preset(cls: type[Method], name: str) -> str:
    preset = cls.find_preset(name)
    titles = {"default": "Default", "quick": "Quick look", "paper": "As in the paper"}
    changes = ", ".join(f"`{key}={format_value(value)}`" for key, value in preset.params.items())
    return f"**{titles.get(name, name)}** (`--preset {name}`): {changes or 'the defaults below'}. {preset.note}".strip()


def _render_parameters(cls: type[Method]) -> str:
    rows = ["| parameter | default | allowed | meaning |", "| --- | --- | --- | --- |"]
    for each in sorted(cls.parameters().values(), key=lambda parameter: parameter.advanced):
        cells = (f"`{each.name}`", f"`{format_value(each.default)}`", each.allowed, each.help)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def render_methods_index() -> str:
    """Return the list of all methods by group."""
    parts = [
        "# Methods",
        "All methods report progress, can be cancelled, give the same result for the same seed, are saved without "
        "pickle and explain every score. `xcwork recommend DATA` suggests three for a dataset.",
    ]
    for group in GROUPS:
        rows = ["| method | good for | idea |", "| --- | --- | --- |"]
        for name in group.methods:
            note = get_note(name)
            idea = (inspect.getdoc(find_method_class(name)) or "").split("\n")[0]
            rows.append(f"| [{note.title}]({name}.md) | {note.good_for} | {idea.rstrip('.')} |")
        parts += [f"## {group.title}", "\n".join(rows)]
    for title, place in FAMILIES.items():
        parts += [f"## {title}", _render_manual(place)]
    return "\n\n".join(parts) + "\n"


def render_commands() -> str:
    """Return every verb of the command line with its arguments and options."""
    commands: dict[str, Command] = typer.main.get_command(app).commands
    parts = [
        "# Command line",
        "`DATA` is a built-in name or a path, `RUN` the id that `train` prints, or `last`. Every command takes "
        "`--json` (one JSON document on standard output, progress on standard error) and `--home FOLDER` (where "
        "`data/` and `runs/` live; default: the current folder). A wrong argument, or bad data, ends with exit code 2.",
    ]
    for name, command in sorted(commands.items()):
        if not command.hidden:
            parts.append(_render_command(name, command))
    return "\n\n".join(parts) + "\n"


def _render_command(name: str, command: Command) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    words = " ".join(_name_argument(each) for each in arguments)
    text = inspect.cleandoc(command.help or "").replace("\b", "").replace("\n\n\n", "\n\n")
    rows = [f"| `{_name_argument(each)}` | {_describe(each)} |" for each in arguments if _describe(each)]
    rows += [f"| {', '.join(f'`{way}`' for way in each.opts)} | {_describe(each)} |" for each in options]
    table = "\n".join(["| | |", "| --- | --- |", *rows])
    return f"## {name}\n\n```sh\nxcwork {name} {words}\n```\n\n{html.escape(text, quote=False)}\n\n{table}"


def _name_argument(argument: Parameter) -> str:
    return (argument.metavar or argument.name or "").upper()


def _describe(parameter: Parameter) -> str:
    text = " ".join((getattr(parameter, "help", "") or "").split())
    return html.escape(re.sub(r"\[/?\w+\]", "", text), quote=False).replace("|", "\\|")


for source_, page_ in COPIES.items():
    copy_text(source_, page_)
for method_ in METHODS:
    write_page(f"methods/{method_}.md", render_method(method_, find_method_class(method_)))
write_page("methods/index.md", render_methods_index())
write_page("commands.md", render_commands())
for page_ in WITHOUT_MENU:
    set_option(page_, "hide: [navigation]")
for file_ in (ROOT / "docs" / "dashboard").glob("*.md"):
    set_option(f"dashboard/{file_.name}", "hide: [toc]")  # one picture and a few sentences need no table of contents
set_option("changelog.md", "search: { exclude: true }")  # it would come first for every word
with mkdocs_gen_files.open("assets/mark.svg", "wb") as mark:
    mark.write((ROOT / "app" / "static" / "mark.svg").read_bytes())
