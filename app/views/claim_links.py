"""What the row of a claim leads to: the check behind it, a lab that shows it, a run of the method, or a training.

A claim names the command that measures it. From that command, and from what is there, follow at most three next steps.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from xcwork_app import caches
from xcwork_app.views import selection

from xcwork.published.claims import Claim
from xcwork.runs import Run

# Which lab shows what a study checks, or what a place in a paper is about.
LABS = {
    "zestxml-theorem-1.2": "regret",
    "eagle-figure-3": "groups",
    "eagle-figure-6": "groups",
    "multihead-figure-5": "rank",
    "multihead-theorem-3": "rank",
    "multihead-decomposition": "codes",
    "multihead-heads": "codes",
    "multihead-theorem-2": "minima",
    "multihead-theorem-4": "softmax",
    "siamesexml-lemma-1": "movement",
    "siamesexml-claim-17": "chain",
    "siamesexml-claim-18": "chain",
    "eagle-definition-2": "limits",
}
METHODS = {
    "ZestXML": ("zestxml",),
    "SiameseXML": ("siamesexml",),
    "EAGLE": ("eagle", "deep_miml"),
    "Landmarks": ("landmarks",),
    "Multi-head": ("mhc", "mhp", "mhs"),
}
MAX_STEPS = 3


@dataclass(frozen=True)
class ClaimLink:
    """Something to do from the row of a claim."""

    kind: str  # "study", "lab", "run" or "train"
    target: str  # its name, section or id
    title: str

    @property
    def id(self) -> str:
        return f"{self.kind}:{self.target}"


def list_next_steps(claim: Claim) -> list[ClaimLink]:
    """Return what the row offers: first what shows the claim itself, then what shows the method."""
    words = shlex.split(claim.command)
    steps = []
    if words[1:2] == ["study"]:
        steps.append(ClaimLink("study", words[2], "Run the check"))
        if words[2] in LABS:
            steps.append(ClaimLink("lab", LABS[words[2]], "Open the lab"))
    method = _find_method(claim, words)
    runs = [run for run in selection.list_runs(selection.get_source()) if _is_run_of(run, method)]
    best = selection.find_best_run(runs)
    if best is not None:
        steps.append(ClaimLink("run", best.id, f"See the run {best.name}"))
    steps.append(ClaimLink("train", method, f"Train {method}"))
    return steps[:MAX_STEPS]


def _find_method(claim: Claim, words: list[str]) -> str:
    """Return the method that the command trains or measures, else the first of the paper."""
    known = METHODS[claim.paper]
    if words[1:2] == ["train"]:
        return words[2]
    named = [name for name in known if any(name in word.split(",") for word in words)]
    return (named or list(known))[0]


def _is_run_of(run: Run, method: str) -> bool:
    return caches.get_record(run).get("method") == method
