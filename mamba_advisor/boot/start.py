"""One server start, while its lines are being read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from mamba_advisor.batch import Batch
from mamba_advisor.boot import pick
from mamba_advisor.boot.ear import Ear
from mamba_advisor.boot.hybridity import Hybridity
from mamba_advisor.boot.lines import take
from mamba_advisor.boot.model import Notice, Summary
from mamba_advisor.boot.outcome import FailureWatch, phase_word
from mamba_advisor.boot.phase import BATCHES, PHASES, Phase
from mamba_advisor.boot.rank import RankDraft
from mamba_advisor.boot.releases import Dating
from mamba_advisor.boot.settings import READ
from mamba_advisor.boot.tags import MAX_RANKS, expand
from mamba_advisor.facts import Rank, Reading, Scalar
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, field
from mamba_advisor.runtime.model import Evidence

MAX_EXPANDED = 64 * MAX_RANKS
"""Ranks that ranges of tags may speak for; then a range is its first rank."""

MAX_NOTICES = 200
MAX_TEXTS = 8192
MAX_DOUBTFUL = 512
MAX_REPEATS = 3
"""Doubtful lines of one kind that are kept for a rank: target, draft, window."""

RUNTIME = frozenset({*BATCHES, "retract", "runtime-exhausted", "ready"})
"""Events that go to the collector of the run's evidence."""

NOTICES = frozenset(
    {"capped", "reduced", "limit-finalized", "tokens-capped", "post-capture-limit"}
)
"""Events, beside those called ``notice-…``, that `Boot.notices` keeps."""

SUMMARY_FIGURES = (
    "max_running_requests",
    "context_len",
    "chunked_prefill_size",
    "max_prefill_tokens",
)
"""Figures of a summary line beside its tokens."""

CLUSTER = "nnodes", "dist_init_addr"
"""Arguments by which the nodes of one server know each other."""

WANTED = READ.union(CLUSTER)
"""Arguments that are kept."""

WITHOUT_DRAFT = (None, "", "NONE", "NGRAM")
"""Values of ``speculative_algorithm`` with which no draft model is loaded."""


class Collector(Protocol):
    """Gathers what batch lines show of the run."""

    def feed(self, reading: Reading) -> None:
        """Take a batch, retraction or exhaustion line, or the ready line."""

    def feed_batch(self, batch: Batch) -> None:
        """Take many batch lines at once."""

    def evidence(
        self,
        *,
        limit: int | None = None,
        slots: int | None = None,
        slots_per_request: int | None = None,
    ) -> Evidence | None:
        """Return what was gathered so far, None for nothing.

        Args:
            limit: Running requests that the boot allows, per DP worker.
            slots: Usable state slots, per DP worker.
            slots_per_request: Slots that the boot reserves for a request.
        """


