"""Pictures of Plotly figures, for viewers of notebooks that run no scripts, and for the index in the README.

    python scripts/notebook_pictures.py [NAME ...]

draws every figure stored in notebooks/<name>.ipynb again, puts the pictures beside the figures, and writes one of them
to docs/notebooks/<name>.png: that of the cell tagged `picture`, else the first. Nothing is run. Needs chromium;
plotly.js comes with the plotly package.
"""

from __future__ import annotations

import argparse
import base64
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS, TARGET = ROOT / "notebooks", ROOT / "docs" / "notebooks"
PLOTLY = "application/vnd.plotly.v1+json"
# Pixels of a figure that does not say. JupyterLab shows a picture as it is until the mouse enters it, so it has to fit.
WIDTH, HEIGHT = 800, 420
COLOURS = 192  # of a picture; text and lines look the same, the file is a third
DRAW = """([figure, width, height]) =>
    Plotly.toImage({data: figure.data, layout: figure.layout}, {format: 'png', width, height})"""


class Painter:
    """Draws figures in one page of a browser without a window."""

    def __init__(self, page: Any) -> None:
        self._page = page

    def png(self, figure: dict[str, Any]) -> tuple[bytes, int, int]:
        """(the picture, its width, its height)."""
        layout = figure.get("layout", {})
        width, height = int(layout.get("width") or WIDTH), int(layout.get("height") or HEIGHT)
        address = self._page.evaluate(DRAW, [figure, width, height])
        drawn = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
        packed = io.BytesIO()
        drawn.convert("RGBA").quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(packed, "PNG", optimize=True)
        return packed.getvalue(), width, height


def browser_path() -> str | None:
    """The chromium of this machine, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def painter() -> Iterator[Painter]:
    """A painter for as long as the context lasts."""
    from playwright.sync_api import sync_playwright
    from plotly.offline import get_plotlyjs

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox", "--use-gl=swiftshader", "--force-color-profile=srgb"]
        )
        try:
            page = browser.new_page()
            page.add_script_tag(content=get_plotlyjs())
            yield Painter(page)
        finally:
            browser.close()


def figures(cell: NotebookNode) -> list[NotebookNode]:
    """The outputs of a cell that hold a Plotly figure."""
    return [output for output in cell.get("outputs", []) if PLOTLY in output.get("data", {})]


def add_pictures(notebook: NotebookNode, draw: Painter) -> None:
    """Give every figure a picture of itself, which viewers without scripts show instead."""
    for output in [output for cell in notebook.cells for output in figures(cell)]:
        picture, width, height = draw.png(output.data[PLOTLY])
        output.data["image/png"] = base64.b64encode(picture).decode()
        output.metadata["image/png"] = {"width": width, "height": height, "alt": output.data["text/plain"]}


def store(notebook: NotebookNode, file: Path) -> None:
    """Write the notebook in one step, so that nobody finds half of it."""
    nbformat.validate(notebook)
    unfinished = file.with_suffix(".ipynb.part")
    unfinished.write_text(nbformat.writes(notebook) + "\n", "utf-8")
    unfinished.replace(file)


def best_picture(notebook: NotebookNode) -> bytes | None:
    """The picture of the cell tagged `picture`, else the first one."""
    tagged = [cell for cell in notebook.cells if "picture" in cell.metadata.get("tags", [])]
    found = [output for cell in tagged + list(notebook.cells) for output in figures(cell)]
    return base64.b64decode(found[0].data["image/png"]) if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="names of notebooks; all of them when left out")
    names = parser.parse_args().names or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    TARGET.mkdir(parents=True, exist_ok=True)
    with painter() as draw:
        for name in [Path(name).stem for name in names]:
            file = NOTEBOOKS / f"{name}.ipynb"
            notebook = nbformat.read(file, as_version=4)
            add_pictures(notebook, draw)
            picture = best_picture(notebook)
            if picture is None:
                raise SystemExit(f"{file.name} has no figure; run scripts/run_notebooks.py first")
            store(notebook, file)
            (TARGET / f"{name}.png").write_bytes(picture)
            print(f"docs/notebooks/{name}.png: {len(picture) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
