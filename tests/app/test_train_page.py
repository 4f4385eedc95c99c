"""The Train page: recommendations, all methods, settings and what a training will cost."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from xcwork_app.panels.train import chosen_method
from xcwork_app.sources import Source
from xcwork_app.views import training_plan

from tests.support.pages import read_component, send_event
from tests.support.train_page import change, command, methods, open_settings, said
from xcwork.advice import pilot_job, storing
from xcwork.advice.recommendation import BY_PILOT, Expectation, Recommendation, Suggestion
from xcwork.advice.rules import FOR_THE_BEST, TO_BEGIN, TO_UNDERSTAND
from xcwork.methods.registry import find_method_class, list_usable_methods
from xcwork.runs import Run, RunStore

pytestmark = pytest.mark.slow


def test_all_methods_are_listed_in_groups_with_time_and_the_best_run(open_page, finished: Run) -> None:
    page = open_page("train", data="fruit.csv", method="zestxml")
    table = read_component(page, "train_methods")
    rows = methods(page)
    assert set(rows) == set(list_usable_methods())
    assert [group["title"] for group in table["groups"]][:5] == [
        "Reads the label texts: finds labels that no training document has",
        "One classifier per label",
        "Neural, with short heads",
        "Learns from labels of groups: an album, a module, a folder",
        "Yardsticks to beat",
    ]
    assert table["selected"] == "zestxml"
    assert [column["title"] for column in table["columns"]] == ["Method", "Good for", "Time here", "Best P@1 here"]
    assert rows["gated"]["value"] == f"{finished.read_report().metrics['P@1']:.1f}"
    assert rows["gated"]["mark"] is not None
    assert rows["zestxml"]["value"] == ""
    assert re.fullmatch(r"[\d.]+ (s|min|h)", rows["zestxml"]["cells"][1])


def test_a_row_and_a_card_choose_the_method(open_page, corpus: Path) -> None:
    page = open_page("train", data="fruit.csv")
    assert read_component(page, "train_methods")["selected"] == "zestxml", "the method to understand"
    cards = [each.label for each in page.button if each.key.startswith("train.card.")]
    assert cards[:2] == ["Choose BM25", "Choose ZestXML"]
    assert len(cards) == 3
    send_event(page, "train_methods", "label_tree")
    assert page.query_params["method"] == "label_tree"
    assert read_component(page, "train_methods")["selected"] == "label_tree"
    assert "Prabhu et al., WWW 2018" in said(page)
    page.button(key="train.card.0").click().run()
    assert page.query_params["method"] == "bm25"
    assert command(page)[:3] == ["xcwork", "train", "bm25"]


def test_abilities_are_words(open_page, corpus: Path) -> None:
    text = said(open_page("train", data="fruit.csv", method="zestxml"))
    for words in ("finds unseen labels", "exact reasons", "can be resumed", "Gupta et al., KDD 2021"):
        assert words in text
    assert "The score of a label is a sum over pairs of words" in text, "how it works, in three sentences"


def test_a_pilot_that_was_made_is_shown_with_what_to_expect(open_page, corpus: Path, home: Path) -> None:
    source = training_plan.resolve(Source.from_id("fruit.csv"))
    roles = ((FOR_THE_BEST, "flat"), (TO_UNDERSTAND, "one_vs_all"), (TO_BEGIN, "tfidf"))
    suggestions = tuple(
        Suggestion(method, "Default", role, "why", Expectation(61.0, 58.2, 63.9, "of a test"), 12.0, 500.0)
        for role, method in roles
    )
    fingerprint = source.load().fingerprint
    storing.write_recommendation(source, Recommendation("fruit", fingerprint, "traits", BY_PILOT, suggestions))
    page = open_page("train", data="fruit.csv")
    assert [each.label for each in page.button if each.key.startswith("train.card.")] == [
        "Choose TF-IDF match",
        "Choose One-vs-all",
        "Choose Flat",
    ]
    facts = training_plan.list_method_facts(Source.from_id("fruit.csv"))
    assert facts["tfidf"].cost is not None
    assert " · P@1 58 to 64" in said(page), "with the time that the list below says, too"
    assert page.button(key="train.pilot").label == "Try again"


def test_the_pilot_is_started_watched_and_cancelled(open_page, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(pilot_job.jobs, "spawn_module", lambda module, *_: started.append(module) or FakeProcess())
    monkeypatch.setattr(pilot_job.processes, "is_alive", lambda *_: True)
    page = open_page("train", data="fruit.csv")
    page.button(key="train.pilot").click().run()
    assert not page.exception
    assert started[0][0] == "xcwork.advice.pilot_job"
    assert "Trying methods: 0 %, 5 min left" in said(page)
    page.button(key="train.pilot_cancel").click().run()
    assert "Stopping after this step" in said(page)
    assert pilot_job.locate_file(training_plan.resolve(Source.from_id("fruit.csv")), "cancel").exists()


class FakeProcess:
    """A process that has nothing to do."""

    pid = 1

    def wait(self) -> int:
        return 0


def test_a_change_of_a_setting_reaches_the_command(open_page, corpus: Path) -> None:
    page = open_page("train", data="fruit.csv", method="one_vs_all")
    change(page, "one_vs_all", "C", 0.5)
    assert page.button(key="train.settings").label.endswith("1 changed")
    page.text_input(key="train.name.0").set_value("my run").run()
    assert command(page) == shlex.split("xcwork train one_vs_all --data fruit.csv --set C=0.5 --name 'my run'")
    open_settings(page)
    assert page.number_input(key="train.one_vs_all.Default.0.C").value == 0.5, "the drawer shows what was changed"
    page.button(key="train.settings_reset").click().run()
    assert "C=0.5" not in command(page)


def test_the_drawer_has_three_settings_in_plain_words_and_all_others(open_page, corpus: Path) -> None:
    page = open_settings(open_page("train", data="fruit.csv", method="label_tree"))
    labels = [each.label for each in page.number_input]
    assert labels[:3] == ["Number of trees", "Branches followed per level", "Labels per last branch, at most"]
    asked = [each for each in (*page.number_input, *page.selectbox, *page.text_input) if ".Default.0." in each.key]
    names = {each.key.rpartition(".")[2] for each in asked}
    assert names == set(find_method_class("label_tree").parameters())


def test_the_command_of_the_page_is_accepted_by_the_command_line(open_page, corpus: Path) -> None:
    from typer.testing import CliRunner

    from xcwork.cli import app

    page = change(open_page("train", data="fruit.csv", method="gated"), "gated", "steps", 2)
    done = CliRunner().invoke(app, [*command(page)[1:], "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    assert RunStore().list()[0].config["params"]["steps"] == 2


def test_settings_of_the_best_run_are_offered(open_page, finished: Run) -> None:
    page = open_page("train", data="fruit.csv", method="gated")
    preset = page.selectbox(key="train.gated.preset")
    assert preset.options[-1] == "Like done <b>"
    preset.set_value(preset.options[-1]).run()
    assert "steps=3" in command(page)


@pytest.mark.parametrize(
    ("method", "strange", "left_out"),
    [
        ("gated", {"forgotten": 1}, "forgotten is not a parameter of gated"),
        ("gated", {"steps": 0}, "steps must be at least 1, got 0"),
        ("gated", {"gate": ["a"]}, "gate must be a text"),
        ("zestxml", {"variant": "quantum"}, "variant must be one of"),
        ("flat", {"epochs": "many"}, "epochs must be a whole number"),
    ],
)
def test_settings_of_a_run_that_are_not_allowed_are_left_out_and_said(
    open_page, finished: Run, method: str, strange: dict[str, object], left_out: str
) -> None:
    file = finished.folder / "config.json"  # as another version of xcwork, or a hand, may have written it
    changes = {"method": method, "params": find_method_class(method)().get_params() | {"seed": 5} | strange}
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    page = open_page("train", data="fruit.csv", method=method)
    preset = page.selectbox(key=f"train.{method}.preset")
    assert "Not taken over" not in said(page)
    preset.set_value(preset.options[-1]).run()
    assert not page.exception
    assert f"Not copied from the run: {left_out}" in said(page)
    assert "seed=5" in command(page), "what is allowed is taken over"


def test_a_seed_that_no_browser_holds_is_left_out(open_page, finished: Run) -> None:
    file = finished.folder / "config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps(config | {"params": config["params"] | {"seed": 2**53}}))
    page = open_page("train", data="fruit.csv", method="gated")
    preset = page.selectbox(key="train.gated.preset")
    preset.set_value(preset.options[-1]).run()
    assert not page.exception
    assert "seed must be at most" in said(page)


def test_a_preset_that_is_gone_gives_way_to_the_default(open_page, finished: Run) -> None:
    import shutil

    page = open_page("train", data="fruit.csv", method="gated")
    preset = page.selectbox(key="train.gated.preset")
    preset.set_value(preset.options[-1]).run()
    shutil.rmtree(finished.folder)
    page.run()
    assert not page.exception
    assert page.selectbox(key="train.gated.preset").value == "Default"


def test_a_name_beyond_the_limit_is_kept_and_the_limit_is_said(open_page, corpus: Path) -> None:
    page = open_page("train", data="fruit.csv", method="popularity")
    page.text_input(key="train.name.0").set_value("n" * 101).run()
    assert page.text_input(key="train.name.0").value == "n" * 101
    assert "101 characters; the limit is 100" in page.error[0].value
    assert page.button(key="train.start").disabled


def test_the_cost_is_estimated_from_what_was_measured(open_page, finished: Run) -> None:
    text = said(open_page("train", data="fruit.csv", method="gated"))
    assert re.search(r"Time, about</span><b>[\d.]+ s</b>", text)
    assert re.search(r"Memory, about</span><b>\d{3} MB</b>", text)
    assert re.search(r"[\d.]+ s to [\d.]+ s, with test", text)
    assert "from a run here on fruit" in text


def test_the_device_that_will_be_used_stands_beside_the_cost(
    open_page, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen_method._describe_device.cache_clear()
    monkeypatch.setattr(chosen_method, "describe_device_without_torch", lambda: "Some GPU (7.0 of 8.0 GiB free)")
    monkeypatch.setattr(chosen_method, "measure_available_memory", lambda: 3_200_000_000)
    on_cpu = re.search(
        r"On the CPU, \d+ threads; 3.2 GB free", said(open_page("train", data="fruit.csv", method="popularity"))
    )
    assert on_cpu, "a method without a GPU stays on the CPU"
    text = said(open_page("train", data="fruit.csv", method="siamesexml"))
    assert re.search(r"On Some GPU \(7.0 of 8.0 GiB free\); training takes about [\d.]+ [MG]B of it", text)
    text = said(open_page("train", data="fruit.csv", method="nearest_documents"))
    assert "On Some GPU (7.0 of 8.0 GiB free)</div>" in text, "it only predicts there"
    traits = training_plan.get_traits(Source(data="fruit.csv"))
    place = chosen_method.describe_place(find_method_class("siamesexml"), {"device": "cpu"}, traits)
    assert place.startswith("On the CPU")
    chosen_method._describe_device.cache_clear()


def test_a_method_without_measurements_has_no_estimate(open_page, corpus: Path) -> None:
    page = open_page("train", data="fruit.csv", method="gated")
    assert "not yet measured here" in said(page)
    assert methods(page)["gated"]["cells"][1] == "–"


def test_too_much_memory_is_said_with_the_figure(open_page, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "of memory" not in said(open_page("train", data="fruit.csv", method="popularity"))
    monkeypatch.setattr(chosen_method, "measure_available_memory", lambda: 200_000_000)
    page = open_page("train", data="fruit.csv", method="popularity")
    assert re.search(r"may need \d+ MB of memory, and 200 MB are free", said(page))
    assert not page.button(key="train.start").disabled, "a warning, no ban"


def test_a_method_that_cannot_work_here_is_greyed_with_its_reason(open_page, home: Path) -> None:
    lines = ["12 4 3", *(f"{i % 3} {i % 4}:1.0" for i in range(12))]
    (home / "data" / "plain.txt").write_text("\n".join(lines) + "\n")
    page = open_page("train", data="plain.txt", method="zestxml")
    row = methods(page)["zestxml"]
    assert row["isOff"]
    assert row["cells"][0] == "It needs label texts, and this dataset has none."
    assert "needs label texts" in said(page)
    assert page.button(key="train.start").disabled
    other = open_page("train", data="plain.txt")
    assert read_component(other, "train_methods")["selected"] == "one_vs_all"
    assert not other.button(key="train.start").disabled