class StartDraft(Record, frozen=False):
    """What one server start has printed so far."""

    collect: Callable[[], Collector] | None = None
    """Makes the collector, once there is something to collect."""

    collector: Collector | None = None
    number: int = 0
    """Which start of the log, counted from 1; 0 while only notices have come."""

    ranks: dict[Rank, RankDraft] = field(default_factory=dict)
    ranks_left_out: int = 0
    expanded: int = 0
    """Ranks that lines with a range of tags have spoken for."""

    arguments: dict[str, tuple[Scalar, int]] = field(default_factory=dict)
    """Argument -> value and line, of those that anything is made of."""

    has_named: bool = False
    """An argument has come, whichever."""

    has_arguments: bool = False
    """A whole ``server_args`` line has come."""

    nodes: set[Scalar] = field(default_factory=set)
    summaries: dict[Rank, Summary] = field(default_factory=dict)
    notices: dict[tuple[str, str], Notice] = field(default_factory=dict)
    tail: list[Reading] = field(default_factory=list)
    """Notices of the main process since the last other line: they may announce the
    next start.
    """

    capped: Notice | None = None
    reduced: Notice | None = None
    reserve: Measured | None = None
    kv_dtype: str | None = None
    tree_cache: str | None = None
    """Class of the prefix cache."""

    unified: bool = False
    ready_line: int = 0
    batches: int = 0
    ear: Ear = field(default_factory=Ear)
    last_rank: RankDraft | None = None
    dating: Dating = field(default_factory=Dating)
    hybridity: Hybridity = field(default_factory=Hybridity)
    watch: FailureWatch = field(default_factory=FailureWatch)
    texts: dict[int, str] = field(default_factory=dict)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    """Lines in unknown wordings: number, and the kind that they look like."""

    edited: list[int] = field(default_factory=list)
    joined: list[int] = field(default_factory=list)
    doubtful: list[Reading] = field(default_factory=list)
    events: set[str] = field(default_factory=set)
    speaker: str = ""
    stamp: str = ""
    last_stamp: str = ""
    first_line: int = 0
    last_line: int = 0

    @property
    def begun(self) -> bool:
        """Whether more than notices has come."""
        return bool(
            self.has_named
            or self.ranks
            or self.summaries
            or self.ready_line
            or self.batches
            or self.watch.failure
        )

    @property
    def loaded(self) -> bool:
        """Whether a line of the loading server has come: weights, pools, summary."""
        return bool(self.ranks or self.summaries)

    @property
    def complete(self) -> bool:
        """Whether the boot is through, or has failed and said why."""
        served = bool(self.summaries) and self.batches > 0
        return bool(self.ready_line or served or self.watch.settled)

    @property
    def expects_draft(self) -> bool | None:
        """Whether the arguments name a draft model; None: no such argument."""
        if "speculative_algorithm" not in self.arguments:
            return None
        return self.arguments["speculative_algorithm"][0] not in WITHOUT_DRAFT

    def feed(self, reading: Reading) -> None:
        """Take a line of this start."""
        event = reading.event
        if event in BATCHES and not self.ear.counts(event, reading.rank, reading.stamp):
            return
        self.last_line = reading.line + reading.joined
        if not self.first_line:
            self.first_line, self.speaker = reading.line, reading.speaker
        if reading.stamp:
            self.stamp = self.stamp or reading.stamp
            self.last_stamp = reading.stamp
        self.dating.feed(reading)
        self.hybridity.feed(reading)
        if event in RUNTIME and self.collect is not None:
            if self.collector is None:
                self.collector = self.collect()
            self.collector.feed(reading)
        if event in BATCHES:
            self.batches += 1
            return
        self._keep(reading)
        kind = "failure" if event.startswith("failure-") else event
        handler = _HANDLERS.get("load" if event in PHASES else kind)
        if handler is not None:
            handler(self, reading)
        is_notice = event.startswith("notice-")
        if is_notice or event in NOTICES:
            self._notice(reading)
        if is_notice and reading.rank == Rank():
            self.tail.append(reading)
            del self.tail[:-MAX_NOTICES]
        else:
            self.tail.clear()

    def take(self, batch: Batch) -> None:
        """Take batch lines as a whole; a reading of each of their shapes has come."""
        batch = self.ear.sift(batch)
        if not batch.rows:
            return
        self.last_line = batch.line_of(-1)
        self.last_stamp = batch.last_stamp() or self.last_stamp
        self.batches += len(batch.rows)
        if self.collector is not None:
            self.collector.feed_batch(batch)

    def feed_all(self, readings: Iterable[Reading]) -> None:
        """Take several lines of this start."""
        for reading in readings:
            self.feed(reading)

    def hold(self, reading: Reading) -> None:
        """Keep a doubtful line: it counts only where no good line says the same.

        A line that is reworded as well, or torn in its last number, never counts.
        """
        if reading.edited or len(self.doubtful) >= MAX_DOUBTFUL:
            return
        known = (one for one in self.doubtful if one.rank == reading.rank)
        if sum(one.event == reading.event for one in known) < MAX_REPEATS:
            self.doubtful.append(reading)
            self.first_line = self.first_line or reading.line

    def is_other_node(self, reading: Reading) -> bool:
        """Return whether ``server_args`` come from another node of the same server."""
        arguments = pick.arguments(reading)
        nodes, address = map(arguments.get, CLUSTER)
        known = tuple(self.arguments.get(name, (None, 0))[0] for name in CLUSTER)
        return (
            address is not None
            and known == (nodes, address)
            and arguments.get("node_rank") not in self.nodes
        )

    def take_pending(self) -> list[Reading]:
        """Return and drop the lines that belong to the start which follows."""
        pending = [reading for rank in self.ranks.values() for reading in rank.pending]
        for rank in self.ranks.values():
            rank.pending.clear()
        return pending

    def take_tail(self) -> list[Reading]:
        """Return and drop the notices that announce the next start."""
        tail, self.tail = self.tail, []
        for reading in tail:
            self.notices.pop((reading.event, reading.text), None)
        return tail

    def _keep(self, reading: Reading) -> None:
        self.events.add(reading.event)
        if len(self.texts) < MAX_TEXTS:
            self.texts[reading.line] = reading.text
        if reading.edited and len(self.edited) < MAX_NOTICES:
            self.edited.append(reading.line)
        if reading.joined and len(self.joined) < MAX_NOTICES:
            self.joined.append(reading.line)

    def _arguments(self, reading: Reading) -> None:
        arguments, line, known = pick.arguments(reading), reading.line, self.arguments
        self.has_named = self.has_named or bool(arguments)
        for name in arguments:
            if name in WANTED and name not in known:
                known[name] = arguments[name], line
        if pick.is_whole(reading):
            self.has_arguments = True
            self.nodes.add(arguments.get("node_rank"))
            self.dating.feed_arguments(arguments, reading)

    def _load(self, reading: Reading) -> None:
        event = reading.event
        if self.ready_line and PHASES[event] == Phase.GRAPHS:
            return
        if event == "multimodal-reserve":
            self.reserve = self.reserve or pick.size(reading, "reserve_bytes")
        self.unified = self.unified or event.startswith("unified-")
        for rank in expand(reading, MAX_RANKS if self.expanded < MAX_EXPANDED else 1):
            self.expanded += reading.last_rank is not None
            draft = self.ranks.get(rank)
            if draft is None:
                if len(self.ranks) >= MAX_RANKS:
                    self.ranks_left_out += 1
                    continue
                draft = self.ranks[rank] = RankDraft(rank, self.expects_draft)
            take(draft, reading)
            self.last_rank = draft
            if event == "summary":
                self._summary(rank, reading)

    def _ready(self, reading: Reading) -> None:
        self.ready_line = self.ready_line or reading.line

    def _kv_dtype(self, reading: Reading) -> None:
        self.kv_dtype = self.kv_dtype or pick.element_type(reading, "kv_dtype")

    def _tree_cache(self, reading: Reading) -> None:
        self.tree_cache = self.tree_cache or pick.word(reading, "implementation")

    def _unknown(self, reading: Reading) -> None:
        if len(self.unknown) < MAX_NOTICES:
            kind = pick.word(reading, "looks_like") or "boot"
            self.unknown.append((reading.line, kind))

    def _failure(self, reading: Reading) -> None:
        rank = self.ranks.get(reading.rank) or self.last_rank
        word = phase_word(rank, self.has_named)
        self.watch.feed(reading, self.ready_line > 0, word)

    def _summary(self, rank: Rank, reading: Reading) -> None:
        """Note a summary; a further part of a broken one fills what it lacks."""
        known = self.summaries.get(rank)
        tokens = known.tokens if known else pick.count(reading, "kv_tokens")
        if tokens is None:
            return
        figures = {name: pick.count(reading, name) for name in SUMMARY_FIGURES}
        for name, value in figures.items():
            figures[name] = getattr(known, name, None) or value
        line = known.line if known else reading.line
        avail = known.avail if known else None
        self.summaries[rank] = Summary(
            tokens,
            rank=rank,
            line=line,
            avail=avail or pick.size(reading, "avail_bytes"),
            **figures,
        )

    def _notice(self, reading: Reading) -> None:
        key = (reading.event, reading.text)
        if key in self.notices or len(self.notices) >= MAX_NOTICES:
            return
        figures = pick.figures(reading)
        notice = Notice(reading.event, reading.text.strip(), reading.line, figures)
        self.notices[key] = notice
        if reading.event == "capped":
            self.capped = _lower(self.capped, notice)
        elif reading.event == "reduced":
            self.reduced = _lower(self.reduced, notice)


def _lower(known: Notice | None, notice: Notice) -> Notice:
    """Return the notice that grants fewer requests."""
    if known is None:
        return notice
    granted = [one.figures.get("granted") for one in (known, notice)]
    old, new = (value if isinstance(value, int) else 0 for value in granted)
    return notice if new < old else known


_HANDLERS: dict[str, Callable[[StartDraft, Reading], None]] = {
    "server-args": StartDraft._arguments,
    "load": StartDraft._load,
    "ready": StartDraft._ready,
    "kv-dtype": StartDraft._kv_dtype,
    "tree-cache": StartDraft._tree_cache,
    "failure": StartDraft._failure,
    "unknown-wording": StartDraft._unknown,
}
"""Kind of line -> what it does to the start."""
