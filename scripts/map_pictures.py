"""Make docs/screenshots/label_map_<labels>.webp: label maps of four sizes, up to a million labels.

    python -m scripts.map_pictures RUN [--data FOLDER FOLDER] [--no-million]

RUN is the folder of a finished run on pyseealso with a map. `--data` names large datasets: their labels are laid out by
label texts and training documents, and coloured by region. The million are synthetic, as in
`benchmarks/label_layout.py`. Large layouts take minutes each. Needs chromium.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from benchmarks.label_layout import make_million
from xcwork.analysis.map_colours import colour_by_region
from xcwork.analysis.map_selection import MapFacts
from xcwork.core.dataset import Dataset
from xcwork.data.load import load_dataset
from xcwork.layout.label_layout import compute_label_layout
from xcwork.layout.label_vectors import LabelVectors
from xcwork.layout.regions import find_regions
from xcwork.runs import Run
from xcwork.runs.run_map import RunMap, read_map
from xcwork.viz.map_assembly import make_map_data, make_usual_layers
from xcwork.viz.map_data import MapData
from xcwork.viz.map_view import LabelMapView

TARGET = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
SIZE = {"width": 1000, "height": 760}
QUALITY = 82
PATIENCE = 300  # seconds


def assemble_run(folder: Path) -> MapData:
    """Return the map of a finished run, coloured by how often labels are found."""
    run = Run(folder)
    dataset = load_dataset(run.config["data"], home=run.home)
    stored = read_map(run)
    if stored is None:
        raise SystemExit(f"{folder} has no map; `xcwork map {run.id}` makes it")
    facts = MapFacts.from_predictions(run.read_topk(), dataset)
    scores = facts.rate_regions(stored.regions, stored.layout)
    return make_map_data(stored, dataset, make_usual_layers(facts, stored)[:1], scores)


def assemble_labels(vectors: LabelVectors, dataset: Dataset) -> MapData:
    """Return the map of labels that no method was trained for, coloured by region."""
    frequencies = dataset.train.label_frequencies
    layout = compute_label_layout(vectors, frequencies)
    made = RunMap(layout, find_regions(layout, dataset))
    return make_map_data(made, dataset, [colour_by_region(made.regions)])


def assemble_maps(run: Path, folders: list[Path], has_million: bool) -> Iterator[MapData]:
    yield assemble_run(run)
    for folder in folders:
        dataset = load_dataset(folder)
        yield assemble_labels(LabelVectors.from_method(None, dataset.labels, dataset.train), dataset)
    if has_million:
        yield assemble_labels(*make_million())


def take_picture(data: MapData, file: Path) -> None:
    """Open the map as a file in chromium and store what is seen."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = LabelMapView(data).write_html(Path(folder) / "map.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--use-gl=swiftshader"])
        page = browser.new_page(viewport=SIZE)
        page.goto(page_file.as_uri())
        page.wait_for_selector(".xc-map[data-ready=true][data-still=true]", timeout=1000 * PATIENCE)
        picture = Image.open(io.BytesIO(page.locator(".xc-map").screenshot()))
        picture.convert("RGB").save(file, "WEBP", quality=QUALITY, method=6)
        browser.close()
    print(f"{file.name}: {data.n_placed:,} labels, {file.stat().st_size / 1000:.0f} kB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", type=Path, nargs="+", default=[])
    parser.add_argument("--no-million", action="store_true")
    arguments = parser.parse_args()
    TARGET.mkdir(parents=True, exist_ok=True)
    for data in assemble_maps(arguments.run, arguments.data, not arguments.no_million):
        take_picture(data, TARGET / f"label_map_{data.n_labels or data.n_placed}.webp")


if __name__ == "__main__":
    main()
