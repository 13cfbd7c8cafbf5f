"""A log in, boots out: the way from bytes to the boot model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import IO, TypeAlias

from mamba_advisor.batch import Batch
from mamba_advisor.boot.builder import BootBuilder
from mamba_advisor.boot.demands import Glimpse, require_boot
from mamba_advisor.boot.model import Boot, Source
from mamba_advisor.boot.start import Collector
from mamba_advisor.catalog import Catalog, load_catalog
from mamba_advisor.errors import InputError, MambaAdvisorError, TooLittleError
from mamba_advisor.facts import Reading
from mamba_advisor.logfile import open_log
from mamba_advisor.record import Record
from mamba_advisor.scan.scanner import Scanner, scan

LogSource: TypeAlias = (
    "str | bytes | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes]"
)
"""A path (``"-"``: standard input), an open stream, or an iterable of lines."""

MAX_UNREAD = 8
"""Lines in unknown wordings that are named."""


class Intake(Record):
    """What reading one log came to."""

    boots: tuple[Boot, ...]
    """Server starts, in the order of the log."""

    glimpse: Glimpse
    """What the input looks like, for saying why there is no boot in it."""

    trouble: str = ""
    """Why reading ended early, empty when it did not."""

    def choose(self, which: str | int = "last") -> list[Boot]:
        """Return the boots that ``--boot`` asks for.

        Args:
            which: ``"last"``, ``"all"``, or a number from 1.

        Raises:
            InputError: Nothing could be read.
            TooLittleError: There is no boot, or none of this number.
        """
        if self.trouble and not self.glimpse.lines:
            raise InputError(f"{self.glimpse.name}: {self.trouble}")
        try:
            require_boot(self.boots, self.glimpse)
        except MambaAdvisorError as error:
            if not self.trouble:
                raise
            raise type(error)(f"{error} (and {self.trouble})") from error
        if which == "all":
            return list(self.boots)
        if which == "last":
            return [self.boots[-1]]
        chosen = [boot for boot in self.boots if boot.number == which]
        if not chosen:
            first, last = self.boots[0].number, self.boots[-1].number
            held = f"start {last}" if first == last else f"starts {first} to {last}"
            raise TooLittleError(
                f"{self.glimpse.name}: no server start {which}; it holds {held}"
            )
        return chosen


def read_log(
    source: LogSource, *, parsers: Sequence[str | os.PathLike[str]] = ()
) -> list[Boot]:
    """Return every server start in a log.

    Args:
        source: A path (``"-"``: standard input), an open text or byte stream, or an
            iterable of lines.
        parsers: Paths of further dialect files.

    Returns:
        The starts in the order of the log; of more than `boot.builder.KEEP` the last
        ones.  Empty when the input holds no line of an SGLang server.

    Raises:
        InputError: The log cannot be opened.
        DialectError: A dialect file is not sound, or takes too long on a line.
    """
    return list(take_in(source, parsers=parsers).boots)


def take_in(
    source: LogSource,
    *,
    parsers: Sequence[str | os.PathLike[str]] = (),
    catalog: Catalog | None = None,
) -> Intake:
    """Read a log; arguments and errors as `read_log`.

    Args:
        source: As for `read_log`.
        parsers: As for `read_log`.
        catalog: The dialects, where they are loaded already; *parsers* do not count.

    Returns:
        The boots, and what is known of the input beside them.
    """
    if catalog is None:
        catalog = load_catalog(parsers)
    gatherer = Gatherer()
    scanner = Scanner(catalog, gatherer)
    with open_log(source) as log:
        scan(log, scanner)
    return gatherer.intake(
        log.name, scanner.lines, log.head, looks=log.looks, trouble=log.trouble
    )


class Gatherer:
    """Takes what a log states, wherever its bytes come from; asked at any time."""

    def __init__(self) -> None:
        self._builder = BootBuilder(collector=new_collector)
        self._engine = ""
        self._unread: list[tuple[int, str]] = []

    @property
    def complete(self) -> bool:
        """Whether the newest server start is through its boot, or has failed."""
        return self._builder.complete

    @property
    def count(self) -> int:
        """Server starts found so far."""
        return self._builder.count

    def feed(self, reading: Reading) -> None:
        """Take the next reading."""
        if reading.event == "foreign-engine":
            self._engine = self._engine or str(reading.facts.get("engine", ""))
            return
        self._builder.feed(reading)
        if reading.event == "unknown-wording" and len(self._unread) < MAX_UNREAD:
            self._unread.append((reading.line, str(reading.facts["looks_like"])))

    def takes(self, batch: Batch) -> bool:
        """Return whether *batch* may be taken as a whole."""
        return self._builder.takes(batch)

    def take(self, batch: Batch) -> None:
        """Take batch lines as a whole."""
        self._builder.take(batch)

    def is_sated(self, speaker: str) -> bool:
        """Return whether only prefill lines of sampled seconds count any more."""
        return self._builder.is_sated(speaker)

    def intake(
        self, name: str, lines: int, head: bytes, *, looks: str = "", trouble: str = ""
    ) -> Intake:
        """Return what has been read so far.

        Args:
            name: The path as given, ``"-"`` for standard input.
            lines: Lines read.
            head: The first bytes.
            looks: ``"html"``, ``"binary"`` or empty, by the first bytes.
            trouble: Why reading ended early, empty when it did not.
        """
        boots = self._builder.boots(Source(name, lines, self._builder.count))
        shown = head.decode("utf-8", "replace")
        unread = tuple(self._unread)
        glimpse = Glimpse(name, lines, shown, looks, self._engine, unread)
        return Intake(tuple(boots), glimpse, trouble)


def new_collector() -> Collector:
    """Return an empty collector of a run's evidence."""
    from mamba_advisor.runtime.warmup import WarmUp

    return WarmUp()
