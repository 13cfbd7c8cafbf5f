"""``sglang ... 2>&1 | mamba-advisor``: the whole program in a pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo" / "boot.log"
DENSE = ROOT / "fixtures" / "boots" / "dense" / "boot.log"
FAILED = ROOT / "fixtures" / "boots" / "failed-state-cache" / "boot.log"
PROGRAM = [sys.executable, "-m", "mamba_advisor"]
PATIENCE_S = 60.0

Start = Callable[..., "subprocess.Popen[bytes]"]


def pipe(
    data: bytes,
    *arguments: str,
    shell: str = "",
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Send *data* through the program, with redirections *shell* if any."""
    command = [*PROGRAM, *arguments]
    if shell:
        command = ["sh", "-c", f'"$@" {shell}', "sh", *command]
    return subprocess.run(
        command,
        input=data,
        capture_output=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        timeout=PATIENCE_S,
    )


@pytest.fixture
def start() -> Iterator[Start]:
    """Return what starts the filter with open pipes; ends what is left of it."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=ROOT,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for(stream: IO[bytes] | None, words: bytes) -> bytes:
    """Read from *stream* until *words* have come."""
    assert stream is not None
    got = b""
    end = time.monotonic() + PATIENCE_S
    while words not in got and time.monotonic() < end:
        part = os.read(stream.fileno(), 1 << 16)
        assert part, f"the stream ended with {got[-300:]!r}"
        got += part
    return got


def documents(text: bytes) -> list[Any]:
    """Return the JSON documents that stand one after the other in *text*."""
    decoder, rest, found = json.JSONDecoder(), text.decode().strip(), []
    while rest:
        document, end = decoder.raw_decode(rest)
        found.append(document)
        rest = rest[end:].strip()
    return found


@pytest.mark.parametrize(
    ("log", "status"), [(DEMO, 0), (DENSE, 4), (FAILED, 5), (Path(os.devnull), 3)]
)
def test_log_is_untouched_and_the_status_is_that_of_analyze(
    log: Path, status: int
) -> None:
    """Every byte goes to stdout; the exit status is the one of ``analyze``."""
    data = log.read_bytes()

    done = pipe(data, "-L", "8k")

    assert data == done.stdout
    assert status == done.returncode
    assert done.stderr


def test_advice_comes_twice_in_any_format() -> None:
    """JSON comes when the boot is complete, and once more at the end of input."""
    done = pipe(DEMO.read_bytes(), "-L", "8k", "--format", "json")

    first, last = documents(done.stderr)
    assert first["outcome"] == last["outcome"] == "ready"
    assert 137837 == last["kv_pool"]["tokens"]


def test_flags_on_stderr() -> None:
    """Launch flags can be had from a pipe; without a workload the status is 2."""
    done = pipe(DEMO.read_bytes(), "-L", "8k", "--format", "flags")
    without = pipe(DEMO.read_bytes(), "--format", "flags")

    assert done.stderr.startswith(b"--m")
    assert (0, 2) == (done.returncode, without.returncode)
    assert b"-L" in without.stderr


def test_advice_comes_while_the_server_runs(start: Start) -> None:
    """At the ready line the advice is there, though the log goes on."""
    process = start("-L", "16k")
    assert process.stdin is not None

    process.stdin.write(DEMO.read_bytes())
    said = wait_for(process.stderr, b"Basis")

    assert b"32 requested" in said
    assert process.poll() is None
    process.stdin.write(b"the last line")
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert DEMO.read_bytes() + b"the last line" == out


def test_failed_boot_is_advised_on_at_once(start: Start) -> None:
    """When the boot has failed the advice does not wait for the end."""
    process = start("-L", "8k")
    assert process.stdin is not None

    process.stdin.write(FAILED.read_bytes())

    assert b"Verdict" in wait_for(process.stderr, b"Basis")


def test_signal_asks_for_the_advice(start: Start) -> None:
    """SIGUSR1 brings the full advice in mid-stream."""
    process = start("-L", "16k")
    assert process.stdin is not None
    process.stdin.write(DEMO.read_bytes())
    wait_for(process.stderr, b"Sessions")
    wait_for(process.stdout, b"ready to roll!")
    time.sleep(0.5)

    process.send_signal(signal.SIGUSR1)

    assert b"32 requested" in wait_for(process.stderr, b"Sessions")


def test_interrupt_passes_on_the_shutdown_and_advises(start: Start) -> None:
    """After Ctrl-C the server's last lines pass; then advice, and status 130."""
    process = start("-L", "16k")
    assert process.stdin is not None
    process.stdin.write(DEMO.read_bytes())
    wait_for(process.stdout, b"ready to roll!")

    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.stdin.write(b"Gracefully exiting...\n")
    out, said = process.communicate(timeout=PATIENCE_S)

    assert out.endswith(b"Gracefully exiting...\n")
    assert b"Verdict" in said
    assert 130 == process.returncode


