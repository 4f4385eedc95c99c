"""`xcwork export`: a dataset in a format that other tools read, or with the labels that people corrected."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xcwork.cli.arguments import Data, DataOptions, Home, Json
from xcwork.cli.loading import read_data
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError, DataError
from xcwork.options import parse_data_options

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset


class Format(StrEnum):
    """Formats that peer tools read, and our own."""

    xc = "xc"
    splits = "splits"
    stored = "stored"
    annif = "annif"


def export(
    data: Data,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the files.")],
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="xc: text files of the Extreme Classification Repository; splits: trn_X_Xf.txt and its companions; "
            "annif: a corpus of texts and its vocabulary; stored: xcwork's own. (Default: xc.)",
        ),
    ] = None,
    with_reviews: Annotated[
        bool, typer.Option("--with-reviews", help="Labels as corrected in reviews; implies `stored`.")
    ] = False,
    language: Annotated[
        str, typer.Option("--language", help="Language of the names in the vocabulary (annif).")
    ] = "en",
    option: DataOptions = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Write a dataset in a format that other tools read."""
    from xcwork.data.annif_writer import write_annif
    from xcwork.data.writers import write_splits, write_stored, write_xc
    from xcwork.export.terminal import ProgressBar
    from xcwork.progress import listen

    if with_reviews and form not in (None, Format.stored):
        raise ConfigError("--with-reviews writes the format stored; export that folder again for other formats")
    dataset = read_data(data, parse_data_options(option))
    if with_reviews:
        _write_corrected(dataset, folder, as_json)
        return
    form = form or Format.xc
    with ProgressBar() as bar, listen([bar]):
        if form is Format.annif:
            write_annif(dataset, folder, language=language)
        else:
            {Format.xc: write_xc, Format.splits: write_splits, Format.stored: write_stored}[form](dataset, folder)
    files = sorted(path.name for path in folder.iterdir())
    print_result(
        as_json,
        {"data": dataset.name, "format": form.value, "folder": str(folder.resolve()), "files": files},
        f"{dataset.name} in {folder}: {', '.join(files)}",
    )


def _write_corrected(dataset: Dataset, folder: Path, as_json: bool) -> None:
    """Write the dataset with the labels that its reviews come to."""
    from dataclasses import asdict

    from xcwork.paths import find_home
    from xcwork.review.correction import write_corrected_dataset
    from xcwork.review.documents import DatasetKeys
    from xcwork.review.verdicts import load_verdicts

    verdicts = load_verdicts(find_home(), DatasetKeys(dataset))
    if not verdicts.answers:
        raise DataError(f"there are no answers about {dataset.name}", remedy="give some with `xcwork review RUN`")
    counts = write_corrected_dataset(dataset, verdicts, folder)
    print_result(
        as_json,
        {"data": dataset.name, "format": Format.stored.value, "folder": str(folder.resolve())}
        | {"files": sorted(path.name for path in folder.iterdir())}
        | {"corrections": asdict(counts), "problems": list(verdicts.problems)},
        f"{dataset.name} in {folder}: {counts.added:,} labels added, {counts.removed:,} removed, "
        f"{counts.confirmed:,} confirmed, {counts.disputed:,} disputed and left as they were",
        *(f"Left out: {problem}" for problem in verdicts.problems),
    )
