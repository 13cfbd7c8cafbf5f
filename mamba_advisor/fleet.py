"""Many logs: one log at a time as a pure function, spread over cores or a cluster.

`Analysis` takes and returns what can be pickled, and touches nothing but its log, so
that any engine with a ``map`` can run it: the built-in one, a process pool, Dask.
Logs may be URLs where the extra ``fleet`` is installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mamba_advisor.advice.model import Advice, Drawn, Workload
from mamba_advisor.advice.options import Overrides
from mamba_advisor.errors import (
    FAILED_BOOT,
    InputError,
    MambaAdvisorError,
    NotHybridError,
    TooLittleError,
)
from mamba_advisor.record import Record, field, replace

if TYPE_CHECKING:
    from mamba_advisor.boot.model import Boot
    from mamba_advisor.catalog import Catalog
    from mamba_advisor.intake import Intake

CHUNKS_PER_CORE = 8
"""Portions of logs that a core gets one after the other, so that all end together."""

LARGEST_CHUNK = 64
"""Logs of one portion at most: results come in while others are read."""


class Task(Record):
    """What is to be done with every log."""

    workload: Workload = field(default_factory=Workload)
    overrides: Overrides = field(default_factory=Overrides)
    parsers: tuple[str, ...] = ()
    """Paths of further dialect files."""

    boot: str | int = "last"
    """Which server start: ``"last"``, ``"all"`` or its number from 1."""

    config: str | None = None
    """A model's ``config.json``, whose geometry makes rounded figures exact."""

    server: str | None = None
    """A running server, whose arguments count where the log states none."""

    metrics: str | None = None
    """Its metrics, as evidence of its load in place of the log's batch lines."""

    sweep: bool = False
    curves: Drawn = "none"
    """Whether the data of the pictures is wanted."""

    brief: bool = False
    """Whether only what a summary shows is kept of an advice: a tenth."""


class Outcome(Record):
    """What came of one boot, or of a log without any."""

    source: str
    """The log as it was given."""

    advice: Advice | None = None
    """Also where there was too little to advise: with what was read.  None where
    `document` says it all.
    """

    error: str = ""
    """Why there is no advice, or not all of it: a sentence; empty for nothing."""

    status: int = 0
    """Exit status that the outcome stands for."""

    notes: tuple[str, ...] = ()
    """What else there is to say: that the log could not be read on, or that a plug-in
    was left out.
    """

    document: str = ""
    """The advice as a JSON object, where a worker has written it."""


Work: TypeAlias = Callable[[str], "tuple[Outcome, ...]"]
"""What is done with one log."""

Engine: TypeAlias = Callable[[Work, Sequence[str]], "Iterable[tuple[Outcome, ...]]"]
"""Something like ``map``: does the work on every log, wherever that is."""


