"""The program: the command ``mamba-advisor``, and ``python -m mamba_advisor``."""

import gc
import os
import sys

from mamba_advisor.patience import hold_signals

YOUNG = 100_000
"""New objects between two looks for garbage: start-up makes 60,000, and no garbage."""


def main() -> None:
    """Run the command line; signals wait until it knows what to do with them."""
    hold_signals()
    gc.set_threshold(YOUNG, 20, 50)
    from mamba_advisor.importing import Finder
    from mamba_advisor.postponed import FOR_CLICK, forget, postpone_all

    postpone_all()
    sys.meta_path.insert(0, Finder)
    from mamba_advisor.cli import main as program

    forget(*FOR_CLICK)

    try:
        program(prog_name="mamba-advisor")
    except SystemExit as end:
        _leave(end.code)
        raise


def _leave(status: object) -> None:
    """Leave at once where nothing is left to write, and nobody to wait for.

    To take the interpreter down in order takes a twelfth of a call.
    """
    threads = sys.modules.get("threading")
    if threads is not None and threads.active_count() > 1:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    if status is None or isinstance(status, int):
        os._exit(status or 0)


if __name__ == "__main__":
    main()
