"""Small trainings of every method, and what is known of each of them when nothing gets in its way."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xcwork.methods.registry import METHODS, find_method_class, list_usable_methods
from xcwork.runs import Run, RunStore

MULTI_HEAD = {"epochs": 2, "min_steps": 0}
SHORT: dict[str, dict[str, Any]] = {
    "deep_miml": {"epochs": 2, "min_steps": 0},
    "flat": MULTI_HEAD,
    "mhc": MULTI_HEAD,
    "mhp": MULTI_HEAD,
    "mhs": MULTI_HEAD,
    "siamesexml": {"epochs": 2, "classifier_epochs": 2},
}
TOPICS = ("sun", "wind", "rice", "bread", "chess", "piano", "river", "stone", "glass", "paper", "rope", "lamp")
N_TRAIN, N_TEST, GROUP = 48, 16, 4


def write_corpus(folder: Path) -> Path:
    """Documents that speak about the labels they have, with noise; the last label occurs in the test split alone."""
    folder.mkdir(parents=True)
    rng = random.Random(7)

    def document(number: int, topics: list[int]) -> dict[str, Any]:
        words = [f"{TOPICS[topic]}{rng.randrange(3)}" for topic in topics for _ in range(4)]
        noise = [f"word{rng.randrange(40)}" for _ in range(6)]
        return {
            "uid": f"d{number}",
            "title": " ".join(TOPICS[topic] for topic in topics),
            "content": " ".join(words + noise),
            "labels": [f"l{topic}" for topic in topics],
        }

    train = [document(i, rng.sample(range(len(TOPICS) - 1), 2)) for i in range(N_TRAIN)]
    test = [document(N_TRAIN + i, rng.sample(range(len(TOPICS)), 2)) for i in range(N_TEST)]
    labels = [{"uid": f"l{i}", "title": f"{name} {name}0 {name}1"} for i, name in enumerate(TOPICS)]
    for name, rows in (("train", train), ("test", test), ("labels", labels)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def params_of(method: str) -> dict[str, Any]:
    """Few epochs; the CPU, so that every machine does the same."""
    return SHORT.get(method, {}) | ({"device": "cpu"} if "device" in find_method_class(method).parameters() else {})


def methods(chosen: str = "") -> list[str]:
    """The registered methods whose packages are installed, or those named in a comma-separated list."""
    wanted = [name.strip() for name in chosen.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in METHODS]
    if unknown:
        raise SystemExit(f"there is no method {unknown[0]!r}; choose from {', '.join(METHODS)}")
    return wanted or sorted(list_usable_methods())


@dataclass(frozen=True)
class Known:
    """An undisturbed training: its result, how long it takes, and where it can be struck."""

    result: str
    seconds: float
    changes: int  # to files below the home folder
    allocations: int  # of memory that are not tiny
    boundaries: tuple[tuple[int, str], ...]  # (number of the sign of progress, phase) where phases begin and end
    signs: int  # signs of progress in all


def result_of(run: Run) -> str:
    """Metrics, predictions and model as one digest: equal only when all of them are equal to the last bit."""
    report, topk = run.read_report().to_dict(), run.read_topk()
    figures = {name: report[name] for name in ("metrics", "seen", "unseen", "bands")}
    digest = hashlib.sha256(json.dumps(figures, sort_keys=True).encode())
    for content in (topk.ids.tobytes(), topk.scores.tobytes(), (run.folder / "model/arrays.safetensors").read_bytes()):
        digest.update(content)
    return digest.hexdigest()


def digest_of(folder: Path) -> dict[str, str]:
    """Every file below `folder` with a digest of its content."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@contextmanager
def copied_home(template: Path, folder: Path, *, with_cache: bool) -> Iterator[RunStore]:
    """A home folder with the finished run of `template` in it, which vanishes afterwards."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    if not with_cache:
        shutil.rmtree(folder / "data", ignore_errors=True)
    try:
        yield RunStore(folder)
    finally:
        for entry in folder.iterdir():
            shutil.rmtree(entry)
