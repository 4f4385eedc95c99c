"""A dashboard in a process of its own, over a home folder of its own: for tests, measurements and pictures."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

PATIENCE = 300  # seconds for a first start on a busy machine


@dataclass(frozen=True)
class Server:
    """A running dashboard."""

    process: subprocess.Popen[bytes]
    address: str
    port: int
    healthy_after: float  # seconds from the command to the first answer

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Return the resident memory of the server process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def find_free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(
    home: Path,
    environment: Mapping[str, str] | None = None,
    log: Path | None = None,
    *,
    cwd: Path | None = None,
    interpreter_options: Sequence[str] = (),
) -> Iterator[Server]:
    """Run `xcwork app` over the folder `home`, stopped at the end."""
    command = [sys.executable, *interpreter_options, "-m", "xcwork", "app", "--home", str(home), "--port"]
    with serving_command(command, environment, log, cwd=cwd) as server:
        yield server


@contextmanager
def serving_script(script: Path, log: Path | None = None) -> Iterator[Server]:
    """Run one Streamlit script with the dashboard's configuration, stopped at the end."""
    command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port"]
    with serving_command(command, None, log, cwd=ROOT / "app") as server:
        yield server


@contextmanager
def serving_command(
    command: Sequence[str], environment: Mapping[str, str] | None, log: Path | None, *, cwd: Path | None = None
) -> Iterator[Server]:
    """Run a command that serves at the port that follows it, stopped at the end."""
    port = find_free_port()
    start = time.perf_counter()
    with Path(log or os.devnull).open("wb") as out:
        process = subprocess.Popen(
            [*command, str(port)], cwd=cwd, stdout=out, stderr=out, env={**os.environ, **(environment or {})}
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(process, address, log)
        yield Server(process, address, port, time.perf_counter() - start)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait_for(process: subprocess.Popen[bytes], address: str, log: Path | None) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)  # the port cannot tell us when it opens
    raise SystemExit("the dashboard did not start" + (f":\n{log.read_text()}" if log else ""))
