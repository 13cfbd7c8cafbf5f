"""Many logs: one log at a time as a pure function, spread over cores or a cluster.

`analyze_one` takes and returns what can be pickled, and touches nothing but its log,
so that any engine with a ``map`` can run it: the built-in one, a process pool, Dask.
Logs may be URLs where the extra ``fleet`` is installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from mamba_advisor.advice.model import Advice, Workload
from mamba_advisor.advice.options import Overrides
from mamba_advisor.errors import InputError, MambaAdvisorError, TooLittleError

if TYPE_CHECKING:
    from mamba_advisor.boot.model import Boot

INSTALL = "install it with: pip install 'mamba-advisor[fleet]'"

CHUNKS_PER_CORE = 8
"""Portions of logs that a core gets one after the other, so that all end together."""

LARGEST_CHUNK = 64
"""Logs of one portion at most: results come in while others are read."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done with every log."""

    workload: Workload = field(default_factory=Workload)
    overrides: Overrides = field(default_factory=Overrides)
    parsers: tuple[str, ...] = ()
    """Paths of further dialect files."""

    boot: str | int = "last"
    """Which server start: ``"last"``, ``"all"`` or its number from 1."""

    config: str | None = None
    """A model's ``config.json``, whose geometry makes rounded figures exact."""

    sweep: bool = False
    curves: bool = False
    explain: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one log."""

    source: str
    """The log as it was given."""

    advices: tuple[Advice, ...] = ()
    error: str = ""
    """Why there is no advice, a sentence; empty: there is."""

    status: int = 0
    """Exit status that the error stands for."""


Engine: TypeAlias = Callable[[Callable[[str], Result], Sequence[str]], Iterable[Result]]
"""Something like ``map``: calls a function on every log, in whatever place."""


def analyze_one(source: str, task: Task) -> Result:
    """Read one log and advise on the boots in it; errors become part of the result.

    Args:
        source: A path, ``"-"`` for standard input, or a URL.
        task: What to do.
    """
    try:
        return Result(source, tuple(_advise(source, task)))
    except MambaAdvisorError as error:
        return Result(source, (), str(error), error.exit_code)
    except OSError as error:
        reason = error.strerror or str(error)
        return Result(source, (), f"{source!r}: {reason}", InputError.exit_code)


def analyze_fleet(
    sources: Sequence[str], task: Task = Task(), engine: Engine = map
) -> Iterator[Result]:
    """Analyze every log of *sources*, in their order.

    Args:
        sources: Paths and URLs.
        task: What to do with each.
        engine: What runs it: ``map``, `over_cores`, or `over_cluster` of a scheduler.
    """
    yield from engine(partial(analyze_one, task=task), sources)


def over_cores(
    function: Callable[[str], Result], sources: Sequence[str]
) -> Iterator[Result]:
    """Spread *sources* over the cores of this machine; results come in order."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    cores = usable_cores()
    # A forked worker has imported everything already; elsewhere it starts anew.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    chunk = max(1, min(LARGEST_CHUNK, len(sources) // (cores * CHUNKS_PER_CORE)))
    with ProcessPoolExecutor(
        min(cores, len(sources)), multiprocessing.get_context(method)
    ) as pool:
        yield from pool.map(function, sources, chunksize=chunk)


def over_cluster(address: str) -> Engine:
    """Return an engine that runs on the Dask cluster whose scheduler is at *address*.

    Raises:
        InputError: Dask is not installed, or nobody answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(f"a cluster needs Dask; {INSTALL}") from error

    def engine(
        function: Callable[[str], Result], sources: Sequence[str]
    ) -> Iterator[Result]:
        try:
            client = Client(address)
        except (OSError, ValueError) as error:
            raise InputError(f"no Dask scheduler at {address!r}: {error}") from error
        with client:
            for future in client.map(function, sources, pure=False):
                yield future.result()

    return engine


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def expand_url(url: str) -> list[str]:
    """Return the files that a URL stands for: itself, or what its pattern matches.

    Raises:
        InputError: fsspec is not installed, the place cannot be reached, or nothing
            matches.
    """
    fs, path = _filesystem(url)
    if not any(sign in path for sign in "*?["):
        return [url]
    try:
        found = [fs.unstrip_protocol(name) for name in sorted(fs.glob(path))]
    except Exception as error:  # every file system has errors of its own
        raise InputError(f"{url!r}: {error}") from error
    if not found:
        raise InputError(f"no file matches {url!r}")
    return found


def open_url(url: str) -> IO[bytes]:
    """Open the file behind *url*, as bytes that are stored there.

    Raises:
        InputError: It cannot be opened.
    """
    fs, path = _filesystem(url)
    try:
        opened: IO[bytes] = fs.open(path, "rb")
    except Exception as error:  # every file system has errors of its own
        raise InputError(f"{url!r}: {error}") from error
    return opened


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(f"reading {url!r} needs fsspec; {INSTALL}") from error
    try:
        fs, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(f"{url!r}: {error}") from error
    return fs, path


def _advise(source: str, task: Task) -> Iterator[Advice]:
    """Yield the advice on every boot of *source* that *task* asks for."""
    from mamba_advisor.advice.engine import advise
    from mamba_advisor.intake import read_log

    boots = read_log(source, parsers=task.parsers)
    for boot in _chosen(boots, task.boot):
        yield advise(
            boot,
            task.workload,
            task.overrides,
            sweep=task.sweep,
            curves=task.curves,
            explain=task.explain,
        )


def _chosen(boots: Sequence[Boot], which: str | int) -> Sequence[Boot]:
    if which == "all":
        return boots
    if which == "last":
        return boots[-1:]
    assert isinstance(which, int)
    if which > len(boots):
        raise TooLittleError(f"there is no server start {which}: it holds {len(boots)}")
    return boots[which - 1 : which]
