"""Many users on the dashboard at once while a training runs: errors, time of a rerun, memory of the server.

    python -m benchmarks.load --users 20 --minutes 10 [--home FOLDER] [--limit 2.0] [--seed 0] [--out FILE.json]

A server on a free port of 127.0.0.1 serves `pyseealso` with finished runs, which are trained first where `--home` does
not have them. Every user is a session of its own with the messages a browser would send: it opens a page (another
page, run, document or label every time), waits until the page is complete, looks at it for a few seconds, and goes on;
now and then a user closes the tab and opens another. Trainings follow each other in the background all the while.
Before that every page is opened once, which is not counted: it loads libraries and data.

It ends with exit code 1 when any page shows an error, when the 95th percentile of the time of a rerun exceeds the
limit, or when the server's memory still grows in the second half by more than a tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks._browsing import Seen, Session, Visit, percentile
from benchmarks._common import conditions, described, markdown_table, write_json
from tests.support.server import Server, serving
from xcwork.runs import Run, RunStore, jobs

DATA = "pyseealso"
FINISHED = ("tfidf", "zestxml")  # runs that users look at
TRAINED = "one_vs_all"  # runs in the background
PAGES = ("", "data", "train", "predict", "errors", "compare", "label_map", "labs")  # the home page has no name
LOOKING = (1.0, 5.0)  # seconds a user looks at a page
NEW_TAB = 0.05  # share of visits that happen in a new tab
WARM_PATIENCE, SAMPLE_EVERY = 600.0, 5.0  # seconds
GROWTH = 1.1


def prepared(home: Path) -> list[Run]:
    """The runs that users look at."""
    store = RunStore(home)
    have = {run.config["method"]: run for run in store.list() if run.state == "finished"}
    for method in FINISHED:
        if method not in have:
            have[method] = store.create(method, {}, DATA)
            if jobs.wait(jobs.launch(have[method])).state != "finished":
                raise SystemExit(f"{method} could not be trained: {have[method].status.message}")
    return [have[method] for method in FINISHED]


def random_visit(rng: random.Random, runs: Sequence[Run], labels: Sequence[str], documents: int) -> Visit:
    """A page with choices that a user could make."""
    query = {"run": rng.choice(runs).id, "document": str(rng.randrange(documents)), "k": str(rng.choice((5, 10)))}
    if rng.random() < 0.5:
        query["label"] = rng.choice(labels)
    return Visit(rng.choice(PAGES), query)


async def user(number: int, port: int, until: float, arranged: tuple[Any, ...], seed: int, seen: list[Seen]) -> None:
    """Look at pages until the time is over."""
    rng, seen_by_me = random.Random(f"{seed} {number}"), list[Seen]()
    await asyncio.sleep(rng.uniform(0, LOOKING[1]))  # people do not arrive at the same moment
    session = await Session.open(port)
    try:
        while time.monotonic() < until:
            if rng.random() < NEW_TAB or (seen_by_me and seen_by_me[-1].error):
                await session.close()
                session = await Session.open(port)
            seen_by_me.append(await session.visit(random_visit(rng, *arranged)))
            await asyncio.sleep(rng.uniform(*LOOKING))
    finally:
        seen += seen_by_me
        await session.close()


async def warm_up(port: int, runs: Sequence[Run]) -> None:
    """Open every page once: the first visit after a start imports libraries and loads the data, whoever makes it."""
    session = await Session.open(port)
    for page in PAGES:
        for run in runs:
            first = await session.visit(Visit(page, {"run": run.id}), WARM_PATIENCE)
            if first.error:
                raise SystemExit(f"the page {page or 'home'} does not open: {first.error}")
    await session.close()


async def training(home: Path, until: float) -> int:
    """One training after the other; how many finished."""
    store, finished = RunStore(home), 0
    while time.monotonic() < until:
        run = await asyncio.to_thread(jobs.launch, store.create(TRAINED, {"seed": finished}, DATA))
        while run.status.is_active and time.monotonic() < until:
            await asyncio.sleep(0.5)
        if run.status.is_active:
            jobs.cancel(run)
        while run.status.is_active:
            await asyncio.sleep(0.2)
        finished += run.state == "finished"
        if run.state not in ("finished", "cancelled"):
            raise SystemExit(f"the training in the background is {run.state}: {run.status.message}")
    return finished


async def memory(server: Server, until: float, samples: list[float]) -> None:
    """The resident memory of the server every few seconds, in MB."""
    while time.monotonic() < until:
        samples.append(server.memory_mb())
        await asyncio.sleep(SAMPLE_EVERY)


async def simulate(server: Server, home: Path, runs: list[Run], arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything at once."""
    from xcwork import load_dataset

    data = load_dataset(DATA, home=home)
    arranged = (runs, data.labels.names, len(data.test))
    port = urlsplit(server.address).port
    await warm_up(port, runs)
    until = time.monotonic() + 60 * arguments.minutes
    seen: list[Seen] = []
    samples: list[float] = []
    users = [user(number, port, until, arranged, arguments.seed, seen) for number in range(arguments.users)]
    trained, *_ = await asyncio.gather(training(home, until), memory(server, until, samples), *users)
    return {"seen": seen, "memory": samples, "trainings": trained}


def table(seen: Sequence[Seen]) -> list[dict[str, Any]]:
    """Figures of every page and of all of them."""
    rows = []
    for page in (*PAGES, "all"):
        mine = [visit for visit in seen if page in (visit.page, "all")]
        seconds = [visit.seconds for visit in mine]
        quantiles = {name: round(percentile(seconds, share), 2) for name, share in (("median", 0.5), ("p95", 0.95))}
        rows.append(
            {
                "page": page or "home",
                "reruns": len(mine),
                "errors": sum(bool(visit.error) for visit in mine),
                **quantiles,
                "slowest": round(max(seconds, default=0.0), 2),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--home", type=Path, help="keep data and runs here; default: a temporary folder")
    parser.add_argument("--limit", type=float, default=2.0, help="seconds that 95 %% of the reruns may take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", metavar="FILE.json", help="write the raw figures here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = (arguments.home or Path(scratch)).absolute()
        home.mkdir(parents=True, exist_ok=True)
        runs = prepared(home)
        facts = conditions()
        with serving(home) as server:
            found = asyncio.run(simulate(server, home, runs, arguments))
    rows, samples = table(found["seen"]), found["memory"]
    half, whole = max(samples[: len(samples) // 2 or 1]), max(samples)
    loads = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    sys.stdout.write(
        f"{markdown_table(rows)}\n\n{found['trainings']} trainings finished; server memory {samples[0]:.0f} MB "
        f"at first, at most {half:.0f} MB in the first half and {whole:.0f} MB in all; load average {loads}\n\n"
        f"{described(facts)}\n"
    )
    for error in sorted({f"{visit.page}: {visit.error}" for visit in found["seen"] if visit.error}):
        sys.stdout.write(f"{error}\n")
    if arguments.out:
        write_json(arguments.out, {"rows": rows, "memory_mb": samples, "trainings": found["trainings"], **facts})
    everything = rows[-1]
    sys.exit(int(bool(everything["errors"]) or everything["p95"] > arguments.limit or whole > GROWTH * half))


if __name__ == "__main__":
    main()
