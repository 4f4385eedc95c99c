"""The command line: everything the dashboard can do, for shells and scripts.

One small module for each group of verbs. They import the engine inside their functions, so `xcwork --help` costs a
fraction of a second. The rules are the same for every verb:

* `--json` prints exactly one JSON document on standard output; progress and notes always go to standard error.
* An error is one sentence on standard error and exit code 2; with `--json` the document is `{"error": sentence}`.
* Ctrl-C ends with exit code 130.
"""

from __future__ import annotations

from typing import Annotated

import typer

from xcwork import __version__
from xcwork.cli import (
    bench,
    compare,
    compilation,
    dashboard,
    data,
    decide,
    export,
    label_map,
    manage,
    methods,
    papers,
    predict,
    recommend,
    review,
    train,
)
from xcwork.cli.arguments import Home
from xcwork.cli.errors import Commands

app = typer.Typer(
    name="xcwork",
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
    help="A workbench for extreme multi-label classification: load, train, explain, compare.",
    epilog="DATA is a built-in name (pyseealso, synthetic) or a path. RUN is the id that `train` prints, or `last`.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"xcwork {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    home: Home = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for panel, verbs in {
    "Data": (data.datasets, data.describe, export.export),
    "Training": (methods.methods, recommend.recommend, train.train, train.resume, train.cancel, train.runs),
    "Results": (
        compare.evaluate,
        predict.predict,
        predict.explain,
        decide.decide,
        decide.calibrate,
        compare.compare,
        compare.report,
        review.review,
    ),
    "Papers": (papers.papers, papers.study),
    "Workbench": (manage.delete, manage.rename, dashboard.app),
}.items():
    for verb in verbs:
        app.command(verb.__name__, rich_help_panel=panel)(verb)
app.command("compile", rich_help_panel="Workbench")(compilation.compile_kernels)
app.command("map", rich_help_panel="Results")(label_map.map_labels)
app.command(
    "bench",
    rich_help_panel="Workbench",
    hidden=not bench.find_benchmarks(),
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)(bench.bench)
app.command("demo-runs", hidden=True)(dashboard.demo_runs)


def main() -> None:
    """Run the `xcwork` command."""
    app(prog_name="xcwork")
