"""``sglang ... 2>&1 | mamba-advisor``: the log goes on, advice goes beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mamba_advisor.cli.show import CRASHED, note, say
from mamba_advisor.errors import InputError, MambaAdvisorError

if TYPE_CHECKING:
    import click

    from mamba_advisor.cli.call import Options


PATIENCE_S = 1.0
"""Processor time that reading one block may take, a hundred times what it does: the
server waits meanwhile.
"""


def run(ctx: click.Context, options: Options) -> None:
    """Relay standard input to standard output, and advise on standard error.

    Raises:
        DialectError: A dialect file is not sound; nothing has been read then.
    """
    from mamba_advisor.cli.listening import BootListener
    from mamba_advisor.pipe import relay

    listener = BootListener("-", options, descriptor=2, patience_s=PATIENCE_S)
    for problem in listener.problems:
        note(problem, options)
    result = relay(0, 1, 2, listener)
    status = listener.status
    if result.input_error is not None and not result.received:
        say(f"standard input cannot be read: {result.input_error.strerror}")
        status = InputError.exit_code
    # Why reading on failed has been said, when it did.
    if isinstance(result.listener_error, MambaAdvisorError):
        status = result.listener_error.exit_code
    elif result.listener_error is not None:
        if ctx.meta.get("debug"):
            raise result.listener_error
        status = CRASHED
    ctx.exit(result.status(status))
