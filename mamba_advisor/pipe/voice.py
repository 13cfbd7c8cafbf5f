"""What the filter says beside the log: notes, and advice made by child processes."""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.pipe.child import Rendering
from mamba_advisor.pipe.outlet import Outlet

MESSAGES = 1 << 20
"""Bytes of advice kept for a stderr that nobody reads; more is not said."""

UNSAID = "the advice could not be shown"


class Voice:
    """Speaks on one outlet, in order, and never waits."""

    def __init__(self, outlet: Outlet, log: Outlet) -> None:
        """Begin with nothing to say.

        Args:
            outlet: Where to speak.
            log: Where the log goes.  Is it the same place, what is said waits until
                no line of the log is half written there.
        """
        self.outlet = outlet
        self._log = log
        self._is_shared = log.identity is not None and log.identity == outlet.identity
        self._texts: list[bytes] = []
        self.at_line_start = True
        """Whether what the log printed last was a whole line."""

        self.child: Rendering | None = None
        """The rendering under way."""

        self._waiting: Callable[[], bytes] | None = None
        self._said: set[str] = set()

    @property
    def busy(self) -> bool:
        """Whether something is still to be said."""
        return self.child is not None or self.outlet.pending > 0

    @property
    def has_floor(self) -> bool:
        """Whether the log must wait: a message is half written to its place."""
        return self._is_shared and self.outlet.pending > 0

    def say(self, sentence: str) -> None:
        """Say a note for people, each once, in one line; it may quote a log."""
        if sentence not in self._said:
            from mamba_advisor.report.safe import safe

            self._said.add(sentence)
            said = safe(" ".join(sentence.split()))
            self._tell(f"mamba-advisor: {said}\n".encode(errors="replace"))

    def have_rendered(self, render: Callable[[], bytes]) -> None:
        """Say what *render* returns, once a rendering under way is done.

        It takes the place of one that waits: boots may follow each other faster than
        advice can be rendered, and the newest is the one that counts.
        """
        self._waiting = render
        self._start()

    def collect(self) -> None:
        """Take what the child has made; say it when it is complete."""
        child = self.child
        if child is None or not child.read():
            return
        self.child = None
        if child.failed:
            reason = child.text.decode(errors="replace") or "its process died"
            self.say(f"{UNSAID}: {reason}")
        elif child.text:
            self._tell(child.text)
        self._start()

    def _start(self) -> None:
        """Begin the next rendering when none is under way."""
        if self.child is None and self._waiting is not None:
            render, self._waiting = self._waiting, None
            try:
                self.child = Rendering(render)
            except Exception as error:  # no process, no pipe: the stream must go on
                self.say(f"{UNSAID}: {type(error).__name__}: {error}")
                return
            if self.child.fd < 0:
                self.collect()

    def _tell(self, text: bytes) -> None:
        """Queue *text*, unless too much waits for a reader already."""
        if self.outlet.pending + sum(map(len, self._texts)) < MESSAGES:
            self._texts.append(text)
            self.speak()

    def speak(self) -> None:
        """Write what is to be said, once the log lets us; it begins a line."""
        if not self._texts or (self._is_shared and self._log.pending):
            return
        text = b"".join(self._texts)
        self._texts.clear()
        if not self.at_line_start:
            text = b"\n" + text
        self.outlet.put(text, 0, len(text))