def test_reader_that_leaves(tmp_path: Path) -> None:
    """When stdout is closed the log is read to its end, and advised on."""
    log = DEMO.read_bytes()
    copies = 1 + (2 << 20) // len(log)  # more than a pipe holds
    done = pipe(log * copies, "-L", "8k", shell="| head -1")

    assert 1 == done.stdout.count(b"\n")
    assert b"Verdict" in done.stderr
    assert b"cannot write the log on" in done.stderr


@pytest.mark.parametrize(
    ("shell", "status"), [(">&-", 0), ("2>&-", 0), ("<&-", 2), (">/dev/full", 0)]
)
def test_closed_descriptors(shell: str, status: int) -> None:
    """Whatever is closed or full, there is no traceback, and the status is right."""
    done = pipe(DEMO.read_bytes(), "-L", "8k", shell=shell)

    assert status == done.returncode
    assert b"Traceback" not in done.stderr


FAILS = r"""
import sys
from mamba_advisor.scan.scanner import Scanner

def filled(self, count):
    raise RuntimeError("\x1b[31mnot\nError: forged")

sys.argv = ["mamba-advisor"]
from mamba_advisor.__main__ import main
Scanner.filled = filled
main()
"""
"""The program, with a reader that has an error of its own."""


def test_failure_of_our_own_is_said_once() -> None:
    """The log passes all the same; one harmless line tells, and the status is 70."""
    done = subprocess.run(
        [sys.executable, "-c", FAILS],
        input=DEMO.read_bytes() * 30,
        capture_output=True,
        check=False,
        cwd=ROOT,
        timeout=PATIENCE_S,
    )

    said = (
        "mamba-advisor: cannot read on: RuntimeError: \\x1b[31mnot Error: forged; the"
        " log is still passed through\n"
    )
    heard = done.stderr.decode().lstrip()
    assert (DEMO.read_bytes() * 30, said) == (done.stdout, heard)
    assert 70 == done.returncode


def test_catastrophic_dialect_is_stopped(tmp_path: Path) -> None:
    """Its fuse stops it; it is named, and the log passes all the same."""
    slow = tmp_path / "acme.toml"
    slow.write_text(
        'schema = 1\nname = "acme"\n[[pattern]]\nname = "slow"\nevent = "x"\n'
        'anchor = "acme "\nregex = "acme (?:é|éé)*!"\n'
        '[[pattern.sample]]\nline = "acme é!"\nfacts = {}\n'
    )
    data = f"acme {'é' * 20_000}\n".encode() + DEMO.read_bytes()

    done = pipe(data, "--parser", str(slow))

    assert (data, 2) == (done.stdout, done.returncode)
    assert 1 == done.stderr.count(b"\n")
    assert b"pattern 'slow': its regex is too slow: stopped on line 1" in done.stderr


def test_broken_dialect_stops_the_start(tmp_path: Path) -> None:
    """A dialect that is not sound stops the program before it reads anything."""
    broken = tmp_path / "acme.toml"
    broken.write_text("schema = 2\n")

    done = pipe(DEMO.read_bytes(), "--parser", str(broken))

    assert 2 == done.returncode
    assert b"acme.toml" in done.stderr
    assert 1 == done.stderr.count(b"\n")


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"TERM": "dumb", "FORCE_COLOR": "1"},
        {"HOME": "/nonexistent", "COLUMNS": "20"},
    ],
    ids=["C", "ascii", "dumb", "homeless"],
)
def test_poor_environment(environment: dict[str, str]) -> None:
    """Advice comes in any environment, for a pipe as for a file."""
    data = DEMO.read_bytes()

    piped = pipe(data, "-L", "8k", environment=environment)
    read = pipe(b"", "analyze", str(DEMO), "-L", "8k", environment=environment)

    assert (0, 0) == (piped.returncode, read.returncode)
    assert data == piped.stdout
    assert b"Verdict" in piped.stderr
    assert b"Verdict" in read.stdout
