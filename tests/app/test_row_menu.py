"""The menu of a run or dataset: rename, duplicate settings, open folder, delete, put back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from xcwork_app.panels.shared import row_menu
from xcwork_app.sources import Source

from tests.support.pages import find_box, read_component, send_event
from xcwork.runs import Run, RunStore


def use_menu(page, run: Run, action: str):
    return send_event(page, "home_run_list", f"{action}\n{run.id}", event="menu")


def use_dataset_menu(page, source: str, action: str):
    return send_event(page, "data_sources", f"{action}\n{source}", event="menu")


def said(page) -> str:
    return " ".join(each.value for each in (*page.markdown, *page.error)).replace("\\", "")


def list_names(page) -> list[str]:
    return [row["name"] for group in read_component(page, "home_run_list")["groups"] for row in group["rows"]]


def test_a_run_is_renamed_everywhere_at_once(open_page, finished: Run) -> None:
    page = use_menu(open_page(data="fruit.csv"), finished, "Rename")
    assert page.text_input(key="row_menu.name").value == "done <b>"
    page.text_input(key="row_menu.name").set_value("better name")
    page.button(key="row_menu.rename").click().run()
    assert finished.name == "better name"
    assert list_names(page) == ["better name"]
    assert page.selectbox(key="shell.run").options == ["better name"]
    assert not any(each.key == "row_menu.name" for each in page.text_input), "the dialog is closed"


def test_a_deleted_run_is_gone_and_comes_back(open_page, finished: Run) -> None:
    page = use_menu(open_page(data="fruit.csv", run=finished.id), finished, "Delete")
    assert "Its model, predictions, label map and thresholds go with it." in said(page)
    page.button(key="row_menu.delete").click().run()
    assert RunStore().list() == []
    assert not read_component(page, "home_run_list")["groups"]
    assert "run" not in page.query_params
    assert "Deleted **done <b>**" in said(page)
    page.button(key="row_menu.put_back").click().run()
    assert [run.id for run in RunStore().list()] == [finished.id]
    assert list_names(page) == ["done <b>"]
    assert "Deleted" not in said(page)


def test_somebody_may_keep_it(open_page, finished: Run) -> None:
    page = use_menu(open_page(data="fruit.csv"), finished, "Delete")
    page.button(key="row_menu.keep").click().run()
    assert [run.id for run in RunStore().list()] == [finished.id]
    assert not any(button.key == "row_menu.delete" for button in page.button)


def test_the_offer_to_put_back_ends_with_the_page(open_page, finished: Run) -> None:
    page = use_menu(open_page(data="fruit.csv"), finished, "Delete")
    page.button(key="row_menu.delete").click().run()
    page.button(key="home.start.train").click().run()
    assert page.title[0].value == "Train"
    assert not any(button.key == "row_menu.put_back" for button in page.button)


def test_settings_are_duplicated_on_the_train_page(open_page, finished: Run) -> None:
    page = use_menu(open_page(data="fruit.csv"), finished, "Duplicate settings")
    assert page.title[0].value == "Train"
    assert page.query_params["method"] == "gated"
    assert page.session_state[row_menu.SETTINGS_OF] == finished.id
    assert page.selectbox(key="train.gated.preset").value == "Like done <b>"
    page.switch_page("app_pages/train.py").run()  # AppTest does not follow by itself
    page.button(key="train.settings").click().run()
    assert page.number_input(key="train.gated.Like done <b>.0.steps").value == 3


def test_the_folder_can_be_copied(open_page, finished: Run) -> None:
    page = use_menu(open_page(data="fruit.csv"), finished, "Open folder")
    assert str(finished.folder) in [code.value for code in page.code]


def test_the_menu_follows_the_state(finished: Run, corpus: Path, open_page) -> None:
    open_page(data="fruit.csv")
    waiting = RunStore().create("gated", None, corpus)
    assert row_menu.list_run_actions(finished) == ("Rename", "Duplicate settings", "Open folder", "Delete")
    assert row_menu.list_run_actions(waiting)[0] == "Cancel"
    row_menu.ask_about_run(waiting.id, "Cancel")
    assert waiting.state == "cancelled"
    assert row_menu.list_run_actions(waiting)[:2] == ("Resume", "Rename")


def test_a_dataset_is_renamed_with_its_runs_and_in_the_side_bar(open_page, finished: Run, home: Path) -> None:
    page = use_dataset_menu(open_page("data", data="fruit.csv", run=finished.id), "fruit.csv", "Rename")
    page.text_input(key="row_menu.name").set_value("orchard")
    page.button(key="row_menu.rename").click().run()
    assert page.query_params["data"] == "orchard.csv"
    assert page.query_params["run"] == finished.id
    assert find_box(page, "shell.data").value == "orchard.csv"
    assert "fruit.csv" not in find_box(page, "shell.data").options
    assert (home / "data" / "orchard.csv").is_file()
    assert finished.config["data"].endswith("orchard.csv")


@pytest.mark.parametrize("name", ["", "../up", "pyseealso.csv/x"])
def test_an_impossible_name_is_a_sentence_and_changes_nothing(open_page, corpus: Path, name: str) -> None:
    page = use_dataset_menu(open_page("data", data="fruit.csv"), "fruit.csv", "Rename")
    page.text_input(key="row_menu.name").set_value(name)
    page.button(key="row_menu.rename").click().run()
    assert page.error
    assert corpus.is_file()


def test_deleting_a_dataset_names_its_runs(open_page, finished: Run, corpus: Path) -> None:
    shutil.copyfile(corpus, corpus.with_name("second.csv"))
    page = use_dataset_menu(open_page("data", data="fruit.csv"), "fruit.csv", "Delete")
    assert "1 run goes with it: **done <b>**" in said(page)
    page.button(key="row_menu.delete").click().run()
    assert not corpus.exists()
    assert RunStore().list() == []
    assert page.query_params["data"] == "second.csv", "one of the datasets that are left"
    assert "fruit.csv" not in find_box(page, "shell.data").options
    page.button(key="row_menu.put_back").click().run()
    assert corpus.is_file()
    assert "fruit.csv" in find_box(page, "shell.data").options


def test_only_own_datasets_can_be_deleted(home: Path, corpus: Path, tmp_path: Path) -> None:
    outside = shutil.copyfile(corpus, tmp_path / "outside.csv")
    assert row_menu.list_dataset_actions(Source("pyseealso")) == ()
    assert row_menu.list_dataset_actions(Source.from_data(outside)) == ("Open folder",)
    assert row_menu.list_dataset_actions(Source("fruit.csv")) == ("Rename", "Open folder", "Delete")


def test_a_button_opens_the_same_menu(open_page, corpus: Path) -> None:
    page = open_page("data", data="fruit.csv")
    page.menu_button(key="data.menu").click("Open folder").run()
    assert str(corpus) in [code.value for code in page.code]


def test_an_action_on_a_run_that_is_gone_does_nothing(open_page, finished: Run) -> None:
    page = open_page(data="fruit.csv")
    shutil.rmtree(finished.folder)
    use_menu(page, finished, "Delete")
    assert not any(button.key == "row_menu.delete" for button in page.button)
