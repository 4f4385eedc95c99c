"""A user of the dashboard without a browser: the same messages over the same web socket, on this machine only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

PATIENCE = 60.0  # seconds; a page that takes longer counts as an error


@dataclass(frozen=True)
class Visit:
    """One page as an address would open it."""

    page: str
    query: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """How long a visit took, and what was wrong with it."""

    page: str
    seconds: float
    error: str = ""
    at: float = 0.0  # seconds since the epoch of `time.monotonic`


def ends_a_run(message: bytes) -> bool:
    """Is this what the server sends when the script of a page, or a fragment of it, has finished?"""
    return ForwardMsg.FromString(message).WhichOneof("type") == "script_finished"


class Session:
    """One open tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, port: int) -> Session:
        """Connect as a browser on this machine does; the second protocol name stands for a missing token."""
        address = f"127.0.0.1:{port}"
        socket = await connect(
            f"ws://{address}/_stcore/stream",
            origin=f"http://{address}",
            subprotocols=["streamlit", "none"],
            max_size=None,
            compression=None,
            proxy=None,
        )
        return cls(socket)

    async def visit(self, visit: Visit, patience: float = PATIENCE) -> Seen:
        """Ask for the page and wait until its script has finished; after a timeout the session is of no more use."""
        request = BackMsg()
        request.rerun_script.query_string = urlencode(visit.query)
        request.rerun_script.page_name = visit.page
        begun = time.perf_counter()
        await self._socket.send(request.SerializeToString())
        try:
            async with asyncio.timeout(patience):
                error = await self._result()
        except TimeoutError:
            error = f"no answer in {patience:.0f} s"
        return Seen(visit.page, time.perf_counter() - begun, error, time.monotonic())

    async def _result(self) -> str:
        """Read messages up to the end of the script; the first error that the page shows."""
        error = ""
        while True:
            message = ForwardMsg()
            message.ParseFromString(await self._socket.recv(decode=False))
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "exception":
                error = error or message.delta.new_element.exception.message
            elif kind == "page_not_found":
                error = error or "the page was not found"
            elif kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    return error or "the script cannot be compiled"
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    return error

    async def close(self) -> None:
        await self._socket.close()


def percentile(seconds: Sequence[float], share: float) -> float:
    """The value that `share` of the measurements do not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
