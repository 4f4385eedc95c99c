"""Make docs/screenshots/<page>.png, so that the pictures in the README stay true.

    python -m scripts.screenshots HOME [--only data train] [--dark]

HOME is a home folder with finished runs (`xcwork app --demo --home HOME` makes them). Needs chromium.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from xcwork_app.navigation import list_places

from tests.support.server import serving

TARGET = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
SIZE = {"width": 1280, "height": 720}
SETTLED = """() => {
    const app = document.querySelector('[data-testid=stApp]');
    const busy = document.querySelector('[data-testid=stSkeleton], [data-testid=stSpinner]');
    const map = document.querySelector('.xc-map');
    const isDrawn = !map || map.dataset.still === 'true';
    return app && app.getAttribute('data-test-script-state') === 'notRunning' && !busy && isDrawn;
}"""
PATIENCE = 120  # seconds


def shoot(address: str, names: list[str], scheme: str) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--use-gl=swiftshader"])
        page = browser.new_page(viewport=SIZE, color_scheme=scheme)
        page.set_default_timeout(PATIENCE * 1000)
        for name in names:
            page.goto(f"{address}/{'' if name == 'home' else name}")
            page.get_by_role("heading", level=1).first.wait_for()
            # Two settled looks a second apart: a page may draw in several passes.
            for _ in range(2):
                page.wait_for_timeout(1000)
                page.wait_for_function(SETTLED)
            file = TARGET / f"{name}{'-dark' if scheme == 'dark' else ''}.png"
            page.screenshot(path=file)
            print(f"{file.relative_to(TARGET.parents[1])}: {file.stat().st_size / 1000:.0f} kB")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("home", type=Path)
    parser.add_argument("--only", nargs="+", choices=[place.name for place in list_places()])
    parser.add_argument("--dark", action="store_true")
    arguments = parser.parse_args()
    TARGET.mkdir(parents=True, exist_ok=True)
    names = arguments.only or [place.name for place in list_places()]
    with serving(arguments.home) as server:
        shoot(server.address, names, "dark" if arguments.dark else "light")


if __name__ == "__main__":
    main()
