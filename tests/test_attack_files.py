"""Files without an end, named where a small one belongs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ENDLESS = Path("/dev/zero")
PATIENCE_S = 30.0


LEAST_MEMORY = ("sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh")
"""What a program is started with that would else fill the memory of the machine."""


def analyze_endless(option: str) -> subprocess.CompletedProcess[str]:
    """Give the device without end to *option*."""
    return subprocess.run(
        [
            *(*LEAST_MEMORY, sys.executable, "-m", "mamba_advisor", "analyze"),
            *("fixtures/demo/boot.log", option, str(ENDLESS)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=20,
    )


@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a device without end")
@pytest.mark.parametrize("option", ["--parser", "--config"])
def test_endless_file_is_refused(option: str) -> None:
    """A device without end is refused in one line, before memory fills up."""
    done = analyze_endless(option)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"Error: {ENDLESS}")
    assert "too large" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a device without end")
@pytest.mark.parametrize("option", ["--metrics", "--server"])
def test_endless_evidence_is_refused(option: str) -> None:
    """Where metrics belong, a device without end is refused in one line."""
    done = analyze_endless(option)

    said = f"Error: {ENDLESS}: larger than 16 MiB\n"
    assert (2, "", said) == (done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(not ENDLESS.exists(), reason="needs a device without end")
@pytest.mark.parametrize("log", [str(ENDLESS), "-"])
def test_endless_log_is_refused(log: str) -> None:
    """A device without end is no log: it would be read for ever."""
    with ENDLESS.open("rb") as endless:
        done = subprocess.run(
            [sys.executable, "-m", "mamba_advisor", "analyze", log],
            stdin=endless,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=20,
        )

    said = f"Error: {log}: is a device, which may have no end; name a file\n"
    assert (2, "", said) == (done.returncode, done.stdout, done.stderr)


WITNESS = """
import os, sys

def witness(event, found):
    if event == "open" and isinstance(found[0], str):
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        is_written = (found[2] or 0) & writes or set(found[1] or "") & set("wax+")
        opened.add(("w" if is_written else "r", found[0]))

opened = set()
sys.addaudithook(witness)
from mamba_advisor.cli import main
try:
    main(sys.argv[1:], prog_name="mamba-advisor")
finally:
    sys.stderr.write("".join(f"{how} {path}\\n" for how, path in sorted(opened)))
"""
"""The program, which tells at its end what it has opened."""


@pytest.mark.parametrize("form", ["table", "json"])
def test_only_named_files_are_opened(form: str, tmp_path: Path) -> None:
    """No TOML but the built-in, no config nearby, and nothing to write to."""
    for name in ("acme.toml", "config.json", "mamba-advisor.toml", "setup.cfg", ".env"):
        (tmp_path / name).write_text("schema = 1\n")
    log = tmp_path / "boot.log"
    log.write_bytes((ROOT / "fixtures" / "demo" / "boot.log").read_bytes())
    done = subprocess.run(
        [sys.executable, "-B", "-c", WITNESS, "analyze", str(log), "--format", form],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    opened = done.stderr.splitlines()

    assert 0 == done.returncode
    assert [f"r {log}"] == [one for one in opened if str(tmp_path) in one]
    assert [] == [one for one in opened if one.startswith("w ")]
    tomls = {Path(one[2:]).parent for one in opened if one.endswith(".toml")}
    assert {ROOT / "parsers"} == tomls


def children(pid: int) -> list[int]:
    """Return the processes that *pid* has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def is_running(pid: int) -> bool:
    """Return whether the process *pid* has not ended."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_workers_end_with_the_program(tmp_path: Path) -> None:
    """Processes that read many logs do not outlive one that was killed."""
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    for log in logs:
        os.mkfifo(log)  # nobody writes: reading it takes for ever
    program = subprocess.Popen(
        [sys.executable, "-m", "mamba_advisor", "analyze", *map(str, logs)], cwd=ROOT
    )
    end = time.monotonic() + PATIENCE_S
    while not (workers := children(program.pid)) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)

    program.kill()
    program.wait()
    while any(map(is_running, workers)) and time.monotonic() < end:
        time.sleep(0.05)

    left = [worker for worker in workers if is_running(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    assert workers
    assert [] == left


MISCHIEF = """
import os, shutil, sys
from pathlib import Path
from mamba_advisor.scan.scanner import Scanner

log, began = Path(sys.argv[-1]), []

def filled(self, count, genuine=Scanner.filled):
    if not began:
        began.append(count)
        {mischief}
    genuine(self, count)

Scanner.filled = filled
from mamba_advisor.__main__ import main
main()
"""
"""The program, with somebody who does something to the log while it is read."""


@pytest.mark.parametrize(
    ("mischief", "said"),
    [
        ("os.truncate(log, 0)", "the file was shortened while it was read"),
        ("os.truncate(log, 3 << 20)", "the file was shortened while it was read"),
        ("os.unlink(log)", ""),
        ("os.unlink(log); log.write_text('another file')", ""),
        ("os.unlink(log); log.mkdir()", ""),
        ("log.open('a').write('Decode batch' * 1_000_000)", ""),
    ],
)
def test_log_that_changes_while_it_is_read(
    mischief: str, said: str, tmp_path: Path
) -> None:
    """What was opened is advised on; one line says what is missing of it."""
    log = tmp_path / "server.log"
    boot = (ROOT / "fixtures" / "demo" / "boot.log").read_bytes()
    log.write_bytes(boot + b"[2026-03-07 04:31:24] a line without facts\n" * 150_000)
    done = subprocess.run(
        [
            *(sys.executable, "-c", MISCHIEF.format(mischief=mischief)),
            *("analyze", "--format", "json", str(log)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=PATIENCE_S,
    )

    assert done.returncode == 0
    assert '"outcome": "ready"' in done.stdout
    assert said in done.stderr
    assert done.stderr.count("\n") == bool(said)


NOBODY = """
import pwd

def getpwuid(number):
    raise KeyError(number)

pwd.getpwuid = getpwuid
from mamba_advisor.__main__ import main
main()
"""
"""The program, for a user that no table knows, as in many containers."""


@pytest.mark.parametrize("arguments", [[], ["--config", "~/model"]])
def test_user_without_a_home(arguments: list[str]) -> None:
    """Neither a name nor a home of the user is needed."""
    done = subprocess.run(
        [sys.executable, "-c", NOBODY, "analyze", "fixtures/demo/boot.log", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={name: os.environ[name] for name in os.environ if name != "HOME"},
        timeout=PATIENCE_S,
    )

    assert done.returncode == (2 if arguments else 0)
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == len(arguments) // 2
