"""Hunt for inputs that crash, hang or swell xcwork: readers, models, run folders, configuration.

    python scripts/fuzz.py --inputs 1000000                     # all targets, each with its share
    python scripts/fuzz.py --inputs 50000 --target readers --seed 7
    python scripts/fuzz.py --inputs 50000 --engine atheris      # guided by coverage; needs `pip install atheris`
    python scripts/fuzz.py --replay tests/security/findings     # what was found before

Every target runs in a worker process under a limit of memory; a worker that dies or falls silent is a finding too, and
the hunt goes on after it. Findings are written as files that `tests/security` replays.
"""

from __future__ import annotations

import argparse
import json
import mmap
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FINDINGS = ROOT / "tests" / "security" / "findings"
SHARES = {"readers": 0.3, "model": 0.1, "run": 0.1, "config": 0.5}
SILENCE = 120.0  # seconds without a word after which a worker is taken to hang; nothing in it should take 2
INSTRUMENTED = ["xcwork.data", "xcwork.storage.state", "xcwork.runs", "xcwork.options", "xcwork.methods.base"]
LONGEST_ENTROPY = 1024  # bytes that atheris may use to draw one input


class EntropyRandom(random.Random):
    """A generator whose choices are the bytes of the coverage-guided engine; zeros when they run out."""

    def __init__(self, entropy: bytes) -> None:
        super().__init__()
        self._entropy, self._at = entropy, 0

    def getrandbits(self, k: int) -> int:
        size = (k + 7) // 8
        taken = self._entropy[self._at : self._at + size].ljust(size, b"\0")
        self._at += size
        return int.from_bytes(taken, "little") >> (8 * size - k)

    def random(self) -> float:
        return self.getrandbits(24) / 2**24


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="how many, over all targets")
    parser.add_argument("--target", choices=[*SHARES, "all"], default="all")
    parser.add_argument("--forms", default="", help="samples of the readers to change, such as arrow,excel (all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=["seeded", "atheris"], default="seeded")
    parser.add_argument("--findings", type=Path, default=FINDINGS, help="folder for what is found")
    parser.add_argument("--replay", type=Path, help="folder of earlier findings to try again")
    parser.add_argument("--worker", nargs=3, metavar=("FOLDER", "FIRST", "LAST"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        return work(arguments)
    if arguments.replay is not None:
        return replay(arguments.replay)
    targets = SHARES if arguments.target == "all" else {arguments.target: 1.0}
    total, found, begun = 0, 0, time.monotonic()
    print(f"{'target':8} {'inputs':>9} {'read':>9} {'findings':>8} {'peak MB':>8} {'slowest s':>9}  slowest input")
    for target, share in targets.items():
        tally = hunt(arguments, target, round(share * arguments.inputs))
        total, found = total + tally["inputs"], found + tally["findings"]
        print(
            f"{target:8} {tally['inputs']:9,} {tally['results']:9,} {tally['findings']:8} {tally['peak_mb']:8,.0f} "
            f"{tally['slowest']:9.2f}  {tally['slowest_input']}",
            flush=True,
        )
    engine = f"{arguments.engine}, seed {arguments.seed}"
    print(f"{total:,} inputs, {found} findings, {time.monotonic() - begun:,.0f} s ({engine})")
    return int(found > 0)


def hunt(arguments: argparse.Namespace, target: str, inputs: int) -> dict[str, Any]:
    """Workers one after the other until all inputs are done; a dead one costs one input."""
    first, sums = 0, {"inputs": 0, "results": 0, "findings": 0, "peak_mb": 0.0, "slowest": 0.0, "slowest_input": ""}
    while first < inputs:
        with tempfile.TemporaryDirectory(prefix="xcwork-fuzz-") as folder:
            last = [{}, *watched(arguments, target, Path(folder), first, inputs)][-1]
            for name in ("inputs", "results", "findings"):
                sums[name] += last.get(name, 0)
            sums["peak_mb"] = max(sums["peak_mb"], last.get("peak_mb", 0.0))
            if last.get("slowest", 0.0) > sums["slowest"]:
                sums["slowest"], sums["slowest_input"] = last["slowest"], last["slowest_input"]
            if last.get("done"):
                return sums
            at = int.from_bytes((Path(folder) / "at").read_bytes()[:8], "little")
            kept = arguments.findings / f"{target}-{arguments.seed}-{at}-crash"
            print(f"the worker died at input {arguments.seed}/{target}/{at}; its files are in {kept}", file=sys.stderr)
            sums["inputs"] += at - first + 1 - last.get("inputs", 0)
            sums["findings"] += 1
            save_crash(arguments, target, at, Path(folder))
            first = at + 1
    return sums


def save_crash(arguments: argparse.Namespace, target: str, at: int, folder: Path) -> None:
    """The input that a worker died on, as a finding; it is still in the folder."""
    prepare()
    from tests.support.fuzzing.hunting import Finding

    input_folder = next(path for path in (folder / "runs" / "fuzz", folder / "input") if path.is_dir())
    files = {str(f.relative_to(input_folder)): f.read_bytes() for f in input_folder.rglob("*") if f.is_file()}
    Finding(target, f"{arguments.seed}/{target}/{at}", "the process died or fell silent", files).write(
        arguments.findings
    )


def watched(
    arguments: argparse.Namespace, target: str, folder: Path, first: int, last: int
) -> Iterator[dict[str, Any]]:
    """The reports of one worker; it is killed when it falls silent."""
    command = [sys.executable, __file__, "--target", target, "--seed", str(arguments.seed)]
    command += ["--engine", arguments.engine, "--findings", str(arguments.findings), "--forms", arguments.forms]
    command += ["--worker", str(folder), str(first), str(last)]
    lines: queue.Queue[str | None] = queue.Queue()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:

        def listen() -> None:
            for line in process.stdout or ():
                lines.put(line)
            lines.put(None)

        threading.Thread(target=listen, daemon=True).start()
        patience = 20 * SILENCE  # training the sample models takes minutes on a slow machine
        while True:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                process.kill()
                return
            if line is None:
                return
            patience = SILENCE
            if line.startswith("{"):  # atheris has something to say as well
                yield json.loads(line)


def prepare() -> None:
    """Make the fuzzer of the tests importable."""
    sys.path.insert(0, str(ROOT))


def work(arguments: argparse.Namespace) -> int:
    """One worker: inputs FIRST to LAST of one target, a line of JSON now and then."""
    prepare()
    guided = arguments.engine == "atheris"
    if guided:
        import atheris

        with atheris.instrument_imports(include=INSTRUMENTED):
            import xcwork.data.load
            import xcwork.methods.base
            import xcwork.options
            import xcwork.runs.store  # noqa: F401
    from tests.support.fuzzing.hunting import Tally, limited, walk, warm_up

    folder, first, last = Path(arguments.worker[0]), int(arguments.worker[1]), int(arguments.worker[2])
    target, place = made_target(arguments.target, folder, arguments.forms)
    warm_up(target, place)
    written = 0

    def tell(tally: Tally, number: int) -> None:
        nonlocal written
        for finding in tally.findings[written:]:
            finding.write(arguments.findings)
        written = len(tally.findings)
        facts = {"inputs": tally.inputs, "results": tally.results, "findings": written, "peak_mb": tally.peak_mb}
        facts |= {"slowest": tally.slowest, "slowest_input": tally.slowest_input, "done": number + 1 >= last}
        print(json.dumps(facts), flush=True)

    with (folder / "at").open("wb+") as file, limited():
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        at = mmap.mmap(file.fileno(), 8)
        if guided:
            guide(target, arguments, place, range(first, last), at, tell)
            return 0
        at[:8] = first.to_bytes(8, "little")
        tallies = walk(target, arguments.target, arguments.seed, range(first, last), place)
        for number, tally in zip(range(first, last), tallies, strict=False):
            if tally.inputs % 256 == 0 or number + 1 == last:
                tell(tally, number)
            at[:8] = (number + 1).to_bytes(8, "little")
    return 0


def made_target(name: str, folder: Path, forms: str = "") -> tuple[Any, Path]:
    """(the target with its samples, the folder its inputs are laid out in)."""
    from tests.support.fuzzing.targets import TARGETS

    scratch = folder / "scratch"
    scratch.mkdir()
    options = {"forms": tuple(forms.split(","))} if forms and name == "readers" else {}
    return TARGETS[name](scratch, **options), folder / "runs" / "fuzz" if name == "run" else folder / "input"


def guide(target: Any, arguments: argparse.Namespace, place: Path, numbers: range, at: mmap.mmap, tell: Any) -> None:
    """Let atheris choose the entropy that inputs are drawn with; it ends the process itself."""
    import signal

    import atheris

    from tests.support.fuzzing.hunting import Tally, _stop, feed

    tally = Tally()
    signal.signal(signal.SIGPROF, _stop)

    def one_input(entropy: bytes) -> None:
        number = numbers.start + tally.inputs
        at[:8] = number.to_bytes(8, "little")
        feed(target, arguments.target, f"atheris/{number}", target.draw(EntropyRandom(entropy)), place, tally)
        if tally.inputs % 256 == 0 or number + 1 >= numbers.stop:
            tell(tally, number)

    options = [f"-runs={len(numbers) + 8}", f"-seed={arguments.seed + 1}", f"-max_len={LONGEST_ENTROPY}"]
    atheris.Setup([sys.argv[0], *options, "-rss_limit_mb=0", "-verbosity=0", "-len_control=0"], one_input)
    atheris.Fuzz()


def replay(folder: Path) -> int:
    """Feed earlier findings again; those that still are one are printed."""
    prepare()
    from tests.support.fuzzing.hunting import Finding, Tally, feed

    still = 0
    with tempfile.TemporaryDirectory(prefix="xcwork-fuzz-") as scratch:
        made: dict[str, Any] = {}
        for path in sorted(folder.glob("*.json")):
            finding, tally = Finding.read(path), Tally()
            if finding.target not in made:
                place = Path(scratch) / finding.target
                place.mkdir()
                made[finding.target] = made_target(finding.target, place)
            target, place = made[finding.target]
            feed(target, finding.target, finding.number, finding.files, place, tally)
            still += len(tally.findings)
            for found in tally.findings:
                print(f"{path.name}: {found.what}")
    print(f"{still} of the earlier findings are findings still")
    return int(still > 0)


if __name__ == "__main__":
    sys.exit(main())
