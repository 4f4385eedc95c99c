"""A session of a dashboard over its websocket, as a browser would hold one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from app.serving import PATIENCE, Server


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
            if kind == "navigation":  # a new session names the script that chooses the page, which would lead home
                self._stay(answer.navigation.page_script_hash)
            elif kind == "page_info_changed":  # the address a browser would show, and send the next time
                self._query = answer.page_info_changed.query_string
            elif kind == "script_finished" and answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return time.perf_counter() - start
            elif kind == "delta" and answer.delta.new_element.WhichOneof("type") == "exception":
                raise SystemExit(f"{self._page}: {answer.delta.new_element.exception.message}")

    def _stay(self, page: str) -> None:
        """Ask for this page from now on; a measurement of another one would be worth nothing."""
        if self._hash not in ("", page):
            raise SystemExit(f"{self._page or 'home'}: the server went to another page")
        self._hash = page


@contextmanager
def session(server: Server, page: str, query: dict[str, str]) -> Iterator[Session]:
    """A session on a page; closed, its memory belongs to nobody."""
    url = server.address.replace("http", "ws", 1) + "/_stcore/stream"
    with connect(url, subprotocols=["streamlit"], max_size=None) as connection:
        yield Session(connection, "" if page == "home" else page, query)
