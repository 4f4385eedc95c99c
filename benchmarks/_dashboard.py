"""A dashboard to measure: its server process, and a session over its websocket as a browser would hold one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

PATIENCE = 300  # seconds


@dataclass(frozen=True)
class Server:
    """A running dashboard."""

    process: subprocess.Popen[bytes]
    address: str
    healthy_after: float  # seconds from the command to the first answer

    def cpu_seconds(self) -> float:
        """The processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """The resident memory of the server process."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def serving(home: Path) -> Iterator[Server]:
    """`xcwork app` over a home folder, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "xcwork", "app", "--port", str(port), "--home", str(home)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(process, address)
        yield Server(process, address, time.perf_counter() - start)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _wait_for(process: subprocess.Popen[bytes], address: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)  # the port cannot tell us when it opens
    raise SystemExit("the dashboard did not start")


class Session:
    """One page of the dashboard, held open as a browser tab holds it, without drawing anything."""

    def __init__(self, connection: ClientConnection, page: str, query: dict[str, str]) -> None:
        self._connection = connection
        self._page, self._query, self._hash = page, urlencode(query), ""

    def rerun(self) -> float:
        """Run the page once more; seconds until the server says that it has finished."""
        message = BackMsg()
        client = message.rerun_script
        client.query_string, client.page_name, client.page_script_hash = self._query, self._page, self._hash
        start = time.perf_counter()
        self._connection.send(message.SerializeToString())
        while True:
            answer = ForwardMsg.FromString(self._connection.recv(PATIENCE, decode=False))
            kind = answer.WhichOneof("type")
            if kind == "new_session":
                self._hash = answer.new_session.page_script_hash
            elif kind == "script_finished" and answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return time.perf_counter() - start
            elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                raise SystemExit(f"{self._page}: {answer.delta.new_element.exception.message}")


@contextmanager
def session(server: Server, page: str, query: dict[str, str]) -> Iterator[Session]:
    """A session on a page; closed, its memory belongs to nobody."""
    url = server.address.replace("http", "ws", 1) + "/_stcore/stream"
    with connect(url, subprotocols=["streamlit"], max_size=None) as connection:
        yield Session(connection, "" if page == "home" else page, query)
