"""From readings to boots, in one pass and in bounded memory."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import pairwise

from mamba_advisor.batch import Batch
from mamba_advisor.boot import pick
from mamba_advisor.boot.boundary import begins_anew, runs_backwards
from mamba_advisor.boot.freeze import freeze
from mamba_advisor.boot.model import Boot, Source
from mamba_advisor.boot.start import Collector, StartDraft
from mamba_advisor.facts import Reading
from mamba_advisor.record import replace

KEEP = 64
"""Server starts of one log that are kept in full; older ones are only counted."""

MAX_SPEAKERS = 64
"""Containers or pods that are kept apart at a time."""

ROOM = 2048
"""Ranks of all server starts that are kept, beside the newest start."""

CITED = 8
"""Lines that are cited of a start and take the memory of a rank."""

READINGS = 256
"""Readings after which is looked at whether there is room."""

UNREAD = Source("", 0, 0)
"""Source of a boot while its log is still being read."""


class BootBuilder:
    """Sorts readings into server starts.

    Feed every reading in the order of the log; ask for the boots at any time.  Lines
    of several servers are told apart by the container or pod before them.
    """

    def __init__(
        self, *, keep: int = KEEP, collector: Callable[[], Collector] | None = None
    ) -> None:
        self._collector = collector
        self._closed: deque[Boot] = deque(maxlen=keep)
        self._open: OrderedDict[str, StartDraft] = OrderedDict()
        self._aliases: dict[str, str] = {}
        self._count = self._readings = 0
        self._latest: StartDraft | None = None
        self._latest_speaker = ""

    @property
    def count(self) -> int:
        """Server starts found so far."""
        return self._count

    @property
    def complete(self) -> bool:
        """Whether the newest start is through its boot, or has failed.

        It is at the ready line; where none comes, at the first batch line after the
        summary line; at a failure as soon as its cause was printed.
        """
        return self._latest is not None and self._latest.complete

    def feed(self, reading: Reading) -> None:
        """Take the next reading of the log."""
        speaker = self._speaker(reading)
        start = self._open.get(speaker)
        if start is None:
            start = self._begin(speaker)
        if reading.doubtful:
            start.hold(reading)
            return
        if reading.event == "server-args" and self._joins_a_server(reading, speaker):
            return
        if begins_anew(start, reading):
            announced = reading.event == "server-args"
            carried = start.take_tail() if announced else start.take_pending()
            self._close(start)
            start = self._begin(speaker)
            start.feed_all(carried)
        start.feed(reading)
        if not start.number and start.begun:
            self._count += 1
            start.number = self._count
            self._latest = start
        self._readings += 1
        if self._readings % READINGS == 0:
            self._make_room()

    def takes(self, batch: Batch) -> bool:
        """Return whether all lines of *batch* belong to a start that is under way."""
        start = self._open.get(self._aliases.get(batch.speaker, batch.speaker))
        if start is None or not start.number:
            return False
        return start.loaded or not any(
            runs_backwards(before, now)
            for before, now in pairwise([start.last_stamp, *batch.stamps()])
        )

    def take(self, batch: Batch) -> None:
        """Take batch lines as a whole, which `takes` has accepted."""
        speaker = self._aliases.get(batch.speaker, batch.speaker)
        self._open[speaker].take(batch)
        self._latest_speaker = speaker
        self._make_room()

    def is_sated(self, speaker: str) -> bool:
        """Return whether only prefill lines of sampled seconds count any more."""
        start = self._open.get(self._aliases.get(speaker, speaker))
        return start is not None and start.ear.is_sated

    def boots(self, source: Source) -> list[Boot]:
        """Return the server starts found so far, in the order of the log.

        Args:
            source: The log; its number of boots is filled in.

        Returns:
            At most the last `KEEP` starts that are over, and those still open, as far
            as there is `ROOM`.  A log that holds nothing but notices or doubtful lines
            gives one boot.
        """
        starts = [start for start in self._open.values() if start.number]
        boots = [*self._closed, *(freeze(start, UNREAD) for start in starts)]
        if not boots:
            others = (freeze(start, UNREAD) for start in self._open.values())
            boots = [
                replace(boot, number=1)
                for boot in others
                if boot.notices or boot.ranks or boot.hybrid is not None
            ][:1]
        boots.sort(key=lambda boot: boot.number)
        quoted = {
            id(boot) for before, boot in pairwise(boots) if _is_quoted(before, boot)
        }
        boots = [boot for boot in boots if id(boot) not in quoted]
        count = max(self._count - len(quoted), len(boots))
        found = replace(source, boots=count)
        return [replace(boot, source=found) for boot in boots]

    def _speaker(self, reading: Reading) -> str:
        """Return whose line it is; a line without a prefix continues the last one's."""
        speaker = reading.speaker
        if not speaker and speaker not in self._open:
            speaker = self._latest_speaker
        speaker = self._aliases.get(speaker, speaker)
        self._latest_speaker = speaker
        return speaker

    def _begin(self, speaker: str) -> StartDraft:
        start = StartDraft(self._collector)
        self._open[speaker] = start
        self._open.move_to_end(speaker)
        while len(self._open) > MAX_SPEAKERS:
            _, oldest = self._open.popitem(last=False)
            self._close(oldest)
        return start

    def _close(self, start: StartDraft) -> None:
        if start.number:
            self._closed.append(freeze(start, UNREAD))

    def _make_room(self) -> None:
        """Keep no more ranks than there is room for: the oldest starts go first.

        They are still counted.  The newest start stays, however many it has.
        """
        taken = sum(map(_size_of_boot, self._closed))
        taken += sum(map(_size_of_draft, self._open.values()))
        while taken > ROOM and len(self._closed) + len(self._open) > 1:
            if self._closed:
                taken -= _size_of_boot(self._closed.popleft())
            else:
                taken -= _size_of_draft(self._open.popitem(last=False)[1])

    def _joins_a_server(self, reading: Reading, speaker: str) -> bool:
        """Note a further node of a server that is already known, by its arguments."""
        if not pick.is_whole(reading):
            return False
        for name, start in self._open.items():
            if start.is_other_node(reading):
                start.feed(reading)
                if name != speaker and len(self._aliases) < MAX_SPEAKERS:
                    self._aliases[speaker] = name
                return True
        return False


def _size_of_boot(boot: Boot) -> int:
    """Return the ranks whose memory *boot* takes."""
    workers = len(boot.runtime.workers) if boot.runtime else 0
    return len(boot.ranks) + workers + len(boot.excerpts) // CITED


def _size_of_draft(start: StartDraft) -> int:
    """Return the ranks whose memory *start* takes so far."""
    return len(start.ranks) + start.ear.workers + len(start.texts) // CITED


def _is_quoted(before: Boot, boot: Boot) -> bool:
    """Return whether *boot* is no start but arguments that a request quoted.

    A server that is ready goes on with batch lines; one that starts anew loads first.
    """
    loaded = boot.ranks or boot.summaries or boot.failure or boot.hybrid is not None
    ran = boot.runtime is not None
    return (
        before.outcome == "ready"
        and boot.outcome == "incomplete"
        and (ran and not loaded)
    )
