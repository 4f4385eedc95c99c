"""Kill workers and let the world fail around them, hundreds of times, in every method and phase.

    python -m benchmarks.faults --kills 300 [--methods zestxml,mhc] [--fault kill,term,oom,disk,readonly,clock]
                                [--seed 0] [--out FILE.json]

Every trial trains a small run with one fault at one moment: SIGKILL or SIGTERM at a random time, where a phase begins
or ends, before any change to a file or in the middle of it; memory, disk, file system or clock that fail from a random
point on. The run folder must then open and show the right state, its newest checkpoint must be readable, the resumed
run (in some trials killed once more) must end with exactly the metrics, predictions and model of an undisturbed one,
and the finished run beside it must not have changed by a bit. The exit code is 1 when anything of this did not hold.

Half of the trials are kills, the rest is shared among the other faults. Root also gets a small file system that really
fills up. Ctrl-C stops and shows what was found so far. Linux with a C compiler only; see `tests/support/faults/shim.c`.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks._common import conditions, described, markdown_table, write_json
from tests.support.faults import shim

if TYPE_CHECKING:
    from tests.support.faults.trials import Trial


def plan(kinds: list[str], trials: int) -> list[str]:
    """The kinds of fault of one method's trials: every second one a kill, the others in turn."""
    others = [kind for kind in kinds if kind != "kill"]
    if "kill" not in kinds or not others:
        return list(islice(cycle(kinds), trials))
    turns = cycle(others)
    return ["kill" if number % 2 == 0 else next(turns) for number in range(trials)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=300, help="trials in all, shared evenly among the methods")
    parser.add_argument("--methods", default="", help="comma-separated; default: every registered one")
    parser.add_argument("--fault", default="kill,term,oom,disk,readonly,clock", help="comma-separated kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", metavar="FILE.json", help="write every trial here")
    arguments = parser.parse_args()
    if reason := shim.missing():
        raise SystemExit(reason)
    shim.restart_with_library()
    try:
        failed = campaign(arguments)
    finally:
        shutil.rmtree(os.environ[shim.MARK], ignore_errors=True)
    sys.exit(failed)


def campaign(arguments: argparse.Namespace) -> int:
    from tests.support.faults import trials, workload

    kinds = [kind.strip() for kind in arguments.fault.split(",")]
    unknown = [kind for kind in kinds if kind not in trials.FAULTS]
    if unknown:
        raise SystemExit(f"there is no fault {unknown[0]!r}; choose from {', '.join(trials.FAULTS)}")
    names = workload.methods(arguments.methods)
    share = -(-arguments.kills // len(names))
    facts, begun, done = conditions(), time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="xcwork-faults-") as scratch:
        corpus = workload.write_corpus(Path(scratch) / "corpus")
        try:
            for place, method in enumerate(names):
                # Methods go on where the one before stopped, so that few trials still contain every kind.
                chosen = plan(kinds, (place + 1) * share)[place * share :]
                rng = random.Random(f"{arguments.seed} {method}")
                for ended in struck(method, chosen, place, rng, corpus, Path(scratch)):
                    done.append(ended)
                    if ended.problems:
                        sys.stderr.write(f"{ended}\n")
                sys.stderr.write(f"{method}: {len(chosen)} trials, {time.monotonic() - begun:.0f} s\n")
        except KeyboardInterrupt:
            sys.stderr.write(f"stopped after {len(done)} trials\n")
    return summary(done, kinds, facts | {"seconds": round(time.monotonic() - begun)}, arguments.out)


def struck(
    method: str, kinds: list[str], place: int, rng: random.Random, corpus: Path, scratch: Path
) -> Iterator[Trial]:
    """One trial of `method` for each of `kinds`."""
    from tests.support.faults import trials

    template = scratch / f"template-{method}"
    known = trials.undisturbed(method, corpus, template)
    turns: Counter[str] = Counter()
    for number, kind in enumerate(kinds):
        arranged = (known, corpus, template, scratch / f"home-{method}-{number}", rng)
        if kind == "disk" and os.geteuid() == 0 and turns[kind] % 3 == 2:
            yield trials.on_small_disk(method, *arranged)
        else:
            yield trials.trial(method, trials.planned(kind, known, rng, place + turns[kind]), *arranged)
        turns[kind] += 1


def summary(done: list[Trial], kinds: list[str], facts: dict[str, Any], out: str | None) -> int:
    """Print how often each fault struck each method and what became of the runs; 1 when something was wrong."""
    rows = []
    for method in sorted({trial.method for trial in done}):
        mine = [trial for trial in done if trial.method == method]
        struck = {kind: sum(trial.faults for trial in mine if trial.fault.kind == kind) for kind in kinds}
        rows.append({"method": method, **struck, "wrong": sum(bool(trial.problems) for trial in mine)})
    rows.append({"method": "all", **{name: sum(row[name] for row in rows) for name in (*kinds, "wrong")}})
    states = Counter((trial.fault.kind, trial.state) for trial in done)
    seen = [{"fault": kind, "shown as": state, "runs": count} for (kind, state), count in sorted(states.items())]
    sys.stdout.write(f"{markdown_table(rows)}\n\n{markdown_table(seen)}\n\n{described(facts)}\n")
    if out:
        records = [
            {
                "method": t.method,
                "fault": str(t.fault),
                "kind": t.fault.kind,
                "state": t.state,
                "message": t.message,
                "struck": t.faults,
                "problems": t.problems,
            }
            for t in done
        ]
        write_json(out, {"rows": rows, "states": seen, "trials": records, **facts})
    return int(rows[-1]["wrong"] > 0)


if __name__ == "__main__":
    main()
