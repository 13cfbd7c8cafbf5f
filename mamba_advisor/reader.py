"""Lines × dialects -> readings: what each line of a log states.

The reader is the plain one, line by line.  A scanner may read the hot lines of a
serving server itself and hand every other line to `LineReader.feed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from mamba_advisor.catalog import Catalog
from mamba_advisor.facts import MAX_EXCERPT, Reading, Value
from mamba_advisor.joining import Hits, Join, Part
from mamba_advisor.logfile import RawLog, iter_lines, open_log
from mamba_advisor.matching import matcher_for
from mamba_advisor.prefix import Spoken, peel
from mamba_advisor.trust import Trust

if TYPE_CHECKING:
    from mamba_advisor.tables import Table

VAGUE = frozenset({"server-args"})
"""Events whose edited wording also fits the second half of other lines."""

MAX_MESSAGE = 65536
"""Characters of a message that patterns see."""

MAX_SPOKEN = 256
"""Messages taken from one physical line; progress bars do not count."""

ACCESS = "INFO:     "
"""How uvicorn's lines begin: what they hold comes from requests."""


class LineReader:
    """Reads lines one by one; its state is small and bounded.

    Attributes:
        trust: What the lines so far tell about who speaks.
        doubtful: Readings marked as doubtful so far.
    """

    __slots__ = (
        "_held",
        "_join",
        "_matcher",
        "_table",
        "_unknown",
        "doubtful",
        "trust",
    )

    def __init__(self, catalog: Catalog) -> None:
        self._matcher = matcher_for(catalog)
        self._join: Join | None = None
        self._held: Reading | None = None
        self._unknown: set[str] = set()
        self._table: Table | None = None
        self.trust = Trust()
        self.doubtful = 0

    @property
    def settled(self) -> bool:
        """Whether the next line is read as if it stood alone.

        It is not while a line is held back that it may complete, and not below a
        traceback.
        """
        return self._join is None and self._held is None and self.trust.is_calm

    def feed(
        self, number: int, line: bytes | str, *, torn: bool = False
    ) -> list[Reading]:
        """Read the next physical line.

        Args:
            number: Its number, counted from 1.
            line: Its content without the newline.
            torn: It ends early: the input ends in it, or its rest was dropped.

        Returns:
            Readings that are certain now, in the order of their lines.  A line that
            the next one may complete is held back until then; `finish` returns what
            is held back at the end.

        Raises:
            DialectError: A pattern from outside takes too long.
        """
        text = line if isinstance(line, str) else line.decode("utf-8", "replace")
        if torn:
            text = text.rstrip("0123456789.,")
        found: list[Reading] = []
        for spoken in islice(peel(text), MAX_SPOKEN):
            self._hear(Part(number, spoken, len(text)), found)
        return found

    def finish(self) -> list[Reading]:
        """Return the readings held back, and forget the open line."""
        found: list[Reading] = []
        while self._join is not None:
            self._close(found)
        self._release(found)
        return found

    def _hear(self, part: Part, found: list[Reading]) -> None:
        """Read a line, as the continuation of the open one or by itself."""
        while self._join is not None:
            if self._continue(part, found):
                return
            self._close(found)
        held = self._held
        if held is not None and part.number > held.line + held.joined + 1:
            self._release(found)
        self._take(part, found)

    def _take(self, part: Part, found: list[Reading]) -> None:
        """Read a line that continues nothing."""
        spoken = part.spoken
        if self.trust.hear(spoken) or spoken.message.startswith(ACCESS):
            return
        text = spoken.message[:MAX_MESSAGE]
        if "|" in text and not spoken.is_stamped and self._take_row(part, found):
            return
        matcher = self._matcher
        anchors = matcher.anchors(text)
        hits = matcher.exact(text, part.number, anchors) if anchors else []
        if hits:
            join = Join(part, text, hits)
            read = {entry.anchor for entry, _ in hits}
            unread = [anchor for anchor in anchors if anchor not in read]
            if join.is_arguments or _may_go_on(hits) or self._is_torn(spoken, unread):
                self._join = join
            else:
                self._emit_all(join, found)
            return
        if keys := matcher.keys(text, is_stamped=spoken.stamp != ""):
            hits = matcher.edited(text, part.number, keys)
        looks_like = ""
        if not hits and (anchors or keys):
            looks_like = matcher.announced(text, anchors, keys)
            if looks_like and self.trust.doubts(spoken, looks_like, 0):
                looks_like = ""
        if hits or looks_like or self._may_be_torn(spoken, text, anchors):
            self._join = Join(part, text, hits, looks_like)

    def _take_row(self, part: Part, found: list[Reading]) -> bool:
        """Read a row of a table; return whether it was one with known columns."""
        if self._table is None:
            from mamba_advisor.tables import Table  # few logs hold one

            self._table = Table()
        rows = list(self._table.lines(part.spoken.message[:MAX_MESSAGE]))
        for row in rows:
            hits = self._matcher.edited(row, part.number)
            self._emit_all(Join(part, row, hits), found)
        return bool(rows)

    def _may_be_torn(self, spoken: Spoken, text: str, anchors: Sequence[str]) -> bool:
        """Return whether a line that nothing reads may go on in the next one."""
        if not spoken.is_stamped and self.trust.doubts(spoken, "summary", 0):
            return False  # whatever it came to would be doubtful
        return self._is_torn(spoken, anchors) or self._matcher.is_beginning(text)

    def _is_torn(self, spoken: Spoken, unread: Sequence[str]) -> bool:
        """Return whether a line starts with an anchor whose patterns do not read it."""
        text = spoken.message
        for anchor in unread:
            at = text.find(anchor)
            if not at or self.trust.is_lead(spoken, text[:at]):
                return True
        return False

    def _continue(self, part: Part, found: list[Reading]) -> bool:
        """Add a line to the open one; return False when it starts something else."""
        join = self._join
        assert join is not None
        spoken = part.spoken
        if not join.accepts(spoken) or self._matcher.starts(spoken.message):
            return False
        texts = list(join.continued(part))
        if join.is_arguments:
            self._continue_arguments(join, part, texts, found)
            return True
        number = join.first.number
        for text, seam in texts:
            hits = self._matcher.exact(text, number)
            if join.improves(hits, seam):
                join.take(part.number, text, hits)
                if not _may_go_on(hits):
                    self._close(found)
                return True
        if all(entry.edited for entry, _ in join.hits):
            rest = self._matcher.edited(spoken.message, part.number)
            if any(entry.event not in {*join.events, *VAGUE} for entry, _ in rest):
                return False
            tried = [(self._matcher.edited(text, number), text) for text, _ in texts]
            gains = [join.adds(hits, rest) for hits, _ in tried]
            if any(gains):
                hits, text = tried[gains.index(max(gains))]
                join.take(part.number, text, hits, [text for text, _ in texts])
                return True
        join.keep(part)
        return True

    def _continue_arguments(
        self,
        join: Join,
        part: Part,
        texts: list[tuple[str, int]],
        found: list[Reading],
    ) -> None:
        """Add a line to a wrapped ``server_args=``; read it where it closes."""
        if not texts:
            self._close(found)
            return
        text = texts[0][0]
        join.take(part.number, text, join.hits)
        message = part.spoken.message
        if join.brackets.close(message) and message.rstrip()[-1:] in (")", "}"):
            self._close(found)

    def _close(self, found: list[Reading]) -> None:
        """Emit what the open line came to, and read its unused lines by themselves."""
        join, self._join = self._join, None
        assert join is not None
        if join.is_arguments:
            join.hits = self._matcher.exact(join.text, join.first.number)
        if join.hits:
            self._emit_all(join, found)
        elif join.looks_like and join.looks_like not in self._unknown:
            self._unknown.add(join.looks_like)
            reading = _reading(
                join, "unknown-wording", {"looks_like": join.looks_like}, ""
            )
            self._emit(reading, found)
        for part in join.kept:
            self._hear(part, found)

    def _emit_all(self, join: Join, found: list[Reading]) -> None:
        """Emit the readings of a line, doubtful or not."""
        spoken = join.first.spoken
        for entry, hit in join.hits:
            event = entry.event
            doubtful = self.trust.doubts(spoken, event, hit.start)
            if entry.edited and spoken.stamp and join.text.rstrip()[-1:].isdigit():
                doubtful = True  # a genuine line torn in its last number
            if doubtful:
                self.doubtful += 1
            else:
                self.trust.advance(spoken, event)
            name = f"{entry.dialect}/{entry.pattern.name}"
            reading = _reading(
                join,
                event,
                hit.facts,
                name,
                versions=entry.pattern.versions,
                edited=entry.edited,
                doubtful=doubtful,
            )
            self._emit(reading, found)

    def _emit(self, reading: Reading, found: list[Reading]) -> None:
        """Pass a reading on; edited neighbours that complete each other merge."""
        if not reading.edited:
            self._release(found)
            found.append(reading)
        elif self._held is not None and (merged := _merged(self._held, reading)):
            self._held = merged
        else:
            self._release(found)
            self._held = reading

    def _release(self, found: list[Reading]) -> None:
        if self._held is not None:
            found.append(self._held)
            self._held = None


