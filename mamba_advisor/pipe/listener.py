"""Who listens to a relayed log, and how the relaying ended."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from mamba_advisor.record import Record


class Moment(Enum):
    """When a listener is asked for something to say."""

    FED = "after input"
    ASKED = "SIGUSR1: everything"
    ENDED = "at the end of the input"


class Listener(Protocol):
    """What watches the stream.

    What it raises is reported once on stderr, and it gets no more bytes.
    """

    def feed(self, block: memoryview) -> None:
        """Look at the next bytes; *block* is overwritten after the call."""

    def due(self, moment: Moment) -> Callable[[], bytes] | None:
        """Return what renders the text to show now, None for nothing.

        Whatever is to be remembered about it (that it was said) is remembered here:
        the returned function runs in a forked child, and its text goes to stderr.
        """


class RelayResult(Record):
    """How the relaying ended."""

    received: int
    """Bytes read."""

    passed: int
    """Bytes that the output took."""

    ended: bool
    """The input ended; False: a signal made us leave before."""

    signal: int | None
    """SIGINT or SIGTERM when one came, whether or not the input ended then."""

    input_error: OSError | None
    """Why the input could not be read, or not to its end."""

    output_error: OSError | None
    """Why the output could not take everything."""

    listener_error: Exception | None
    """What the listener raised."""

    def status(self, code: int) -> int:
        """Return the exit status: 128 + signal after one, else *code*."""
        return code if self.signal is None else 128 + self.signal
