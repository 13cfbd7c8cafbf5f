"""What all tests share: goldens, a quiet environment, the material beside us."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

PATIENCE_S = 20.0
"""Longest wait for something that takes milliseconds on an idle machine."""

HANGS_S = 60.0
"""Time after which a process that relays is taken to hang."""


def pytest_configure() -> None:
    """Let Ctrl-C reach what a test starts, also where the tests run in background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Return a check of text against a golden file.

    ``UPDATE_GOLDEN=1`` rewrites the file and fails the test, so that a rewrite is
    always read by somebody before it counts.
    """

    def check(path: Path, actual: str) -> None:
        if os.environ.get("UPDATE_GOLDEN") == "1":
            path.write_text(actual, encoding="utf-8")
            pytest.fail(f"{path.name} rewritten; read the diff and run again")
        assert path.read_text(encoding="utf-8") == actual

    return check


@pytest.fixture(autouse=True)
def usual_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs that a test starts buffer their output, as they do for users."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)


@pytest.fixture(autouse=True)
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide dialect plug-ins that happen to be installed where the tests run."""
    monkeypatch.setattr("mamba_advisor.catalog.entry_points", lambda *, group: ())


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every test the same terminal: 80 columns, nobody's wish about colour."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of published logs and reference figures beside the checkout."""
    if not (SHARED / "logs").is_dir():
        pytest.skip("needs the material in ../shared, which is not part of the project")
    return SHARED


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serve(pages: dict[str, Answer]) -> Iterator[str]:
    """Serve *pages* on the loopback device and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = pages.get(self.path)
            answer(self) if answer else self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Stay silent."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that left is what some tests are about."""

    running = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}"
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.fixture
def server() -> Callable[[dict[str, Answer]], AbstractContextManager[str]]:
    """Return what serves pages, path -> answer, while it is entered."""
    return serve


class Talk(subprocess.Popen[bytes]):
    """A process that is talked to through its pipes."""

    def put(self, data: bytes) -> None:
        """Write *data* to its input, all of it."""
        assert self.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.stdin.write(view) :]

    def read_stdout(self, wanted: bytes) -> bytes:
        """Read its output until *wanted* has come."""
        return _read_until(self.stdout, wanted)

    def read_stderr(self, wanted: bytes) -> bytes:
        """Read what it says until *wanted* has come."""
        return _read_until(self.stderr, wanted)

    def end(self) -> tuple[bytes, bytes, int]:
        """Close its input; return the rest of both outputs and the exit status."""
        assert self.stdin is not None
        self.stdin.close()
        self.stdin = None
        out, said = self.communicate(timeout=PATIENCE_S)
        return out, said, self.returncode


def _read_until(pipe: IO[bytes] | None, wanted: bytes) -> bytes:
    """Read from *pipe* until *wanted* has come; fail when it ends before, or waits."""
    assert pipe is not None
    got = b""
    while wanted not in got:
        ready, _, _ = select.select([pipe], [], [], PATIENCE_S)
        assert ready, f"nothing comes after {got[-200:]!r}"
        part = os.read(pipe.fileno(), 1 << 16)
        assert part, f"ended with {got[-200:]!r}"
        got += part
    return got


RELAY = """
import json, os, sys
from mamba_advisor.pipe import Moment, relay

class Listener:
    def __init__(self):
        self.fed, self.calls = 0, 0
    def feed(self, block):
        self.fed += len(block)
        self.calls += 1
    def due(self, moment):
        if moment is Moment.ENDED:
            return lambda: f"ended after {self.fed}\\n".encode()
        if moment is Moment.ASKED:
            return lambda: f"asked after {self.fed}\\n".encode()
BODY
result = relay(0, 1, 2, Listener(), **OPTIONS)
sys.exit(result.status(0))
"""
"""A program that relays with a listener of its own; see `start_relay`."""


@pytest.fixture
def start_relay() -> Iterator[Callable[..., Talk]]:
    """Return a function that starts a process around `mamba_advisor.pipe.relay`.

    It takes more lines for the listener class or after it, further arguments for
    `relay`, and what `subprocess.Popen` takes; all three streams are pipes.
    """
    started: list[Talk] = []
    watchdogs: list[threading.Timer] = []

    def start(body: str = "", options: str = "{}", **popen: Any) -> Talk:
        program = RELAY.replace("BODY", body).replace("OPTIONS", options)
        for stream in ("stdin", "stdout", "stderr"):
            popen.setdefault(stream, subprocess.PIPE)
        process = Talk([sys.executable, "-c", program], cwd=ROOT, bufsize=0, **popen)
        started.append(process)
        # Who waits for a process that hangs gets the end of a pipe, and fails.
        watchdogs.append(threading.Timer(HANGS_S, process.kill))
        watchdogs[-1].start()
        return process

    yield start
    for watchdog in watchdogs:
        watchdog.cancel()
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def started_filter() -> Iterator[Talk]:
    """Yield the filter, started without options; all three streams are pipes."""
    process = Talk(
        [sys.executable, "-m", "mamba_advisor"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    yield process
    process.kill()
    process.communicate()
