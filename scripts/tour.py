"""Make docs/screenshots/tour.gif: a file is added, a method trained, labels predicted, and one of them explained.

    python -m scripts.tour [--home HOME] [--out FILE]

The dashboard runs over a home folder of its own. Steps find what they click by keys and roles, so that they survive
other words; a ring shows where was clicked. Needs chromium.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from PIL import Image, ImageDraw

from scripts.screenshots import PATIENCE, SETTLED
from tests.support.server import serving
from xcwork.data.load import load_dataset
from xcwork.runs import Run, RunStore, jobs

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TARGET = Path(__file__).resolve().parents[1] / "docs" / "screenshots" / "tour.gif"
SIZE = {"width": 1280, "height": 720}
WIDTH_PIXELS = 960
N_COLOURS = 96
MAX_MEGABYTES = 3.0
N_DOCUMENTS = 1500
FILE_NAME = "my-documents.csv"
LOOK_MILLISECONDS = 2000
CLICK_MILLISECONDS = 900
RING_PIXELS = 18


class Film:
    """Pictures of a page one after the other."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Image.Image] = []
        self.milliseconds: list[int] = []

    def look(self, milliseconds: int = LOOK_MILLISECONDS) -> None:
        """Take a picture of the page as soon as it is still."""
        for _ in range(2):
            self.page.wait_for_timeout(700)
            self.page.wait_for_function(SETTLED)
        self._add(milliseconds)

    def click(self, target: Locator) -> None:
        """Show where is clicked, and click."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        if box is None:
            raise SystemExit(f"the tour cannot click {target}: it is not on the page")
        self._add(CLICK_MILLISECONDS, (box["x"] + min(box["width"] / 2, 120), box["y"] + box["height"] / 2))
        target.click()

    def _add(self, milliseconds: int, ring: tuple[float, float] | None = None) -> None:
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if ring is not None:
            x, y = ring
            around = (x - RING_PIXELS, y - RING_PIXELS, x + RING_PIXELS, y + RING_PIXELS)
            ImageDraw.Draw(picture).ellipse(around, outline=(213, 94, 0), width=4)
        height = round(WIDTH_PIXELS * picture.height / picture.width)
        self.frames.append(picture.resize((WIDTH_PIXELS, height), Image.Resampling.LANCZOS))
        self.milliseconds.append(milliseconds)

    def save(self, file: Path) -> float:
        """Write the film and return its size in megabytes."""
        # One palette for all frames: colours do not flicker, and what stays the same takes no room.
        strip = Image.new("RGB", (WIDTH_PIXELS, self.frames[0].height * len(self.frames)))
        for at, frame in enumerate(self.frames):
            strip.paste(frame, (0, at * frame.height))
        palette = strip.quantize(N_COLOURS)
        small = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self.frames]
        small[0].save(
            file, save_all=True, append_images=small[1:], duration=self.milliseconds, loop=0, optimize=True, disposal=1
        )
        return file.stat().st_size / 1e6


def write_documents(file: Path) -> None:
    """Write a part of pyseealso as somebody's own CSV."""
    train = load_dataset("pyseealso").train
    names, texts = train.labels.names, train.texts
    if texts is None:
        raise SystemExit("pyseealso has no texts, so there is nothing to make a CSV of")
    with file.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["text", "labels"])
        for row in range(min(N_DOCUMENTS, len(train))):
            ids = train.Y.indices[train.Y.indptr[row] : train.Y.indptr[row + 1]]
            rows.writerow([texts[row], ";".join(names[at] for at in ids)])


def add_file(film: Film, address: str, file: Path) -> None:
    """Add a file on the Data page."""
    page = film.page
    page.goto(f"{address}/data?add=file")
    film.look()
    dialog = page.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(file)
    add = dialog.get_by_role("button", name="Add dataset", exact=True)  # behind the dialog there is "Add a dataset"
    add.wait_for()
    film.look(2 * LOOK_MILLISECONDS)
    film.click(add)
    page.wait_for_url(re.compile("data=my-documents"))
    film.look()


def read_dataset(page: Page) -> str:
    """Return the dataset that the address names."""
    return parse_qs(urlsplit(page.url).query)["data"][-1]


def train_method(film: Film, address: str, home: Path) -> Run:
    """Train what the Train page recommends for the dataset that was added."""
    page = film.page
    page.goto(f"{address}/train?{urlencode({'data': read_dataset(page)})}")
    film.look()
    film.click(page.get_by_role("button", name="Train", exact=True).first)
    page.wait_for_timeout(1500)
    film._add(LOOK_MILLISECONDS)
    run = RunStore(home).open("last")
    if jobs.wait(run, timeout=10 * PATIENCE).state != "finished":
        raise SystemExit(f"the training did not finish: {run.status.message}")
    page.wait_for_timeout(3000)
    film.look()
    return run


def explain_label(film: Film, address: str, run: Run) -> None:
    """Predict the labels of a test document, and look why."""
    page = film.page
    page.goto(f"{address}/predict?{urlencode({'data': read_dataset(page), 'run': run.id})}")
    film.look()
    for row in range(2):
        options = page.locator(".st-key-predict_labels").get_by_role("option")
        if options.count() > row:
            film.click(options.nth(row))
            film.look()


@contextmanager
def open_browser() -> Iterator[Page]:
    """Open a page of the size that the design is made for."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--use-gl=swiftshader"])
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(PATIENCE * 1000)
        yield page
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, help="an empty folder; a new one without it")
    parser.add_argument("--out", type=Path, default=TARGET)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = arguments.home or Path(temporary) / "home"
        home.mkdir(parents=True, exist_ok=True)
        file = Path(temporary) / FILE_NAME
        write_documents(file)
        with serving(home, {"XCWORK_HOME": ""}) as server, open_browser() as page:
            film = Film(page)
            page.goto(server.address)
            film.look()
            add_file(film, server.address, file)
            explain_label(film, server.address, train_method(film, server.address, home))
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        size = film.save(arguments.out)
        print(f"{arguments.out.name}: {len(film.frames)} pictures, {size:.2f} MB")
        if size > MAX_MEGABYTES:
            raise SystemExit(f"the tour is larger than {MAX_MEGABYTES:g} MB; make it shorter or smaller")


if __name__ == "__main__":
    main()