class Analysis:
    """Reads logs and advises on their boots; loads the dialects once for all.

    Errors become part of what is returned.  It can be pickled.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._catalog: Catalog | None = None

    def __call__(self, source: str) -> tuple[Outcome, ...]:
        """Analyze one log.

        Args:
            source: A path, ``"-"`` for standard input, or a URL.

        Returns:
            An outcome for each boot that the task asks for; a single one, without
            advice, where the log cannot be read or holds no boot.
        """
        found = outcomes_of(source, lambda: self._take_in(source), self._task)
        problems = self._catalog.problems if self._catalog else ()
        return tuple(_noted(one, *map(str, problems)) for one in found)

    def __reduce__(self) -> tuple[type[Analysis], tuple[Task]]:
        return Analysis, (self._task,)

    def _take_in(self, source: str) -> Intake:
        """Read a log, a file or a URL."""
        from mamba_advisor.catalog import load_catalog
        from mamba_advisor.intake import take_in

        if self._catalog is None:
            self._catalog = load_catalog(self._task.parsers)
        if "://" not in source or os.path.exists(source):
            return take_in(source, catalog=self._catalog)
        from mamba_advisor.remote import RemoteFile

        with RemoteFile(source) as stream:
            return take_in(stream, catalog=self._catalog)


def analyze_one(source: str, task: Task) -> tuple[Outcome, ...]:
    """Analyze one log; see `Analysis`."""
    return Analysis(task)(source)


def outcomes_of(
    source: str, take: Callable[[], Intake], task: Task
) -> tuple[Outcome, ...]:
    """Advise on the boots that *take* returns; else as `Analysis`."""
    try:
        taken = take()
        trouble = [f"{source}: {taken.trouble}"] if taken.trouble else []
        return tuple(
            _noted(advise_boot(source, boot, task), *trouble)
            for boot in taken.choose(task.boot)
        )
    except MambaAdvisorError as error:
        return (Outcome(source, None, str(error), error.exit_code),)
    except OSError as error:
        reason = f"{source!r}: {error.strerror or error}"
        return (Outcome(source, None, reason, InputError.exit_code),)


def _noted(outcome: Outcome, *notes: str) -> Outcome:
    """Return *outcome* with further notes."""
    return replace(outcome, notes=(*outcome.notes, *notes)) if notes else outcome


def analyze_fleet(
    sources: Sequence[str], task: Task, engine: Engine = map
) -> Iterator[tuple[Outcome, ...]]:
    """Analyze every log of *sources*, and yield what came of each, in their order.

    Args:
        sources: Paths and URLs.
        task: What to do with each.
        engine: What runs it: ``map``, `over_cores`, or `over_cluster` of a scheduler.
    """
    yield from engine(Analysis(task), sources)


def over_cores(function: Work, sources: Sequence[str]) -> Iterator[tuple[Outcome, ...]]:
    """Spread *sources* over the cores of this machine; results come in order."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    cores = usable_cores()
    # A forked worker has imported everything already; elsewhere it starts anew.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    chunk = max(1, min(LARGEST_CHUNK, len(sources) // (cores * CHUNKS_PER_CORE)))
    with ProcessPoolExecutor(
        min(cores, len(sources)),
        multiprocessing.get_context(method),
        initializer=_end_with_parent,
    ) as pool:
        yield from pool.map(function, sources, chunksize=chunk)


def _end_with_parent() -> None:
    """Let this worker end when its parent was killed; it would wait for ever."""
    import multiprocessing
    import threading

    def wait() -> None:
        if (parent := multiprocessing.parent_process()) is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def over_cluster(address: str) -> Engine:
    """Return an engine that runs on the Dask cluster whose scheduler is at *address*.

    Raises:
        InputError: Dask is not installed, or nobody answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "a cluster needs Dask: pip install 'mamba-advisor[fleet]'"
        ) from error

    def engine(function: Work, sources: Sequence[str]) -> Iterator[tuple[Outcome, ...]]:
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


def advise_boot(source: str, boot: Boot, task: Task) -> Outcome:
    """Return the advice on *boot* of *source*, with what it lacks.

    Raises:
        ConfigError: The config of *task* is unusable.
        InputError: The config, the server or its metrics cannot be read.
        NotHybridError: The config is not one of a hybrid.
    """
    from mamba_advisor.boot.demands import require_pools

    if task.server is not None and boot.source.lines:
        from mamba_advisor.live import with_arguments

        boot = with_arguments(boot, task.server)
    advice = _advice(boot, task)
    if task.metrics is not None:
        from mamba_advisor.live import load_of

        boot = replace(boot, runtime=load_of(task.metrics, advice))
        advice = _advice(boot, task)
    if boot.outcome == "failed":
        return Outcome(source, advice, "", FAILED_BOOT)
    try:
        require_pools(boot)
    except NotHybridError as error:
        return Outcome(source, advice, str(error), error.exit_code)
    except TooLittleError as error:
        if advice.recommendation is not None:
            # A bare limit notice is enough to pin slots for a wanted concurrency.
            return Outcome(source, advice, notes=(str(error),))
        return Outcome(source, advice, str(error), error.exit_code)
    return Outcome(source, advice)


def _advice(boot: Boot, task: Task) -> Advice:
    from mamba_advisor.advice.engine import advise

    advice = advise(
        boot,
        task.workload,
        task.overrides,
        config=_config(task),
        sweep=task.sweep,
        curves=task.curves,
    )
    return in_brief(advice) if task.brief else advice


def in_brief(advice: Advice) -> Advice:
    """Return *advice* without what its summary does not show."""
    boot = replace(advice.boot, settings={}, ranks=(), notices=(), excerpts={})
    return replace(
        advice,
        boot=boot,
        settings={},
        ranks=(),
        levers=(),
        sweep=(),
        findings=(),
        derivations=(),
    )


def _config(task: Task) -> Mapping[str, Any] | None:
    """Return the content of the model's config, None where none is given."""
    if task.config is None:
        return None
    from mamba_advisor.modelconfig import read_config

    return read_config(task.config).config
