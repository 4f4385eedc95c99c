"""The dashboard's server: on this machine only, for its own pages only, with a limit for uploads."""

from __future__ import annotations

import base64
import http.client
import itertools
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.paths import ROOT
from tests.support.server import find_free_port, serving
from xcwork.cli import app

CONFIG = tomllib.loads((ROOT / "app" / ".streamlit" / "config.toml").read_text())
STREAM, UPLOAD = "/_stcore/stream", "/_stcore/upload_file"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a dashboard that `xcwork app` started."""
    home = tmp_path_factory.mktemp("home")
    # Settings of the user's that would open the server must not get through.
    opened = {"STREAMLIT_SERVER_ENABLE_CORS": "false", "STREAMLIT_SERVER_ADDRESS": "0.0.0.0"}
    with serving(home, opened, home / "server.log", cwd=home) as server:
        yield server.port


def ask(
    port: int, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    length = {} if body is None else {"Content-Length": str(len(body))}
    for name, value in ({"Host": f"127.0.0.1:{port}"} | length | (headers or {})).items():
        connection.putheader(name, value)
    connection.endheaders(body)
    return connection.getresponse()


def shake_hands(port: int, **headers: str) -> int:
    """The status of a WebSocket handshake, which is how every page talks to its session; 101 opens it."""
    key = base64.b64encode(bytes(16)).decode()
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13"}
    return ask(port, "GET", STREAM, upgrade | headers).status


@pytest.mark.slow
def test_it_listens_on_the_loopback_address_only(port: int) -> None:
    listening = "0A"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    rows += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    places = [row[1] for row in rows if row[3] == listening and int(row[1].rpartition(":")[2], 16) == port]
    assert places == [f"0100007F:{port:04X}"]


@pytest.mark.slow
def test_a_page_of_its_own_may_talk_to_it(port: int) -> None:
    assert shake_hands(port, Origin=f"http://127.0.0.1:{port}") == 101
    assert shake_hands(port, Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 101


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null"])
def test_a_page_from_elsewhere_may_not(port: int, origin: str) -> None:
    assert shake_hands(port, Origin=origin) in (400, 403)


@pytest.mark.slow
@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:80"])
def test_a_name_that_was_rebound_to_this_machine_is_refused(port: int, host: str) -> None:
    """DNS rebinding: page and server seem to be of one origin, but the name is not ours."""
    assert shake_hands(port, Host=host, Origin=f"http://{host}") in (400, 403)


@pytest.mark.slow
def test_no_answer_invites_other_origins(port: int) -> None:
    for path in ("/", "/_stcore/health", "/_stcore/host-config"):
        answer = ask(port, "GET", path, {"Origin": "https://evil.example"})
        assert answer.getheader("Access-Control-Allow-Origin") not in ("*", "https://evil.example"), path


@pytest.mark.slow
def test_an_upload_needs_a_session_and_its_token(port: int) -> None:
    assert ask(port, "PUT", f"{UPLOAD}/nobody/file", body=b"x").status in (400, 401, 403, 404)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/static/..%2f..%2f..%2fetc%2fpasswd", "/media/../../etc/passwd"]
)
def test_no_address_leads_to_other_files(port: int, path: str) -> None:
    assert b"root:" not in ask(port, "GET", path).read()


@pytest.mark.slow
def test_no_program_interface_is_open(port: int) -> None:
    answer = ask(port, "POST", "/_stcore/agent/interact", {"Content-Type": "application/json"}, b"{}")
    assert answer.status >= 400


def test_the_settings_say_so_too() -> None:
    server = CONFIG["server"]
    assert server["address"] == "127.0.0.1"
    assert set(server["allowedHosts"]) == {"127.0.0.1", "localhost"}
    assert server["enableCORS"] is True
    assert server["enableXsrfProtection"] is True
    assert server["enableAgentApi"] is False
    assert 0 < server["maxUploadSize"] <= 500
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["client"]["disableDataExport"] is True


def test_another_name_needs_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("the server was started"))
    done = CliRunner().invoke(app, ["app", "--allow-host", "lab.example.org", "--home", str(tmp_path)])
    assert done.exit_code == 2
    assert "login" in done.stderr


def test_with_a_login_it_may_be_shared_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text('[auth]\nclient_id = "x"\n[xcwork]\nusers = ["a@b.c"]\n')
    monkeypatch.chdir(tmp_path)
    seen: list[str] = []

    def become(_: str, command: list[str], environment: dict[str, str]) -> None:
        seen.extend(command)
        raise SystemExit

    monkeypatch.setattr(os, "execve", become)
    arguments = ["app", "--port", str(find_free_port()), "--allow-host", "lab.example.org", "--home", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    named = [value for option, value in itertools.pairwise(seen) if option == "--server.allowedHosts"]
    assert named == ["127.0.0.1", "localhost", "lab.example.org"]
    assert "--server.address" in seen
    assert seen[seen.index("--server.address") + 1] == "127.0.0.1"
