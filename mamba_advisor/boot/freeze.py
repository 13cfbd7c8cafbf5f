"""From what a server start has printed to the `Boot` that the advice looks at."""

from __future__ import annotations

from collections.abc import Iterator

from mamba_advisor.boot.contradictions import contradictions
from mamba_advisor.boot.demands import unknown_wording
from mamba_advisor.boot.model import (
    UNKNOWN,
    Boot,
    Note,
    Outcome,
    RankBoot,
    Releases,
    Setting,
    Source,
)
from mamba_advisor.boot.phase import BATCHES, PHASES
from mamba_advisor.boot.settings import (
    infer_dcp,
    infer_radix,
    infer_strategy,
    settle,
)
from mamba_advisor.boot.shape import binding_rank
from mamba_advisor.boot.start import StartDraft
from mamba_advisor.facts import Reading
from mamba_advisor.measured import format_bytes
from mamba_advisor.record import replace
from mamba_advisor.runtime.model import Evidence


def freeze(start: StartDraft, source: Source) -> Boot:
    """Return *start* as it stands; reading may go on.

    Doubtful lines are taken only where no good line of their kind has come.
    """
    trusted = _trusted(start)
    if trusted:
        start = _clone(start)
        start.feed_all(replace(reading, doubtful=False) for reading in trusted)
    releases = start.dating.releases()
    ranks = tuple(
        draft.freeze(start.kv_dtype)
        for rank, draft in sorted(start.ranks.items())
        if draft.printed_anything
    )
    drafts = start.ranks.values()
    target = next((draft.target_class for draft in drafts if draft.target_class), None)
    helper = next((draft.draft_class for draft in drafts if draft.draft_class), None)
    hybrid, evidence = start.hybridity.conclude(releases)
    boot = Boot(
        source=source,
        number=start.number,
        outcome=_outcome(start),
        releases=releases,
        hybrid=hybrid,
        hybrid_evidence=evidence,
        architecture=target,
        draft_architecture=helper,
        settings=_settings(start, ranks, releases),
        ranks=ranks,
        summaries=tuple(start.summaries[rank] for rank in sorted(start.summaries)),
        capped=start.capped,
        reduced=start.reduced,
        multimodal_reserve=start.reserve,
        unified=start.unified,
        post_capture=any(rank.post_capture for rank in start.ranks.values()),
        failure=start.watch.failure,
        notices=tuple(sorted(start.notices.values(), key=lambda notice: notice.line)),
        excerpts=dict(start.texts),
        first_line=start.first_line,
        last_line=start.last_line,
        speaker=start.speaker,
        stamp=start.stamp,
    )
    notes = (*_notes(start, trusted), *_unplaced(boot), *contradictions(boot))
    return replace(boot, notes=notes, runtime=_evidence(start, boot))


def _trusted(start: StartDraft) -> list[Reading]:
    """Return the doubtful lines that say what no good line says.

    A prompt may quote anything; so a doubtful failure, ready line or batch line
    never counts, and a kind of line that the server has printed properly is known.
    """
    return [
        reading
        for reading in start.doubtful
        if reading.event not in start.events
        and (reading.event in PHASES or reading.event == "server-args")
        and reading.event not in BATCHES
    ]


def _clone(start: StartDraft) -> StartDraft:
    import copy

    collector, start.collector = start.collector, None
    try:
        clone = copy.deepcopy(start)
    finally:
        start.collector = collector
    clone.collector = collector
    return clone


def _outcome(start: StartDraft) -> Outcome:
    if start.watch.failure is not None:
        return "failed"
    return "ready" if start.ready_line or start.summaries else "incomplete"


def _settings(
    start: StartDraft, ranks: tuple[RankBoot, ...], releases: Releases
) -> dict[str, Setting]:
    """Return the arguments as printed and changed, then what other lines imply."""
    tags = [rank.rank for rank in ranks]
    settings = settle(start.arguments, start.notices.values(), tags, releases)
    slots = _slots_per_request(start)
    summed = [summary.tokens for summary in start.summaries.values()]
    rows = [rank.kv_pool.tokens for rank in ranks if rank.kv_pool]
    implied = {
        "disable_radix_cache": infer_radix(start.tree_cache, slots),
        "dcp_size": infer_dcp(min(summed, default=None), min(rows, default=None)),
    }
    for name, setting in implied.items():
        if setting.known:
            settings.setdefault(name, setting)
    strategy = infer_strategy(settings, slots) if slots else UNKNOWN
    if strategy.known:
        settings["mamba_radix_cache_strategy"] = strategy
    return settings


def _slots_per_request(start: StartDraft) -> int | None:
    """Return S where a line prints it: the cap's, or a failure's."""
    for line in (start.capped, start.watch.failure):
        slots = line.figures.get("slots_per_request") if line else None
        if isinstance(slots, int):
            return slots
    return None


def _notes(start: StartDraft, trusted: list[Reading]) -> Iterator[Note]:
    yield from start.dating.notes()
    yield from start.watch.notes()
    if trusted:
        yield Note(
            "warning",
            "doubtful-lines",
            "some figures stand where a prompt or a response could have put them; "
            "no proper line of the server states them",
            tuple(reading.line for reading in trusted),
        )
    if start.edited:
        yield Note(
            "info",
            "edited-lines",
            "some lines were reworded by a person; their figures are taken as they are",
            tuple(start.edited),
        )
    if start.joined:
        yield Note(
            "info",
            "joined-lines",
            "some lines were broken and have been joined again",
            tuple(start.joined),
        )
    for line, kind in start.unknown:
        message = unknown_wording(line, kind)
        yield Note("warning", "unknown-wording", message, (line,))
    if start.ranks_left_out:
        yield Note(
            "warning",
            "too-many-ranks",
            f"only the first {len(start.ranks):,} ranks are looked at",
        )


def _evidence(start: StartDraft, boot: Boot) -> Evidence | None:
    """Return what the run has shown, judged by the limits of this boot."""
    if start.collector is None:
        return None
    rank = binding_rank(boot)
    limits = [x.max_running_requests for x in boot.summaries if x.max_running_requests]
    return start.collector.evidence(
        limit=min(limits, default=None),
        slots=rank.state_pool.slots if rank and rank.state_pool else None,
        slots_per_request=_slots_per_request(start),
    )


def _unplaced(boot: Boot) -> Iterator[Note]:
    """Say which sizes of a state pool stand without the slots that they belong to."""
    for rank in boot.ranks:
        if rank.state_pool is None and rank.unplaced:
            sizes = ", ".join(
                f"{name.removesuffix('_bytes').replace('_', ' ')} "
                f"{format_bytes(size.value)}"
                for name, size in rank.unplaced.items()
            )
            lines = {line for size in rank.unplaced.values() for line in size.lines}
            yield Note(
                "warning",
                "slots-not-stated",
                f"the state pool's line gives sizes ({sizes}) but no slot count",
                tuple(sorted(lines)),
            )
            return