def _merged(first: Reading, second: Reading) -> Reading | None:
    """Join readings as `merge` does, which few logs need."""
    from mamba_advisor.merging import merge

    return merge(first, second)


def _may_go_on(hits: Hits) -> bool:
    return any(hit.may_go_on for _, hit in hits)


def _reading(
    join: Join,
    event: str,
    facts: Mapping[str, Value],
    pattern: str,
    **marks: Any,
) -> Reading:
    spoken = join.first.spoken
    return Reading(
        event=event,
        facts=facts,
        line=join.first.number,
        pattern=pattern,
        rank=spoken.rank,
        last_rank=spoken.last_rank,
        speaker=spoken.speaker,
        stamp=spoken.stamp,
        joined=join.joined,
        text=join.text[:MAX_EXCERPT].strip(),
        **marks,
    )


class ReadStats:
    """What reading a whole log came to.

    Attributes:
        lines: Lines read.
        size: Bytes read, unpacked.
        trouble: Why reading ended early, empty when it did not.
        looks: ``"html"``, ``"binary"`` or empty, by the first bytes.
        head: The first bytes.
        doubtful: Readings marked as doubtful.
        torn: Lines whose end is missing.
    """

    __slots__ = ("doubtful", "head", "lines", "looks", "size", "torn", "trouble")

    def __init__(self) -> None:
        self.lines = self.size = self.doubtful = self.torn = 0
        self.trouble = self.looks = ""
        self.head = b""


def read_readings(
    source: Any, catalog: Catalog, stats: ReadStats | None = None
) -> Iterator[Reading]:
    """Read a whole log, line by line.

    Args:
        source: What `open_log` takes, or an open `RawLog`.
        catalog: The dialects.
        stats: Filled in while reading.

    Yields:
        The readings in the order of their lines.

    Raises:
        InputError: The log cannot be opened.
        DialectError: A pattern from outside takes too long.
    """
    stats = ReadStats() if stats is None else stats
    reader = LineReader(catalog)
    with source if isinstance(source, RawLog) else open_log(source) as log:
        for line in iter_lines(log):
            stats.lines = line.number
            stats.torn += line.torn
            yield from reader.feed(line.number, line.data, torn=line.torn)
        yield from reader.finish()
        stats.size, stats.trouble, stats.looks = log.size, log.trouble, log.looks
        stats.head = log.head
        stats.doubtful = reader.doubtful
