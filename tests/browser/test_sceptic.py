"""The sceptic, with strange input: files that are none, labels that would like to be code, sums that must be right."""

from __future__ import annotations

import csv
import io
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pytest

from xcwork.runs import Run, RunStore, worker

if TYPE_CHECKING:
    from playwright.sync_api import Page

SMALL = {"width": 1280, "height": 720}
DATA = "doubt.csv"
N_DOCUMENTS = 360
SCRIPT = "<script>window.hit = 1</script>"
FORMULA = '=HYPERLINK("prize")'
BOLD = "*bold*"
LONG = "z" * 300
NAMES = {"apple": SCRIPT, "pear": FORMULA, "plum": BOLD, "cherry": LONG, "quince": "quince", "medlar": "medlar"}
FITS = "element => element.scrollWidth <= element.clientWidth"
BAD_FILES = [
    ("empty.csv", b"", "empty"),
    ("header.csv", b"text,labels\n", "no records"),
    ("lone.csv", b"text\nonly one column\nand more\n", "one column"),
    ("noise.csv", random.Random(1).randbytes(3000), "not a text file"),
]


@pytest.fixture(scope="module")
def doubted(home: Path) -> dict[str, Run]:
    """Two runs on documents some of which have the wrong label, by method."""
    rng = np.random.default_rng(0)
    rows = []
    for at in range(N_DOCUMENTS):
        label, other = rng.choice(list(NAMES), 2, replace=False)
        named = other if rng.random() < 0.25 else label
        rows.append((f"{named} {rng.choice(list(NAMES))} number{at % 7}", NAMES[str(label)]))
    with (home / "data" / DATA).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "labels"), *rows])
    made = {name: RunStore(home).create(name, None, home / "data" / DATA) for name in ("one_vs_all", "popularity")}
    for run in made.values():
        assert worker.main(run.folder) == 0
    return made


def read_numbers(text: str) -> list[float]:
    """Return all numbers of a text as they are shown, with the minus sign that pages use."""
    plain = text.replace("\N{MINUS SIGN}", "-").replace(",", "")
    return [float(each) for each in re.findall(r"[-+]?\d+(?:\.\d+)?", plain)]


def test_files_that_are_no_datasets_are_refused(
    page: Page, dashboard: str, home: Path, doubted: dict[str, Run]
) -> None:
    """Files that are no datasets get one sentence each, and nothing of them is kept."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    before = {path.name for path in (home / "data").iterdir()}
    page.goto(f"{dashboard}/data?data={DATA}&add=file")
    dialog = page.get_by_role("dialog")
    for name, content, sentence in BAD_FILES:
        chooser = page.locator("input[type=file]")
        chooser.wait_for(state="attached")
        chooser.set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
        expect(dialog.get_by_text(re.compile(sentence)).first).to_be_visible()
        expect(dialog.get_by_text(name).first).to_be_visible()
        if content:  # of an empty file, nothing was taken
            expect(dialog.get_by_role("button", name="Add dataset")).to_be_disabled()
            dialog.get_by_role("button", name="Another file").click()
            expect(dialog.get_by_role("button", name="Add dataset")).to_have_count(0)
        else:
            page.goto(f"{dashboard}/data?data={DATA}&add=file")
    latin = "text,labels\nGrüße an die Äpfel,süß\nzwei schöne Öfen,süß\n".encode("latin-1")
    page.locator("input[type=file]").set_input_files({"name": "latin.csv", "mimeType": "text/csv", "buffer": latin})
    expect(dialog.get_by_text(re.compile("Read as latin-1"))).to_be_visible()
    expect(dialog.get_by_text("Grüße an die Äpfel").first).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    assert {path.name for path in (home / "data").iterdir() if not path.name.startswith(".")} <= before


def test_labels_that_look_like_code_are_shown_as_typed(
    page: Page, dashboard: str, doubted: dict[str, Run], tmp_path: Path
) -> None:
    """Labels that look like code are shown as typed on every page, and the CSV defuses the formula."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    query = f"data={DATA}&run={doubted['one_vs_all'].id}"
    page.goto(f"{dashboard}/predict?{query}")
    labels = page.get_by_role("listbox", name="Labels")
    expect(labels.get_by_role("option").first).to_be_visible()
    for name in (SCRIPT, FORMULA, BOLD):
        page.goto(f"{dashboard}/errors?{query}&outcome=found&label={quote(name)}")
        expect(page.get_by_text(name, exact=True).filter(visible=True).first).to_be_visible()
    page.goto(f"{dashboard}/label_map?{query}&label={quote(SCRIPT)}")
    expect(page.locator(".st-key-map_drawer").get_by_text(SCRIPT, exact=True).first).to_be_visible()
    page.goto(f"{dashboard}/review?{query}")
    expect(page.locator(".st-key-review_queue").first).to_be_visible()
    page.goto(f"{dashboard}/errors?{query}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Report").click()
    report = tmp_path / "report.html"
    download.value.save_as(report)
    page.goto(f"{dashboard}/data?data={DATA}&data.view=Documents&data.search=HYPERLINK")
    expect(page.get_by_text(re.compile(r"Documents 1 to \d+ of \d+;"))).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile(r"\bCSV$")).last.click()
    download.value.save_as(tmp_path / "documents.csv")
    cells = [cell for row in csv.reader(io.StringIO((tmp_path / "documents.csv").read_text("utf-8"))) for cell in row]
    assert any(cell.startswith("'=HYPERLINK") for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)
    page.goto(report.as_uri())
    expect(page.get_by_role("heading", level=1)).to_contain_text("xcwork report")
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("window.hit") is None


