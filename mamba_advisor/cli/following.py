"""``analyze --follow``: advice on a log that grows."""

from __future__ import annotations

import signal
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from mamba_advisor.cli.listening import BootListener
from mamba_advisor.cli.show import note
from mamba_advisor.pipe.listener import Moment
from mamba_advisor.runtime.follow import Follower

if TYPE_CHECKING:
    from mamba_advisor.cli.call import Options

BLOCK = 256 << 10
"""Bytes read at a time."""


class _Stop:
    """Becomes true on SIGINT, SIGTERM or SIGHUP, while it is entered."""

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> _Stop:
        self._before = {
            number: signal.signal(number, self._note)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __call__(self) -> bool:
        return self.number != 0

    def _note(self, number: int, _: FrameType | None) -> None:
        self.number = number


def follow(path: str, options: Options) -> int:
    """Read *path* until a signal comes; print what is due on the way, and at the end.

    A table is printed when the boot is complete and once more at the end, other forms
    at the end only: then stdout holds one document.  Errors and notes go to stderr.

    Returns:
        The exit status: that of the advice after Ctrl-C, else 128 plus the signal.

    Raises:
        InputError: The file cannot be opened or read.
    """
    listener = BootListener(path, options, 1, partial(_print, err=True))
    for problem in listener.problems:
        note(problem, options)
    view = memoryview(bytearray(BLOCK))
    with _Stop() as stop, Follower(path, stop) as log:
        while count := log.readinto(view):
            listener.feed(view[:count])
            render = listener.due(Moment.FED)
            if render is not None and options.format == "table":
                _print(render().decode())
    render = listener.due(Moment.ENDED)
    if render is not None:
        _print(render().decode())
    if stop.number in (0, signal.SIGINT):
        return listener.status
    return 128 + stop.number


def _print(text: str, err: bool = False) -> None:
    import click

    click.echo(text, nl=False, err=err, color=True)
