"""A log that is still being written: advice when it is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mamba_advisor.catalog import load_catalog
from mamba_advisor.cli.show import first_status, page, verdict
from mamba_advisor.errors import InputError, MambaAdvisorError
from mamba_advisor.intake import Gatherer, Intake
from mamba_advisor.logfile import SAMPLE
from mamba_advisor.pipe.listener import Moment
from mamba_advisor.record import replace
from mamba_advisor.runtime.watch import MIN_SAMPLES, VerdictWatch
from mamba_advisor.scan.scanner import Scanner

if TYPE_CHECKING:
    from mamba_advisor.boot.model import Boot
    from mamba_advisor.cli.call import Options
    from mamba_advisor.fleet import Outcome

LOOK_S = 60.0
"""Seconds between two looks at whether the run has changed the verdict."""


UNREAD = "took too long to read and were passed on unread (analyze reads them all)"


class BootListener:
    """Reads what is pushed at it, and says when there is something to show.

    Attributes:
        status: Exit status, known when the end was announced to `due`.
        problems: Plug-ins that were left out, and why.
    """

    def __init__(
        self,
        name: str,
        options: Options,
        descriptor: int,
        tell: Callable[[str], object] | None = None,
        patience_s: float = 0,
    ) -> None:
        """Begin with an empty log.

        Args:
            name: The log's name, ``"-"`` for standard input.
            options: Of the call.
            descriptor: Where the advice will be written.
            tell: Takes errors and notes, each a line; without it they stand before
                the advice.
            patience_s: Processor time that reading one block may take, 0 for any.

        Raises:
            DialectError: A dialect file is not sound.
        """
        self.status = 0
        self._name = name
        self._options = options
        self._descriptor = descriptor
        self._tells = tell
        catalog = load_catalog(options.parsers)
        self.problems = tuple(map(str, catalog.problems))
        self._gatherer = Gatherer()
        self._scanner = Scanner(catalog, self._gatherer, patience_s)
        self._head = b""
        self._broke = False
        self._announced = 0
        self._watch = VerdictWatch()
        self._is_told = False
        self._look_at = 0.0

    def feed(self, block: memoryview) -> None:
        """Read the next bytes."""
        if len(self._head) < SAMPLE:
            self._head += bytes(block[: SAMPLE - len(self._head)])
        self._broke = True
        self._scanner.push(block)
        self._broke = False

    def due(self, moment: Moment) -> Callable[[], bytes] | None:
        """Return what renders the text to show now, None for nothing."""
        if moment is Moment.ENDED:
            if not self._broke:
                self._scanner.finish()
            outcomes = self._advise()
            if self._broke:
                # What is missing may have come after reading had failed.
                outcomes = tuple(one for one in outcomes if one.advice is not None)
            self.status = self._status(outcomes)
            return partial(self._render, outcomes)
        if moment is Moment.ASKED:
            outcomes = self._advise()
            self._tell(outcomes)
            return partial(self._render, outcomes)
        if self._gatherer.complete and self._announced != self._gatherer.count:
            self._announced = self._gatherer.count
            self._watch, self._is_told = VerdictWatch(), False
            self._look_at = time.monotonic() + LOOK_S
            # Whoever asks may run this in another process: the log does not wait.
            return lambda: self._render(self._advise())
        if self._announced and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_S
            return self._changed()
        return None

    def _intake(self) -> Intake:
        passed = self._scanner.passed_over
        return self._gatherer.intake(
            self._name,
            self._scanner.lines,
            self._head,
            trouble=f"{passed} lines {UNREAD}" if passed else "",
        )

    def _advise(self) -> tuple[Outcome, ...]:
        """Advise on the boots that the options ask for."""
        from mamba_advisor.fleet import outcomes_of

        return outcomes_of(self._name, self._intake, self._options.task())

    def _render(self, outcomes: Sequence[Outcome]) -> bytes:
        """Return the report on *outcomes*, errors in place of what is not there."""
        from mamba_advisor.cli.show import line, shown

        options, report = self._options, ""
        said = [text for one in outcomes for text in verdict(one, options)[1]]
        advices = shown(outcomes, options)
        try:
            if advices or options.format == "json":
                report = page(advices, options, self._descriptor)
        except MambaAdvisorError as error:
            said.append(line(str(error)))
        if self._tells is not None:
            for text in said:
                self._tells(text)
            said.clear()
        return "".join((*said, report)).encode("utf-8", "replace")

    def _status(self, outcomes: Sequence[Outcome]) -> int:
        """Return the exit status that *outcomes* amount to."""
        statuses = [verdict(outcome, self._options)[0] for outcome in outcomes]
        if self._options.format == "flags" and not all(
            one.advice is not None and one.advice.recommendation for one in outcomes
        ):
            statuses.append(InputError.exit_code)
        return first_status(statuses)

    def _changed(self) -> Callable[[], bytes] | None:
        """Return a line where the run has changed the verdict."""
        boots = self._intake().boots
        evidence = boots[-1].runtime if boots else None
        if evidence is None or evidence.total.samples < MIN_SAMPLES:
            return None
        if not self._is_told:
            before = self._outcome(replace(boots[-1], runtime=None))
            self._tell((before,))
        line = self._watch.line(evidence, _flags((self._outcome(boots[-1]),)))
        text = f"mamba-advisor: {line}\n".encode("utf-8", "replace")
        return None if line is None else lambda: text

    def _outcome(self, boot: Boot) -> Outcome:
        from mamba_advisor.fleet import advise_boot

        return advise_boot(self._name, boot, self._options.task())

    def _tell(self, outcomes: Sequence[Outcome]) -> None:
        """Note that the user has been shown the advice of *outcomes*."""
        last = outcomes[-1].advice if outcomes else None
        self._watch.told(last.boot.runtime if last else None, _flags(outcomes))
        self._is_told = True


def _flags(outcomes: Sequence[Outcome]) -> Sequence[str]:
    """Return the launch flags that the last outcome recommends."""
    advice = outcomes[-1].advice if outcomes else None
    if advice is None or advice.recommendation is None:
        return ()
    return advice.recommendation.flags
