"""The model card and the HTML report: complete, offline, and harmless whatever the labels are called."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser

import pytest

from xcwork.errors import ConfigError
from xcwork.export.text import clean_name
from xcwork.metrics import HEADLINE_METRICS
from xcwork.runs import Run, evaluation, worker
from xcwork.runs.card import MAX_NAME_CHARACTERS, escape_name, find_worst_labels, get_source_name, render_card
from xcwork.runs.status import read_status, write_status
from xcwork.viz.run_report import render_report, write_report


@pytest.fixture
def finished(new_run):
    run = new_run()
    worker.main(run.folder)
    run.write_notes("# My <i>run</i>\n")
    return run


def read_card(run: Run) -> str:
    """The card as the files of the run would give it now."""
    return render_card(run, run.read_report(), evaluation.read_label_table(run.folder / "eval"), run.status)


class Outline(HTMLParser):
    """Which elements a page has, what they refer to, and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.links, self.text, self._inside = [], [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text.append(data)


def test_the_card_tells_the_run(finished):
    text = (finished.folder / "model/README.md").read_text("utf-8")
    report = finished.read_report()
    for heading in ("Method", "Parameters", "Data", "Results", "Where it fails", "How to load it", "Limits"):
        assert f"\n## {heading}\n" in text
    for name in HEADLINE_METRICS:
        assert f"| {name} | {report.metrics[name]:.2f} |" in text
        assert f'- type: "{name}"\n      value: {report.metrics[name]:.2f}\n' in text
    assert "| `n_train` | 24 |" in text
    assert str(finished.home) not in text
    assert 'xcwork.load_method("path/to/model")' in text


def test_the_head_of_the_card_is_yaml(finished):
    yaml = pytest.importorskip("yaml")
    finished.write_notes('# "quoted": {x} \x85 é\n')
    head = read_card(finished).split("---\n")[1]
    parsed = yaml.safe_load(head)
    assert parsed["model-index"][0]["name"] == '"quoted": {x} é'
    assert parsed["datasets"] == [finished.read_report().dataset]


def test_hostile_names_stay_text_in_the_read_card(finished):
    hostile = "<script>alert(1)</script> | `x` \u202e [y](z)"
    assert hostile in (finished.folder / "eval/per_label.csv").read_text("utf-8")
    shown = escape_name(hostile)
    assert shown == r"&lt;script&gt;alert(1)&lt;/script&gt; \| \`x\` \\u202e \[y\](z)"
    (finished.folder / "eval/per_label.csv").write_text(
        f'label,test_documents,hits@5\n"{hostile}",9,1\nfine,9,9\n', "utf-8"
    )
    assert find_worst_labels(evaluation.read_label_table(finished.folder / "eval"), 5) == [(hostile, 9, 1)]
    text = read_card(finished)
    assert "<script" not in text
    assert shown in text


def test_names_are_cut_and_paths_are_not_told():
    assert clean_name("a" * 100, MAX_NAME_CHARACTERS) == escape_name("a" * 100) == "a" * 79 + "…"
    assert clean_name("two\nlines\x00\ud800") == "two lines\\x00\\ud800"
    assert get_source_name("/home/somebody/data.csv") == "data.csv"
    assert get_source_name("synthetic:n_labels=5") == "synthetic:n_labels=5"


def test_the_report_is_one_offline_file(finished, tmp_path):
    path = write_report(finished, tmp_path / "deep/report.html")
    page = path.read_text("utf-8")
    outline = Outline(page)
    assert outline.links == []
    assert "default-src 'none'" in page
    assert outline.tags.count("figure") == outline.tags.count("svg") == 5
    assert "script" not in outline.tags
    assert len(page) < 200_000
    assert str(finished.home) not in page
    text = " ".join(outline.text)
    for name in HEADLINE_METRICS:
        assert name in text
    assert f"{finished.read_report().metrics['nDCG@5']:.2f}" in text
    assert "My <i>run</i>" in text


def test_the_report_starts_with_one_page_and_folds_the_rest(finished):
    page = render_report([finished])
    start, _, rest = page.partition("<details>")
    report = finished.read_report()
    assert "Where it fails" in start
    assert "Three examples" in start
    assert f"{report.metrics['P@1']:.1f} %" in start
    bands = report.bands["absolute"].values()
    found, total = (int(sum(row[name] for row in bands)) for name in ("hits@5", "test_positives"))
    assert f"{found:,} of {total:,}" in start
    assert "of at most" in start
    assert start.count("○ missed:") <= 3
    assert "<svg" not in start
    assert rest.count("</details>") == page.count("<details>") >= 5
    assert "<details open" not in page


def test_the_best_of_several_runs_is_on_the_first_page(finished, new_run):
    other = new_run()
    worker.main(other.folder)
    start = render_report([other, finished]).partition("<details>")[0]
    assert start.count("<tr><td><i class=") == 2
    assert "the best at P@1" in start


def test_nothing_in_the_report_is_run_or_drawn_as_html(finished):
    page = render_report([finished])
    assert "<i>run" not in page
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page  # a label that was predicted wrongly
    assert set(Outline(page).tags) <= {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "div",
        "section",
        "details",
        "summary",
        "ul",
        "li",
        "b",
        "i",
        "br",
        "small",
        "span",
        *("svg", "path", "rect", "circle", "polyline", "text"),
    }


def test_a_report_shows_runs_without_results_and_equal_names(finished, new_run):
    waiting, same = new_run(), new_run()
    worker.main(same.folder)
    same.write_notes(finished.read_notes())
    (waiting.folder / "config.json").write_text("{")
    text = " ".join(Outline(render_report([finished, waiting, same])).text)
    assert "cannot be read" in text
    assert finished.id in text
    assert same.id in text


def test_missing_evaluation_files_do_not_stop_a_report(finished):
    (finished.folder / "eval/errors.csv").unlink()
    (finished.folder / "eval/per_label.csv").write_text("label\n")
    assert "errors.csv is missing" in render_report([finished])
    (finished.folder / "eval/metrics.json").write_text(json.dumps({"metrics": {}}))
    assert "not a complete evaluation report" in render_report([finished])
    shutil.rmtree(finished.folder / "eval")
    write_status(finished.folder, read_status(finished.folder))
    assert "Metrics</summary>" not in render_report([finished])


def test_the_highest_precision_is_read_from_the_evaluation(finished):
    folder = finished.folder / "eval"
    table = evaluation.read_table(folder, evaluation.DOCUMENTS_FILE)
    counts = [int(number) for number in table["n_true"]]
    assert evaluation.read_highest_precision(folder, 5) == pytest.approx(
        100 * sum(min(number, 5) for number in counts) / (5 * len(counts))
    )
    for damage in ("n_true\nmany\n", "document\n1\n", "", "n_true\n1e400\n", "n_true\n-3\n"):
        (folder / evaluation.DOCUMENTS_FILE).write_text(damage)
        assert evaluation.read_highest_precision(folder, 5) is None
    (folder / evaluation.DOCUMENTS_FILE).unlink()
    assert evaluation.read_highest_precision(folder, 5) is None


def test_a_report_about_nothing_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="at least one run"):
        write_report([], tmp_path / "report.html")
