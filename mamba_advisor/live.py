"""What a running server adds to a boot: its arguments, and metrics of its load."""

from __future__ import annotations

from mamba_advisor.advice.model import Advice
from mamba_advisor.boot.model import Boot
from mamba_advisor.record import replace
from mamba_advisor.runtime.metrics import read_metrics
from mamba_advisor.runtime.model import Evidence
from mamba_advisor.runtime.server import boot_from_server, read_server_info


def boot_of_server(url: str, metrics: str | None = None) -> Boot:
    """Return the boot of the server at *url*, whose log is lost.

    Args:
        url: The server's address, or a file with its saved answer.
        metrics: Its metrics, a file or an address: they state the slots of the state
            pool where the server does not.

    Raises:
        InputError: One of them cannot be read.
    """
    slots = read_metrics(metrics).state_slots if metrics is not None else None
    return boot_from_server(read_server_info(url), state_slots=slots)


def with_arguments(boot: Boot, url: str) -> Boot:
    """Return *boot* with the arguments of the server at *url* where it has none.

    Raises:
        InputError: The server cannot be asked.
    """
    stated = boot_from_server(read_server_info(url)).settings
    known = {name: one for name, one in boot.settings.items() if one.known}
    return replace(boot, settings={**stated, **known})


def load_of(metrics: str, advice: Advice) -> Evidence:
    """Return the evidence that *metrics* give, judged by the limits of a boot.

    Args:
        metrics: A file or an address.
        advice: The advice on the boot that the metrics belong to.

    Raises:
        InputError: They cannot be read, or are not SGLang's.
    """
    return read_metrics(
        metrics,
        limit=advice.concurrency.effective,
        slots=advice.state_pool.slots if advice.state_pool else None,
        slots_per_request=advice.concurrency.slots_per_request,
    )