def test_a_label_of_300_characters_widens_no_page(page: Page, dashboard: str, doubted: dict[str, Run]) -> None:
    """A label of 300 characters has three lines and `more` in the list, and widens no page."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    query = f"data={DATA}&run={doubted['one_vs_all'].id}"
    page.goto(f"{dashboard}/predict?{query}&predict.where=My+text&predict.text=cherry")
    row = page.get_by_role("listbox", name="Labels").get_by_role("option", name=re.compile("z{50}")).first
    expect(row).to_be_visible()
    name = row.locator(".name")
    lines = name.evaluate("element => element.clientHeight / parseFloat(getComputedStyle(element).lineHeight)")
    assert round(lines) == 3
    assert name.evaluate(FITS)
    expect(row.get_by_text("more", exact=True)).to_be_visible()
    for place in (f"label_map?{query}&label={LONG}", f"compare?{query}", f"errors?{query}&label={LONG}"):
        page.goto(f"{dashboard}/{place}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if not place.startswith("compare"):
            expect(page.get_by_text(re.compile("z{20}")).filter(visible=True).first).to_be_visible()
        assert page.get_by_test_id("stMain").evaluate(FITS), place


def test_strange_texts_of_ones_own(page: Page, dashboard: str, doubted: dict[str, Run]) -> None:
    """Words that nobody knows, more characters than are read, and no word at all."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/predict?data={DATA}&run={doubted['one_vs_all'].id}&predict.where=My+text")
    box = page.get_by_role("textbox", name="Your text")
    box.fill("深さ優先探索 😀 <b>x</b>")
    expect(page.get_by_text("No word of this text is known to this run")).to_be_visible()
    box.fill("a" * 200_001)
    expect(page.get_by_text("200,001 characters; the limit is 200,000")).to_be_visible()
    box.fill("   ")
    expect(page.get_by_role("button", name="Try an example")).to_be_visible()


def test_a_wrong_address_opens_the_nearest_choice(page: Page, dashboard: str, doubted: dict[str, Run]) -> None:
    """What an address asks for in vain becomes the nearest choice, and the page says so."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    page.goto(f"{dashboard}/predict?data={DATA}&run=nothing&document=999999&label=unknown")
    expect(page.get_by_role("listbox", name="Labels").get_by_role("option").first).to_be_visible()
    for sentence in ("There is no run “nothing”", "There is no document “999999”", "There is no label with “unknown”"):
        expect(page.get_by_text(sentence)).to_be_visible()


def test_every_shown_sum_equals_its_shown_parts(page: Page, dashboard: str, doubted: dict[str, Run]) -> None:
    """Every shown sum equals its shown parts: families, words, outcomes, bands, documents."""
    from playwright.sync_api import expect

    page.set_viewport_size(SMALL)
    query = f"data={DATA}&run={doubted['one_vs_all'].id}"
    page.goto(f"{dashboard}/predict?{query}&document=2")
    families = page.get_by_role("group", name="Families of reasons")
    expect(families).to_be_visible()
    *parts, total = [read_numbers(each)[-1] for each in families.locator(".family .value").all_inner_texts()]
    assert sum(parts) == pytest.approx(total, abs=1e-6)

    page.goto(f"{dashboard}/errors?{query}&k=1")
    sentence = page.locator(".errors-sentence b").first
    expect(sentence).to_be_visible()
    found, of = read_numbers(sentence.inner_text())
    shares = [
        read_numbers(each)[0] for each in page.locator(".errors-legend > div:not(.errors-last) b").all_inner_texts()
    ]
    assert sum(shares) == pytest.approx(100.0, abs=1e-6)
    told = page.locator(".errors-muted").filter(has_text=re.compile("found, .* outranked, ")).all_inner_texts()
    bands = [read_numbers(each)[:3] for each in told]
    assert sum(each[0] for each in bands) == found
    assert sum(map(sum, bands)) == of
    (misses,) = read_numbers(page.get_by_text(re.compile("Where the .*miss.* stand")).first.inner_text())
    assert found + misses == of

    page.goto(f"{dashboard}/compare?data={DATA}&reference={doubted['popularity'].id}")
    counted = page.get_by_text(re.compile(r"\d+ documents? better")).first
    expect(counted).to_be_visible()
    legend = page.locator("span").filter(has_text=re.compile(r"^[\d,]+ (documents? better|mixed|alike|worse)"))
    parts = [read_numbers(each)[0] for each in legend.all_inner_texts()]
    assert len(parts) == 4
    assert sum(parts) == doubted["popularity"].config["dataset"]["n_test"]
