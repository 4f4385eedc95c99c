"""Texts that people read avoid the phrases that CONTRIBUTING.md lists: they read like a translation."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.support.paths import ROOT

CALQUES = re.compile(
    r"\bms an? (document|label)\b|\bone row an? (label|document)\b|\bthe (training|test) part\b"
    r"|\bcarr(y|ies|ied) (a|the|no) labels?\b"
    r"|\bspeaks? (for|against) (a|the|it|this)\b|\bsuffices?\b|\bmade anew\b|\bgoes on from a\b|\bstrangers\b"
    r"|\bre(fus|ject)ed (in|with) a sentence\b|\bhas no say\b|\bcannot be told from\b|\bunder the lens\b|\bby way of\b"
    r"|\b(ms|MB|GB|kB|kilobytes|Gflop|Gflop/s) an? [a-z]|\bone an? (line|row|core|machine)\b|\bof today\b"
    r"|\bquiet (machine|cores)\b|\banew\b|\bspeaks? of\b|\bdoes otherwise\b|\bin the place of\b"
    r"|\bis no (answer|attribute|recommendation|sparse matrix)\b|\bwithout a person\b|\bneeds? no person\b"
    r"|\bbrought (it|them) in\b",
    re.IGNORECASE,
)
SPOKEN_OF = {"CONTRIBUTING.md", "tests/test_words.py", "CHANGELOG.md"}  # they name the phrases, or quote the past


@pytest.mark.skipif(
    not (ROOT / ".git").exists(), reason="this is not a checkout, so nothing says which files belong to it"
)
def test_no_text_reads_like_a_translation() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    found = []
    for name in tracked:
        if not name.endswith((".py", ".md", ".ipynb", ".js", ".css", ".sh", ".toml")) or name in SPOKEN_OF:
            continue
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), start=1):
            found += [f"{name}:{number}: {match[0]}" for match in CALQUES.finditer(line)]
    assert not found, "say it in plain words (CONTRIBUTING.md has a list):\n" + "\n".join(found)
