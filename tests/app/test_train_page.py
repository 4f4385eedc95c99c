"""The Train page: recommendations, all methods, settings, cost, and a run from its start through cancel to resume."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app import widgets
from xcwork_app.panels.train import chosen_method, live_curve, settings_drawer
from xcwork_app.sources import Source
from xcwork_app.views import training_plan

from tests.support.pages import read_component, send_event
from xcwork.advice import pilot_job, storing
from xcwork.advice.recommendation import BY_PILOT, Expectation, Recommendation, Suggestion
from xcwork.advice.rules import FOR_THE_BEST, TO_BEGIN, TO_UNDERSTAND
from xcwork.methods.base import Parameter
from xcwork.methods.registry import METHODS, find_method_class
from xcwork.runs import Run, RunStore, jobs

pytestmark = pytest.mark.slow


def command(page: AppTest) -> list[str]:
    return next(shlex.split(code.value) for code in page.code if code.value.startswith("xcwork train"))


def said(page: AppTest) -> str:
    """All text of the page, HTML included."""
    texts = [each.value for each in (*page.markdown, *page.caption, *page.warning, *page.info)]
    return " ".join(texts + [each.proto.body for each in page.get("html")]).replace("\\", "")


def methods(page: AppTest) -> dict[str, dict]:
    groups = read_component(page, "train_methods")["groups"]
    return {row["id"]: row for group in groups for row in group["rows"]}


def open_settings(page: AppTest) -> AppTest:
    page.button(key="train.settings").click().run()
    assert not page.exception
    return page


def change(page: AppTest, method: str, name: str, value: object, preset: str = "Default") -> AppTest:
    """Change a setting in the drawer and close it."""
    open_settings(page)
    key = f"train.{method}.{preset}.0.{name}"
    field = next(each for each in (*page.number_input, *page.text_input, *page.selectbox) if each.key == key)
    field.set_value(value).run()
    page.button(key="train.settings_done").click().run()
    assert not page.exception
    return page


def test_all_methods_are_listed_in_groups_with_time_and_the_best_run(open_page, finished: Run) -> None:
    page = open_page("train", data="fruit.csv", method="zestxml")
    table = read_component(page, "train_methods")
    rows = methods(page)
    assert set(rows) == set(METHODS)
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
    assert f"Not taken over from the run: {left_out}" in said(page)
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
    assert "101 characters, and 100 are the limit" in page.error[0].value
    assert page.button(key="train.start").disabled


def test_the_cost_is_estimated_from_what_was_measured(open_page, finished: Run) -> None:
    text = said(open_page("train", data="fruit.csv", method="gated"))
    assert re.search(r"Time, about</span><b>[\d.]+ s</b>", text)
    assert re.search(r"Memory, about</span><b>\d{3} MB</b>", text)
    assert re.search(r"[\d.]+ s to [\d.]+ s, with test", text)
    assert "from a run here on fruit" in text


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


def test_train_cancel_resume(open_page, corpus: Path, tmp_path: Path, until) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "open-0").touch()
    page = change(open_page("train", data="fruit.csv", method="gated"), "gated", "gate", str(gate))
    page.button(key="train.start").click().run()
    assert not page.exception
    run = RunStore().list()[0]
    assert page.query_params["run"] == run.id
    assert run.name == "gated 1"
    assert any(state in said(page) for state in ("queued", "running"))

    until((gate / "reached-1").exists, "the second step")
    until(lambda: (run.status.phase, run.status.step) == ("climbing", 1), "the status to say so")
    page.run()
    assert "running" in said(page)
    page.button(key="train.start").click().run()
    assert len(RunStore().list()) == 1, "the same training is not started twice"
    assert "The same training is under way" in said(page)
    again = open_page("train", data="fruit.csv", run=run.id)  # as a tab that was closed and opened again
    assert "running" in said(again)
    assert "1 of 4" in " ".join(each.proto.text for each in again.get("progress"))

    page.button(key=f"train.cancel.{run.id}").click().run()
    (gate / "open").touch()
    jobs.wait(run, timeout=60)
    page.run()
    assert "cancelled" in said(page)
    page.button(key=f"train.resume.{run.id}").click().run()
    jobs.wait(run, timeout=60)
    page.run()
    assert "finished" in said(page)
    assert run.status.attempt == 2


def test_a_finished_run_has_its_highest_value_and_three_next_steps(open_page, finished: Run, train) -> None:
    page = open_page("train", data="fruit.csv", run=finished.id)
    assert re.search(r"P@5, at most \d+\.\d", said(page))
    assert "The first run on this dataset." in said(page)
    for key, place in (("see_predictions", "predict"), ("see_errors", "errors"), ("compare", "compare")):
        page = open_page("train", data="fruit.csv", run=finished.id)
        page.button(key=f"train.{key}").click().run()
        assert not page.exception
        assert page.query_params["run"] == finished.id
        assert page.session_state["view"].page == place


def test_a_result_is_placed_beside_the_best_other_run(open_page, finished: Run, train, corpus: Path) -> None:
    better = train("one_vs_all", None, corpus, "better")
    page = open_page("train", data="fruit.csv", run=finished.id)
    assert re.search(r"(\d+\.\d (above|below) better at P@1|The same P@1 as better)", said(page))
    page.button(key="train.compare").click().run()
    assert set(page.query_params["runs"].split(",")) == {finished.id, better.id}
    assert page.query_params["reference"] == better.id


def test_the_queue_has_an_order_and_can_be_cancelled_as_a_whole(open_page, corpus: Path) -> None:
    first, second, third = (
        RunStore().create("gated", None, corpus, name=name) for name in ("first", "second", "third")
    )
    page = open_page("train", data="fruit.csv")
    rows = read_component(page, "train_queue")["groups"][0]["rows"]
    assert [row["name"] for row in rows] == ["2. second", "3. third"]
    send_event(page, "train_queue", third.id)
    assert page.query_params["run"] == third.id
    page.button(key=f"train.cancel.{third.id}").click().run()
    assert (third.state, first.state) == ("cancelled", "queued")
    page = open_page("train", data="fruit.csv", run=first.id)
    page.button(key="train.cancel_all").click().run()
    assert not page.exception
    assert {first.state, second.state} == {"cancelled"}


def test_a_failed_run_says_why_with_its_log_and_can_be_resumed(open_page, corpus: Path) -> None:
    from xcwork.runs import worker

    run = RunStore().create("gated", {"error": "disk"}, corpus)
    assert worker.main(run.folder) != 0
    page = open_page("train", data="fruit.csv", run=run.id)
    assert run.status.message[1:] in said(page)
    last = run.read_log(10)
    assert len(last.splitlines()) == 10
    assert last in [code.value for code in page.code]
    assert page.button(key=f"train.resume.{run.id}")


def test_a_run_whose_worker_is_gone_stopped_unexpectedly(open_page, corpus: Path) -> None:
    from dataclasses import replace

    from xcwork.runs import processes
    from xcwork.runs.status import format_now, read_status, write_status

    run = RunStore().create("gated", None, corpus)
    gone = {"pid": 2**22 + 1, "process": "gone", "host": processes.get_host_name(), "updated": format_now()}
    write_status(run.folder, replace(read_status(run.folder), state="running", queued=format_now(), **gone))
    page = open_page("train", data="fruit.csv", run=run.id)
    assert "stopped unexpectedly" in said(page)
    assert page.button(key=f"train.resume.{run.id}")


def test_a_run_folder_that_is_deleted_leaves_the_page_usable(open_page, finished: Run) -> None:
    import shutil

    page = open_page("train", data="fruit.csv", run=finished.id)
    shutil.rmtree(finished.folder)
    page.run()
    assert not page.exception
    assert "No run on this dataset yet" in said(page)


def test_the_next_run_has_the_mark_that_is_shown(open_page, finished: Run, corpus: Path) -> None:
    open_page("train", data="fruit.csv")
    number = training_plan.find_next_number(Source.from_id("fruit.csv"))
    assert number == RunStore().create("gated", None, corpus).number != finished.number


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.01, "0.1 s"),
        (4.04, "4 s"),
        (9.96, "10 s"),
        (26.2, "26 s"),
        (90, "1.5 min"),
        (355, "5.9 min"),
        (360, "6 min"),
        (3000, "50 min"),
        (8280, "2.3 h"),
        (10**6, "278 h"),
    ],
)
def test_durations_in_few_signs(seconds: float, words: str) -> None:
    assert widgets.shorten_seconds(seconds) == words


def test_papers_without_their_titles() -> None:
    assert chosen_method.shorten_paper("Gupta et al., Generalized learning, KDD 2021") == "Gupta et al., KDD 2021"
    assert chosen_method.shorten_paper("A, B, WWW 2018; C, D, 2020") == "A, WWW 2018"


def test_the_curve_that_says_most_is_chosen() -> None:
    lines = {("a", "loss"): [(0, 1.0)], ("a", "P@1"): [(0, 2.0)], ("b", "other"): [(0, 3.0)]}
    assert live_curve.choose_line(lines)[0] == ("a", "P@1")
    assert live_curve.choose_line({("b", "other"): [(0, 3.0)]})[0] == ("b", "other")


def all_fields() -> None:
    import streamlit as st
    from xcwork_app.panels.train.settings_drawer import show_field

    from xcwork.methods.base import Parameter

    kinds = [
        Parameter("count", int, False, 3, "a count", 1, 9, None, False),
        Parameter("rate", float, False, 0.05, "a rate", 0.0, None, None, False),
        Parameter("most", int, True, None, "at most", 1, None, None, False),
        Parameter("on", bool, False, True, "a switch", None, None, None, False),
        Parameter("way", str, False, "a", "a choice", None, None, ("a", "b"), False),
        Parameter("name", str, True, None, "a text", None, None, None, False),
    ]
    st.session_state["found"] = {each.name: show_field(each, each.default, each.name) for each in kinds}


def test_every_kind_of_parameter_has_a_field() -> None:
    page = AppTest.from_function(all_fields).run()
    assert page.session_state["found"] == {
        "count": 3,
        "rate": 0.05,
        "most": None,
        "on": True,
        "way": "a",
        "name": None,
    }
    page.number_input(key="most").set_value(4)
    page.selectbox(key="on").set_value(False).run()
    assert page.session_state["found"]["most"] == 4
    assert page.session_state["found"]["on"] is False
    assert page.number_input(key="count").max == 9


@pytest.mark.parametrize(("default", "step"), [(0.05, 0.01), (1.0, 0.1), (30.0, 10.0), (0.0, 0.1), (None, 0.1)])
def test_the_step_of_a_number_follows_its_default(default: float | None, step: float) -> None:
    assert settings_drawer._choose_step(default) == pytest.approx(step)


def test_help_says_what_is_allowed() -> None:
    parameter = Parameter("rate", float, False, 0.5, "a rate", 0.0, 1.0, None, False)
    assert settings_drawer._write_help(parameter) == "A rate, at least 0, at most 1. On the command line: `rate`"
