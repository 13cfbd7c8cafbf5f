"""``analyze`` beside a running server: ``--follow``, ``--metrics``, ``--server``."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mamba_advisor.cli import main

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
SERVED = ROOT / "fixtures" / "runtime"
LOG = SERVED / "qwen3next-pin20-0.5.23.log"
PAGES = {
    "/metrics": (SERVED / "qwen3next-pin20-0.5.23.prom").read_bytes(),
    "/server_info": (SERVED / "qwen3next-pin20-0.5.23.json").read_bytes(),
}
PATIENCE_S = 60.0


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the recorded server did."""

    def do_GET(self) -> None:
        """Send a recorded page."""
        page = PAGES.get(self.path)
        self.send_response(404 if page is None else 200)
        self.end_headers()
        self.wfile.write(page or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""


@pytest.fixture
def server() -> Iterator[str]:
    """Yield the address of a recorded server."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_address[1]}"
        served.shutdown()
        thread.join()


def analyze(*arguments: object) -> Result:
    """Run ``mamba-advisor analyze`` in this process."""
    return CliRunner().invoke(main, ["analyze", *map(str, arguments)])


def test_metrics_give_the_context(server: str) -> None:
    """The workload is measured: 4 requests ran, and the state pool of 20 was short."""
    shown = analyze(LOG, "--metrics", server, "--format", "json")

    document = json.loads(shown.stdout)
    assert 0 == shown.exit_code
    assert "measured" == document["workload"]["origin"]
    assert "state" == document["runtime"]["hot_pool"]
    assert 4 == document["runtime"]["running"]["max"]


def test_option_wins_over_what_was_measured(server: str) -> None:
    """``-L`` is what the user plans for, whatever runs now."""
    shown = analyze(LOG, "--metrics", server, "-L", "16k", "--format", "json")

    workload = json.loads(shown.stdout)["workload"]
    assert (16384, "option") == (workload["avg_context"], workload["origin"])


def test_server_without_a_log(server: str) -> None:
    """A server whose log is lost is asked for its arguments, metrics for its slots."""
    shown = analyze("--server", server, "--metrics", server, "--format", "json")

    document = json.loads(shown.stdout)
    assert 0 == shown.exit_code
    assert (20, 69102184) == (
        document["state_pool"]["slots"],
        document["kv_pool"]["tokens"],
    )
    assert "0.5.23" == document["sglang"]["version_low"]


def test_server_fills_in_what_the_log_lacks(server: str, tmp_path: Path) -> None:
    """Arguments come from the server where the log has none, pools from the log."""
    short = tmp_path / "short.log"
    lines = [line for line in LOG.read_text().splitlines() if "server_args" not in line]
    short.write_text("\n".join(lines))

    shown = analyze(short, "--server", server, "--format", "json")

    document = json.loads(shown.stdout)
    assert {"value": 20, "origin": "option"} == (
        document["settings"]["max_mamba_cache_size"]
    )
    assert 20 == document["state_pool"]["slots"]


@pytest.mark.parametrize("option", ["--server", "--metrics"])
def test_nobody_answers(option: str) -> None:
    """An address where nobody listens is exit 2, in one line."""
    failed = analyze(LOG, option, "http://127.0.0.1:9")

    assert 2 == failed.exit_code
    assert 1 == failed.stderr.count("\n")
    assert "127.0.0.1:9" in failed.stderr


def follow(path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start ``analyze --follow`` on *path*."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "mamba_advisor",
            "analyze",
            path,
            "--follow",
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )


def ended(
    process: subprocess.Popen[bytes], after_s: float, number: int
) -> tuple[bytes, bytes]:
    """Send a signal after a while; return what comes on stdout and on stderr."""
    try:
        time.sleep(after_s)
        process.send_signal(number)
        return process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[bytes], words: bytes) -> bytes:
    """Read the process's stdout until *words* have come."""
    assert process.stdout is not None
    got, end = b"", time.monotonic() + PATIENCE_S
    while words not in got and time.monotonic() < end:
        part = os.read(process.stdout.fileno(), 1 << 16)
        assert part, f"it ended with {got!r}"
        got += part
    return got


def test_follow_through_rotation(tmp_path: Path) -> None:
    """Advice comes when the boot is complete, also across a rotation, and at Ctrl-C."""
    data = DEMO.read_bytes()
    half = data.index(b"\n", len(data) // 2) + 1
    log = tmp_path / "server.log"
    log.write_bytes(data[:half])
    process = follow(log, "-L", "16k")
    try:
        time.sleep(1.5)
        log.rename(tmp_path / "server.log.1")
        log.write_bytes(data[half:])
        first = wait_for(process, b"Sessions")
        process.send_signal(signal.SIGINT)
        last, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()

    assert b"32 requested" in first
    assert b"32 requested" in last
    assert (b"", 0) == (said, process.returncode)


def test_follow_gives_one_document(tmp_path: Path) -> None:
    """JSON comes once, at the end; SIGTERM ends with 143."""
    log = tmp_path / "server.log"
    log.write_bytes(DEMO.read_bytes())
    process = follow(log, "--format", "json")
    out, _ = ended(process, 2.5, signal.SIGTERM)

    assert 137837 == json.loads(out)["kv_pool"]["tokens"]
    assert 143 == process.returncode


def test_follow_a_missing_file() -> None:
    """What cannot be opened is exit 2."""
    failed = analyze("none.log", "--follow")

    assert 2 == failed.exit_code
    assert "none.log" in failed.stderr


@pytest.mark.parametrize(
    ("form", "data", "document"),
    [
        ("json", b"no log\n", b"[]\n"),
        ("flags", b"no log\n", b""),
        ("flags", (ROOT / "fixtures/boots/tp4-clean/boot.log").read_bytes(), b""),
    ],
)
def test_follow_says_errors_beside_the_document(
    form: str, data: bytes, document: bytes, tmp_path: Path
) -> None:
    """What cannot be advised on is said on stderr, where no name forges anything."""
    log = tmp_path / "a\x1b[31m\u202e.log"
    log.write_bytes(data)
    process = follow(log, "--format", form)
    out, said = ended(process, 1.5, signal.SIGINT)

    assert document == out
    assert said.startswith(b"Error: ")
    assert 1 == said.count(b"\n")
    assert b"\x1b" not in said
    assert "\u202e".encode() not in said
