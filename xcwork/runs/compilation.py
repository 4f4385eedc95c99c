"""Kernels compiled before anybody waits for them.

numba compiles a kernel when it is first called, and keeps the machine code for later processes. A first training or
prediction after an installation therefore waits for some seconds (`xcwork bench first_call` measures how long), and
many times that on a busy machine. Code for another processor cannot be shipped: numba keeps it by processor and its
features, and code for the least of all processors would be slower for ever. So every method trains and answers once on
a few documents, with the lowest priority, as soon as the dashboard starts (`start_compiling`) or when asked for
(`xcwork compile`). The types of all arguments are those of real data, because these are.

A mark beside the compiled code says for which sources, processor and methods it is there.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcwork import kernels
from xcwork.errors import XcworkError
from xcwork.methods.names import TORCH_METHODS, list_usable_methods
from xcwork.progress import track
from xcwork.runs.locks import FileLock

if TYPE_CHECKING:
    from xcwork.core.dataset import Dataset

SWITCH = "XCWORK_COMPILE"  # "0": the dashboard compiles nothing in advance
# The usual first choices first; what loads torch comes last.
FIRST_METHODS = ("label_tree", "zestxml", "one_vs_all", "tfidf")
# Small enough for seconds, and with every phase of a training; several where the data decide which kernel is used.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "label_tree": [{"leaf_size": 4}, {"leaf_size": 200}],
    "landmarks": [{"landmarks": 6}],
    "siamesexml": [{"epochs": 1, "classifier_epochs": 1}],
    "zestxml": [{}, {"shortlister": "lazy"}],
    "flat": [{"epochs": 1, "min_steps": 0}],
    "mhc": [{"epochs": 1, "min_steps": 0}],
    "mhp": [{"epochs": 1, "min_steps": 0}],
    "mhs": [{"epochs": 1, "min_steps": 0}],
}
WITH_SHORT_TEXTS = ("label_tree",)  # solved otherwise where documents are many for their words
WITHOUT_KERNELS = frozenset({"deep_miml", "popularity", "sentence_match"})
SUBJECTS = ("apple", "bread", "cheese", "fish", "grape", "honey", "melon", "olive", "pepper", "rice", "tea", "wine")
KINDS = ("bitter", "dark", "fresh", "old", "red", "salty", "sweet", "white")


def list_compiled_methods() -> list[str]:
    """Return the methods that have kernels, in the order in which they are compiled."""
    usable = [name for name in list_usable_methods() if name not in WITHOUT_KERNELS]
    order = {name: place for place, name in enumerate(FIRST_METHODS)}
    return sorted(usable, key=lambda name: (name in TORCH_METHODS, order.get(name, len(order)), name))


def is_compiled(methods: Sequence[str] | None = None) -> bool:
    """Tell whether the kernels of `methods` (None: all) were compiled here, for this version and processor."""
    folder = _find_cache_folder()
    return all(_find_mark(folder, name).exists() for name in methods or list_compiled_methods())


def compile_kernels(methods: Sequence[str] | None = None) -> dict[str, float]:
    """Compile what these methods (None: all) train and predict with; return the seconds of each that was missing.

    When another process does the same already, nothing is done.
    """
    folder = _find_cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "compiling.lock")
    if not lock.acquire(holder=str(os.getpid())):
        return {}
    seconds: dict[str, float] = {}
    with lock:
        missing = [name for name in methods or list_compiled_methods() if not _find_mark(folder, name).exists()]
        for name in track(missing, "compiling", total=len(missing)):
            begun = time.perf_counter()
            for settings in SETTINGS.get(name, [{}]):
                _use_method(name, settings, _make_documents("{kind} {subject} and more {subject} from number {number}"))
            if name in WITH_SHORT_TEXTS:
                _use_method(name, SETTINGS[name][-1], _make_documents("{subject}"))
            seconds[name] = time.perf_counter() - begun
            _find_mark(folder, name).touch()
    return seconds


def start_compiling() -> None:
    """Compile what is missing in the background, in a process that nobody has to wait for."""
    if os.environ.get(SWITCH) == "0" or is_compiled():
        return
    # The shell ends at once, so that its child belongs to nobody who would have to collect its exit code.
    command = ["sh", "-c", 'nice -n 19 "$@" >/dev/null 2>&1 &', "sh", sys.executable, "-P", "-m", "xcwork", "compile"]
    with suppress(OSError):
        subprocess.run(command, stdin=subprocess.DEVNULL, start_new_session=True, check=False)


def _use_method(name: str, settings: Mapping[str, Any], data: Dataset) -> None:
    """Train, store, load and ask once: what is loaded has other types of arrays than what was just trained."""
    from xcwork.methods import registry
    from xcwork.methods.base import Method

    try:
        trained = registry.create(name, **settings).fit(data.train)
        trained.predict(data.test, k=5)
        with tempfile.TemporaryDirectory() as folder:
            trained.save(Path(folder) / "model")
            Method.load(Path(folder) / "model").predict("fresh bread with red wine", k=5)
    except XcworkError:
        pass  # such as an extra that is missing: whoever uses the method is told then


def _make_documents(text: str) -> Dataset:
    """Return documents with several labels each, enough of them for a tree of some levels."""
    from xcwork.data.from_memory import from_lists

    pairs = [(kind, subject) for subject in SUBJECTS for kind in KINDS]
    texts = [text.format(kind=kind, subject=subject, number=number) for number, (kind, subject) in enumerate(pairs)]
    return from_lists(
        texts, [[subject, f"{kind} {subject}"] for kind, subject in pairs], name="compiled", language="en"
    )


def _find_cache_folder() -> Path:
    """Return where numba keeps the machine code, which this asks it for without importing it."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given)
    beside = Path(kernels.__file__).with_name("__pycache__")
    if os.access(beside if beside.is_dir() else beside.parent, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"


def _find_mark(folder: Path, method: str) -> Path:
    return folder / f"compiled-{method}-{_describe_machine_code()}.mark"


def _describe_machine_code() -> str:
    """Return what compiled code depends on, as a short key: sources, numba, Python and processor."""
    digest = hashlib.sha256()
    for source in sorted(Path(kernels.__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    for fact in (version("numba"), platform.python_version(), platform.machine(), _read_processor()):
        digest.update(fact.encode())
    return digest.hexdigest()[:12]


def _read_processor() -> str:
    """Return the name of the processor and its features, where the system tells them."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    return "".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))
