"""The forms for issues are valid: a form with an error is left out without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_can_be_read(form: Path) -> None:
    found = yaml.safe_load(form.read_text("utf-8"))
    assert found["name"]
    assert found["description"]
    labels = [field["attributes"]["label"] for field in found["body"]]
    assert len(set(labels)) == len(labels) > 0
    assert {field["type"] for field in found["body"]} <= {"textarea", "input"}
    assert found["body"][0]["validations"]["required"] is True
