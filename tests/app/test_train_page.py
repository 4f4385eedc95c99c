"""The train page: method cards, the form of every method, estimates, and a run from start through cancel to resume."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from xcwork_app.panels.train import settings_form

from xcwork.methods.base import Parameter
from xcwork.methods.registry import METHODS, method_class
from xcwork.runs import Run, RunStore, jobs

pytestmark = pytest.mark.slow

SMALL = "synthetic:n_documents=60,n_labels=12,n_topics=3,labels_per_document=1.5"


def command(page: AppTest) -> list[str]:
    return next(shlex.split(code.value) for code in page.code if code.value.startswith("xcwork train"))


def said(page: AppTest) -> str:
    return " ".join(each.value for each in (*page.markdown, *page.caption, *page.warning)).replace("\\", "")


def estimates(page: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in page.metric}


@pytest.mark.parametrize("method", ["bm25", "landmarks", "one_vs_all", "zestxml"])
def test_the_form_of_a_method_starts_with_its_defaults(open_page, corpus: Path, method: str) -> None:
    page = open_page("train", data="fruit.csv", method=method)
    cls = method_class(method)
    assert cls.paper in said(page)
    asked = [each for each in (*page.number_input, *page.selectbox, *page.text_input) if each.key.startswith("train.")]
    assert {key.rpartition(".")[2] for key in (each.key for each in asked)} >= set(cls.parameters())
    changed = command(page)[5:]
    # Counts of labels are cut to the labels there are; everything else stays as declared.
    assert all(setting.partition("=")[0] in ("landmarks", "shortlist", "unseen_shortlist") for setting in changed[1::2])


def test_every_registered_method_can_be_chosen(open_page, corpus: Path) -> None:
    page = open_page("train", data="fruit.csv", method="popularity")
    pills = next(each for each in page.button_group if each.key == "train.method")
    assert set(METHODS) <= {option.content for option in pills.proto.options}


def test_a_change_of_a_setting_reaches_the_command(open_page, corpus: Path) -> None:
    page = open_page("train", data="fruit.csv", method="one_vs_all")
    page.number_input(key="train.one_vs_all.Default.C").set_value(0.5)
    page.text_input(key="train.name.0").set_value("my run").run()
    assert command(page) == shlex.split("xcwork train one_vs_all --data fruit.csv --set C=0.5 --name 'my run'")


def test_the_command_of_the_page_is_accepted_by_the_command_line(open_page, corpus: Path) -> None:
    from typer.testing import CliRunner

    from xcwork.cli import app

    page = open_page("train", data="fruit.csv", method="gated")
    page.number_input(key="train.gated.Default.steps").set_value(2).run()
    done = CliRunner().invoke(app, [*command(page)[1:], "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    assert RunStore().list()[0].config["params"]["steps"] == 2


def test_presets_of_an_earlier_run_are_offered(open_page, finished: Run) -> None:
    page = open_page("train", data="fruit.csv", method="gated")
    preset = page.selectbox(key="train.gated.preset")
    assert len(preset.options) == 2
    preset.set_value(preset.options[1]).run()
    assert "steps=3" in command(page)


@pytest.mark.parametrize(
    ("method", "strange", "left_out"),
    [
        ("gated", {"forgotten": 1}, "forgotten is not a parameter of gated"),
        ("gated", {"steps": 0}, "steps must be at least 1, got 0"),
        ("gated", {"steps": None}, "steps must be a whole number"),
        ("gated", {"gate": ["a"]}, "gate must be a text"),
        ("gated", {"error": 2**70}, "error must be a text"),
        ("zestxml", {"variant": "quantum"}, "variant must be one of"),
        ("label_tree", {"trees": 10**9}, "trees must be at most"),
        ("flat", {"epochs": "many"}, "epochs must be a whole number"),
    ],
)
def test_settings_of_a_run_that_are_not_allowed_are_left_out_and_said(
    open_page, finished: Run, method: str, strange: dict[str, object], left_out: str
) -> None:
    file = finished.folder / "config.json"  # as another version of xcwork, or a hand, may have written it
    changes = {"method": method, "params": method_class(method)().get_params() | {"seed": 5} | strange}
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
    preset.set_value(preset.options[1]).run()
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
    page = open_page("train", data="fruit.csv", method="gated")
    assert estimates(page)["Time"] == "under a second"
    assert re.fullmatch(r"about \d{3} MB", estimates(page)["Memory"])
    assert "from a run here on fruit" in said(page)
    page = open_page("train", data=SMALL, method="zestxml")
    assert "a measurement on another machine on" in said(page)


@pytest.mark.parametrize("method", ["popularity", "flat", "zestxml"])
def test_an_estimate_is_words_and_no_factor(open_page, corpus: Path, method: str) -> None:
    page = open_page("train", data="fruit.csv", method=method)
    assert re.fullmatch(r"under a second|about \d+ (seconds?|minutes?)", estimates(page)["Time"])
    assert re.fullmatch(r"about \d{3} MB", estimates(page)["Memory"])
    assert not re.search(r"scaled|\b0\.0", said(page))


def test_a_method_without_measurements_has_no_estimate(open_page, corpus: Path) -> None:
    assert "no estimate" in said(open_page("train", data="fruit.csv", method="gated"))


def test_a_method_that_needs_label_text_is_not_offered_without_it(open_page, home: Path) -> None:
    lines = ["12 4 3", *(f"{i % 3} {i % 4}:1.0" for i in range(12))]
    (home / "data" / "plain.txt").write_text("\n".join(lines) + "\n")
    page = open_page("train", data="plain.txt", method="zestxml")
    assert "needs label texts" in said(page)
    assert page.button(key="train.start").disabled
    assert not open_page("train", data="plain.txt", method="popularity").button(key="train.start").disabled


def test_train_cancel_resume(open_page, corpus: Path, tmp_path: Path, until) -> None:
    gate = tmp_path / "gate"
    gate.mkdir()
    (gate / "open-0").touch()
    page = open_page("train", data="fruit.csv", method="gated")
    page.text_input(key="train.gated.Default.gate").set_value(str(gate)).run()
    page.button(key="train.start").click().run()
    assert not page.exception
    run = RunStore().list()[0]
    assert page.query_params["run"] == run.id
    assert any(state in said(page) for state in ("queued", "running"))

    until((gate / "reached-1").exists, "the second step")
    until(lambda: run.status.phase == "climbing", "the status to say so")
    page.run()
    assert "running" in said(page)
    page.button(key="train.start").click().run()
    assert len(RunStore().list()) == 1, "the same training is not started twice"

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
    assert len(page.get("plotly_chart")) == 1


def test_a_run_of_another_session_is_watched(open_page, corpus: Path) -> None:
    first, second = (RunStore().create("gated", None, corpus, name=name) for name in ("first", "second"))
    page = open_page("train", data="fruit.csv")
    assert "Queue** · 2 runs" in said(page)
    page.button(key=f"train.watch.{second.id}").click().run()
    assert page.query_params["run"] == second.id
    page.button(key=f"train.cancel.{second.id}").click().run()
    assert second.state == "cancelled"
    assert first.state == "queued"


def test_a_failed_run_says_why_and_can_be_resumed(open_page, corpus: Path) -> None:
    from xcwork.runs import worker

    run = RunStore().create("gated", {"error": "disk"}, corpus)
    assert worker.main(run.folder) != 0
    page = open_page("train", data="fruit.csv", run=run.id)
    assert run.status.message in said(page)
    assert page.button(key=f"train.resume.{run.id}")


def test_a_run_folder_that_is_deleted_leaves_the_page_usable(open_page, finished: Run) -> None:
    import shutil

    page = open_page("train", data="fruit.csv", run=finished.id)
    shutil.rmtree(finished.folder)
    page.run()
    assert not page.exception
    assert "No run on this dataset yet" in said(page)


def all_fields() -> None:
    import streamlit as st
    from xcwork_app.panels.train.settings_form import show_field

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
    assert settings_form._choose_step(default) == pytest.approx(step)


def test_help_says_what_is_allowed() -> None:
    parameter = Parameter("rate", float, False, 0.5, "a rate", 0.0, 1.0, None, False)
    assert settings_form._write_help(parameter) == "A rate, at least 0, at most 1. On the command line: `rate`"
