"""Boots to draw, and a real browser to look at them.

The browser is driven through a pipe: no package for it, no port, no network.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mamba_advisor.advice.model import Advice, Finding, Severity, Workload
from mamba_advisor.fleet import Task, analyze_one
from mamba_advisor.runtime.model import Bucket, Evidence, Spread, WorkerEvidence

DEMO = Path(__file__).resolve().parents[2] / "fixtures" / "demo" / "boot.log"
"""17 of 32 requests in force; at 16,384 tokens the KV pool carries 8."""

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\"'&"
"""What a model's name or a log line may try: markup, colours, reversed letters."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
TIMEOUT_S = 60

LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for end, wanted in zip(ends, (3, 4)):
    os.dup2(end, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""A program that becomes the browser, with the two pipes where it looks for them."""


def demo(context: int | None = 16_384) -> Advice:
    """Return the advice on the recorded boot."""
    workload = Workload(context, "option" if context else None)
    (outcome,) = analyze_one(str(DEMO), Task(workload, curves="all"))
    assert outcome.advice is not None
    return outcome.advice


def with_run(advice: Advice) -> Advice:
    """Return *advice* with three slices of a run, a minute apart."""
    slices = (
        Bucket("2026-09-14 12:00:00", 4.0, 0.0, 0.25, 0.5),
        Bucket("2026-09-14 12:01:00", 8.5, 2.0, None, 1.0),
        Bucket("2026-09-14 12:02:00", 8.0, 12.0, 0.5, 0.98),
    )
    seen = WorkerEvidence(
        "", 300, 0, "", 16_384, None, Spread(7.0, 9.0), Spread(4.0, 12.0),
        Spread(0.4, 0.5), Spread(0.8, 1.0), 3.0, 0.5, 0.99, 0.5, 2, None, "kv", "",
    )  # fmt: skip
    run = Evidence(seen, timeline=slices, seconds=120.0)
    return replace(advice, boot=replace(advice.boot, runtime=run))


def hostile(advice: Advice) -> Advice:
    """Return *advice* with trouble in every text that comes from outside."""
    boot = replace(
        advice.boot,
        source=replace(advice.boot.source, name=f"{HOSTILE}.log"),
        architecture=HOSTILE,
        excerpts={7: f"model_path={HOSTILE}"},
    )
    finding = Finding("hostile", Severity.WARNING, f"says {HOSTILE}", (7,))
    bars = tuple(replace(bar, rank=HOSTILE) for bar in advice.curves.memory)
    return replace(
        advice,
        boot=boot,
        verdict=replace(advice.verdict, headline=f"V {HOSTILE}", detail=HOSTILE),
        findings=(finding,),
        curves=replace(advice.curves, memory=bars),
    )


@pytest.fixture(scope="session")
def state_bound() -> Advice:
    """Return the recorded boot at 16,384 tokens a request."""
    return demo()


@pytest.fixture(scope="session")
def no_context() -> Advice:
    """Return the recorded boot where nobody said how long requests are."""
    return demo(None)


@pytest.fixture(scope="session")
def ran(state_bound: Advice) -> Advice:
    """Return the recorded boot with a run of two minutes."""
    return with_run(state_bound)


@pytest.fixture(scope="session")
def attacked(state_bound: Advice) -> Advice:
    """Return a boot whose log was written by an enemy."""
    return hostile(state_bound)


class Browser:
    """Chromium with one page, spoken to in the DevTools protocol.

    Messages are JSON, each ended by a zero byte, on file descriptors 3 and 4.
    """

    def __init__(self, program: str, profile: Path) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        flags = (*FLAGS, f"--user-data-dir={profile}", "about:blank")
        ends = (str(theirs_in), str(theirs_out))
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *ends, program, *flags],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._received = b""
        self._number = 0
        self._session = ""
        self.complaints: list[str] = []
        """Console errors, uncaught exceptions, and requests that went anywhere."""
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call *method* and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, path: Path, *, width: int, height: int = 900, dark: bool) -> None:
        """Show the file *path* in a window of *width* pixels."""
        self.complaints.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {
            "name": "prefers-color-scheme",
            "value": "dark" if dark else "light",
        }
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.call("Page.navigate", url=path.as_uri())
        self.wait(f"document.readyState + location.href === 'complete{path.as_uri()}'")

    def run(self, script: str) -> Any:
        """Return what *script* comes to, as JSON knows it."""
        answer = self.call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until the script *condition* is true."""
        deadline = time.monotonic() + TIMEOUT_S
        while not self.run(condition):
            assert time.monotonic() < deadline, f"never true: {condition}"
            time.sleep(0.02)

    def move(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """Press and release a key, named as in ``KeyboardEvent.key``."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self) -> bytes:
        """Return the whole page as PNG."""
        shot = self.call(
            "Page.captureScreenshot", format="png", captureBeyondViewport=True
        )
        return base64.b64decode(shot["data"])

    def close(self) -> None:
        """End the program."""
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _attach(self) -> None:
        """Choose the page, and have it report what happens."""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self.call(
            "Target.attachToTarget", targetId=page["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        # The clipboard answers only to a page that has the focus.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def _next(self) -> dict[str, Any]:
        """Return the next message, and note what the page complains of."""
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._in], [], [], TIMEOUT_S)
            assert ready, "the browser does not answer"
            block = os.read(self._in, 1 << 20)
            assert block, "the browser has ended"
            self._received += block
        line, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{params['type']}: {params['args']}")
        elif method == "Log.entryAdded":
            self.complaints.append(str(params["entry"]))
        elif method == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("file:", "data:")):
                self.complaints.append(f"asks for {url}")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Return a browser; skip where this machine has none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs Chromium (on Debian: apt-get install chromium)")
    started = Browser(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
