"""One rank of one server start, while its lines are being read."""

from __future__ import annotations

from mamba_advisor.boot.model import KvPool, RankBoot, StatePool
from mamba_advisor.boot.phase import Phase
from mamba_advisor.boot.pools import read_state
from mamba_advisor.facts import Rank, Reading
from mamba_advisor.measured import Measured
from mamba_advisor.record import Record, field, replace


class RankDraft(Record, frozen=False):
    """What one rank has printed of one server start so far."""

    rank: Rank
    expects_draft: bool | None = None
    """Whether the launch arguments name a draft model; None: no arguments known."""

    phase: int = Phase.NONE
    last_event: str = ""
    pending: list[Reading] = field(default_factory=list)
    """Lines that may turn out to belong to a later start."""

    target_class: str | None = None
    draft_class: str | None = None
    loads: int = 0
    """``Load weight end`` lines, the draft's included."""

    draft_loads: int = 0
    before: Measured | None = None
    after: Measured | None = None
    weights: Measured | None = None
    draft_weights: Measured | None = None

    state: StatePool | None = None
    draft_state: StatePool | None = None
    kv: KvPool | None = None
    draft_kv: KvPool | None = None
    window: KvPool | None = None
    window_tokens: int | None = None
    unplaced: dict[str, Measured] = field(default_factory=dict)
    """Sizes of a state-pool line that states no slots, by fact name."""

    entry_bytes: dict[str, int] = field(default_factory=dict)
    """Sub-pool of the unified buffer -> exact bytes of an entry."""

    banner: bool = False
    """The unified pool's banner has come."""

    capped_slots: int | None = None
    pool_ends: int = 0
    pool_end: Measured | None = None
    post_capture: bool = False
    captures: int = 0
    graphs: Measured | None = None
    idle: Measured | None = None
    summary: tuple[int | None, int | None, str] | None = None
    """Tokens, request limit and time of its summary line."""

    @property
    def has_draft(self) -> bool:
        """Whether anything shows a draft worker."""
        shown = self.draft_loads or self.draft_kv or self.draft_class
        speculative = self.state is not None and self.state.draft_ssm is not None
        return bool(shown or speculative or self.expects_draft)

    @property
    def awaits_draft_pool(self) -> bool:
        """Whether the target's pools stand and the draft's are still to come."""
        return bool(self.pool_ends and self.draft_loads and self.draft_kv is None)

    @property
    def only_summary(self) -> bool:
        """Whether the summary line came first: a person put it over the pool lines."""
        return (
            self.summary is not None
            and self.phase == Phase.SERVING
            and self.kv is None
            and not (self.loads or self.pool_ends or self.before)
        )

    @property
    def printed_anything(self) -> bool:
        """Whether it printed a pool or weight line."""
        pools = (self.state, self.kv, self.window, self.draft_kv, self.unplaced)
        return bool(
            self.loads
            or self.pool_ends
            or self.before is not None
            or any(pools)
            or self.held_state is not None
        )

    @property
    def held_state(self) -> StatePool | None:
        """The state pool of a line that is not yet known to be of this start."""
        for reading in reversed(self.pending):
            if reading.event == "state-pool":
                return read_state(reading)
        return None

    def freeze(self, kv_dtype: str | None) -> RankBoot:
        """Return what the rank has printed so far.

        Args:
            kv_dtype: Element type from a line that speaks for all ranks, None
                without one.
        """
        kv = self.kv
        if kv is not None and kv.dtype is None and not self.entry_bytes:
            kv = replace(kv, dtype=kv_dtype)
        return RankBoot(
            self.rank,
            self.weights,
            self.draft_weights,
            self.before,
            self.after,
            self.state or self.held_state,
            kv,
            self.window,
            self.draft_kv,
            self.draft_state,
            self.pool_end,
            self.graphs,
            self.idle,
            dict(self.unplaced),
        )
