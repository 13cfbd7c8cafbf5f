"""Signals that wait while the program starts, until somebody can obey them.

Python's own answer to SIGINT, in the middle of an import, is a traceback; the other
signals' is the end, and a server dies of a pipe that nobody reads.
"""

from __future__ import annotations

from mamba_advisor.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
else:
    # `signal` makes enumerations of its numbers: that takes as long as five modules.
    import _signal as signal

WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Signals that neither end nor interrupt the filter: its loop decides on them."""


def hold_signals() -> None:
    """Let `WATCHED` signals wait."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)


def obey_signals() -> None:
    """Let those that have come do what they do, and further ones at once."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
