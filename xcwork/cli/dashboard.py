"""`xcwork app` starts the dashboard."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from xcwork.cli.arguments import Home, Json
from xcwork.cli.output import print_result
from xcwork.errors import ConfigError
from xcwork.extras import require_package

LOCAL_ADDRESS = "127.0.0.1"
LOCAL_NAMES = (LOCAL_ADDRESS, "localhost")


def app(
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port on 127.0.0.1.")] = 8501,
    demo: Annotated[bool, typer.Option("--demo", help="First queue demo runs on the embedded dataset.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="A name under which a proxy shares it; see SECURITY.md."),
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Start the dashboard on this machine."""
    from xcwork.paths import find_home

    script = find_dashboard() / "main.py"
    if allow_host and not _has_login():
        raise ConfigError(
            "--allow-host shares the dashboard, so it needs a login: write an [auth] section into "
            ".streamlit/secrets.toml, as SECURITY.md shows"
        )
    _check_port(port)
    from xcwork.runs.compilation import start_compiling
    from xcwork.runs.trash import clear_trash

    clear_trash(find_home())
    if demo:
        _queue_demo_runs(find_home(), as_json)
    start_compiling()
    url = f"http://{LOCAL_ADDRESS}:{port}"
    print_result(
        as_json, {"url": url, "home": str(find_home()), "pid": os.getpid()}, f"xcwork on {url} (Ctrl-C stops it)"
    )
    # -P: a file called numpy.py in the user's folder must not be taken for the library.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(script), "--server.address", LOCAL_ADDRESS]
    command += ["--server.port", str(port), "--server.headless", "true", "--browser.gatherUsageStats", "false"]
    # Settings of the user or of the folder must not open what config.toml closes.
    command += ["--server.enableCORS", "true", "--server.enableXsrfProtection", "true"]
    command += ["--server.enableAgentApi", "false", "--client.disableDataExport", "true"]
    # A full collection after every run looks at every object of libraries, datasets and models: with several visitors
    # the server did little else. Python collects garbage by itself.
    command += ["--runner.postScriptGC", "false"]
    for name in (*LOCAL_NAMES, *(allow_host or ())):
        command += ["--server.allowedHosts", name]
    sys.stdout.flush()
    if as_json:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # The server takes the place of this process, so whoever stops xcwork stops the server.
    os.execve(sys.executable, command, os.environ | {"XCWORK_HOME": str(find_home())})


def find_dashboard() -> Path:
    """Return the folder of the dashboard, which is installed as `xcwork_app`."""
    for package in ("streamlit", "plotly"):
        require_package(package, "the dashboard")
    found = find_spec("xcwork_app")
    if found is None or found.origin is None:
        raise ConfigError("the dashboard is missing; install xcwork again")
    return Path(found.origin).parent


def demo_runs(as_json: Json = False, home: Home = None) -> None:
    """Queue the demo runs and leave; started by `app --demo`."""
    from xcwork.cli.demo import queue_demo_runs

    queue_demo_runs()


def _queue_demo_runs(home: Path, as_json: bool) -> None:
    """Start the demo runs in a process that ends: the server would never collect the exit codes of their workers."""
    command = [sys.executable, "-P", "-m", "xcwork", "demo-runs", "--home", str(home)]
    code = subprocess.run([*command, "--json"] if as_json else command, check=False).returncode
    if code:
        raise typer.Exit(code)


def _has_login() -> bool:
    """Return whether one of the files that Streamlit reads secrets from has an `[auth]` section."""
    for folder in (Path.home(), Path.cwd()):
        try:
            if "auth" in tomllib.loads((folder / ".streamlit" / "secrets.toml").read_text("utf-8")):
                return True
        except (OSError, ValueError):
            continue
    return False


def _check_port(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOCAL_ADDRESS, port))
        except OSError as problem:
            if problem.errno == errno.EACCES:
                raise ConfigError(
                    f"port {port} is reserved for the system; choose one above 1023 with --port"
                ) from None
            raise ConfigError(f"port {port} is in use; stop what runs there, or choose another with --port") from None
