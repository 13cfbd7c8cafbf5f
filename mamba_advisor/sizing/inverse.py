"""The sizing backward: the ratio or the pin that gives wanted slots or requests."""

from __future__ import annotations

from collections.abc import Callable

from mamba_advisor.record import replace
from mamba_advisor.sizing.forward import solve
from mamba_advisor.sizing.pools import PoolSizes
from mamba_advisor.sizing.problem import SizingProblem
from mamba_advisor.sizing.releases import Eras, choose
from mamba_advisor.sizing.rules import settle
from mamba_advisor.sizing.terms import decided_by

MAX_RATIO = 10_000.0
"""Ratio beyond which nothing changes: the state pool has all but 0.01 %."""

DIGITS = (2, 3, 4, 5, 6)
"""Significant digits that a printed ratio may have, the fewest first."""

OVERSHOOT = 0.005
"""Slots beyond the wanted ones that are worth a shorter ratio, as a share."""

_NEAR = 1e-9
"""How far, in proportion, a good guess may be off: by rounding alone."""

_HALVINGS = 50
"""Steps that take the state's share of the budget to 1e-15."""


def ratio_counts(version: str, problem: SizingProblem) -> bool:
    """Return whether a ratio decides once no pin is given.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    return decided_by(version, replace(problem, pin=None)) == "ratio"


def pin_counts(version: str, problem: SizingProblem) -> bool:
    """Return whether ``--max-mamba-cache-size`` decides once it is given.

    Raises:
        FactError: *version* is older than 0.5.4.
        InputError: *version* is not a release.
    """
    return decided_by(version, replace(problem, pin=1)) == "pin"


def with_ratio(problem: SizingProblem, ratio: float) -> SizingProblem:
    """Return *problem* with *ratio* and no pin."""
    return replace(problem, ratio=ratio, pin=None)


def slots_of_ratio(version: str, problem: SizingProblem) -> Callable[[float], int]:
    """Return the function ratio -> K of *problem* without its pin.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    rules, terms = settle(version, replace(problem, pin=None))

    def slots(ratio: float) -> int:
        return rules.split.solve(terms.at(ratio))

    return slots


class Threshold:
    """The ratio from which K is at least some number of slots.

    It is looked for no more closely than the digits need that are asked for: a search
    to the last bit takes four times as long.
    """

    def __init__(
        self, slots_of: Callable[[float], int], slots: int, guess: float = 0.0
    ) -> None:
        """Look whether there is one.

        Args:
            slots_of: Ratio -> K, never falling.
            slots: K wanted, at least 1.
            guess: The state's share of the budget where it probably lies; a wrong one
                costs time and nothing else.
        """
        self._slots_of, self._slots = slots_of, slots
        self._low, self._high = 0.0, MAX_RATIO / (1 + MAX_RATIO)
        self._left = _HALVINGS
        self.is_reached = slots_of(MAX_RATIO) >= slots
        """Whether any ratio up to `MAX_RATIO` gives so many."""

        if self.is_reached:
            for share in (guess * (1 - _NEAR), guess * (1 + _NEAR)):
                if self._low < share < self._high:
                    self._look_at(share)

    def below(self, digits: int) -> float:
        """Return the largest ratio with fewer slots, rounded down to *digits*."""
        if not self.is_reached:
            return round_ratio(MAX_RATIO, digits, up=False)
        return round_ratio(self._ends(digits, up=False)[0], digits, up=False)

    def above(self, digits: int) -> float:
        """Return the smallest ratio with so many slots, rounded up to *digits*."""
        return round_ratio(self._ends(digits, up=True)[1], digits, up=True)

    def _ends(self, digits: int, *, up: bool) -> tuple[float, float]:
        """Return ratios to either side that are the same in *digits*, or neighbours."""
        unit = 10.0 ** (1 - digits)
        while True:
            low, high = self._low / (1 - self._low), self._high / (1 - self._high)
            is_near = high - low <= low * unit
            if not self._left or (
                is_near
                and round_ratio(low, digits, up=up) == round_ratio(high, digits, up=up)
            ):
                return low, high
            self._left -= 1
            self._look_at((self._low + self._high) / 2)

    def _look_at(self, share: float) -> None:
        """Find out on which side of the state's *share* it lies."""
        if self._slots_of(share / (1 - share)) < self._slots:
            self._low = share
        else:
            self._high = share


def round_ratio(ratio: float, digits: int, *, up: bool) -> float:
    """Return *ratio* with *digits* significant digits, on the side asked for."""
    top, bottom = ratio.as_integer_ratio()
    places = digits - 1 - int(f"{ratio:.17e}".partition("e")[2])
    if places >= 0:
        whole, rest = divmod(top * 10**places, bottom)
    else:
        whole, rest = divmod(top, bottom * 10**-places)
    return float(f"{whole + (up and rest > 0)}e{-places}")


def _printed_ratio(
    version: str,
    problem: SizingProblem,
    slots: int,
    serves: Callable[[PoolSizes], bool],
) -> float | None:
    """Return the shortest ratio with at least *slots* whose pools serve."""
    if not ratio_counts(version, problem):
        return None
    threshold = Threshold(slots_of_ratio(version, problem), slots)
    if not threshold.is_reached:
        return None
    found = None
    for digits in DIGITS:
        ratio = threshold.above(digits)
        sizes = solve(version, with_ratio(problem, ratio))
        got = sizes.max_mamba_cache_size or 0
        if got < slots or not sizes.boots or not serves(sizes):
            continue
        found = ratio
        if got <= slots * (1 + OVERSHOOT):
            break
    return found


def ratio_for_slots(version: str, problem: SizingProblem, slots: int) -> float | None:
    """Return the smallest ratio, as it will be printed, that gives *slots*.

    Args:
        version: The release.
        problem: One rank's; a pin in it is taken out.
        slots: K wanted, per rank and DP worker; at least 1.

    Returns:
        Rounded up to as few digits as overshoot by at most `OVERSHOOT`, and sized
        again with these digits; None where the ratio does not decide, cannot give so
        many, or leaves nothing for KV.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    return _printed_ratio(version, problem, slots, lambda sizes: True)


def ratio_for_concurrency(
    version: str,
    problem: SizingProblem,
    concurrency: int,
    avg_context: int | None = None,
) -> float | None:
    """Return the smallest ratio, as it will be printed, that carries *concurrency*.

    Args:
        version: The release.
        problem: One rank's; a pin in it is taken out.
        concurrency: Requests at a time wanted, per DP worker; at least 1.
        avg_context: Mean tokens per request, None: the KV pool is not looked at.

    Returns:
        As `ratio_for_slots`; None also where another limit, or the KV pool, holds
        fewer requests.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    slots = concurrency * settle(version, problem)[1].reserved
    return _printed_ratio(
        version,
        problem,
        slots,
        lambda sizes: sustained(sizes, avg_context) >= concurrency,
    )


def sustained(sizes: PoolSizes, avg_context: int | None) -> int:
    """Return the requests that *sizes* keep running at *avg_context* tokens each.

    Returns:
        The smaller of the limit in force and logical tokens // context (the limit
        alone without a context); 0 where SGLang refuses to start.
    """
    limit, tokens = sizes.max_running_requests, sizes.kv_tokens_logical
    if limit is None or tokens is None:
        return 0
    return limit if avg_context is None else min(limit, tokens // avg_context)


def _pin_width_gdn(problem: SizingProblem) -> int:
    """0.5.4–0.5.6: a pin is divided among DP workers for GDN models only."""
    return problem.attn_dp_size if problem.state_family == "gdn" else 1


def _pin_width(problem: SizingProblem) -> int:
    """From 0.5.7: a pin is divided among DP workers."""
    return problem.attn_dp_size


PIN_WIDTHS: Eras[Callable[[SizingProblem], int]] = (
    ("0.5.4", _pin_width_gdn),
    ("0.5.7", _pin_width),
)
"""First release -> DP workers that share a pin."""


def pin_for_slots(version: str, problem: SizingProblem, slots: int) -> int | None:
    """Return the pin, global as the flag is, that gives each worker *slots*.

    Args:
        version: The release.
        problem: One rank's.
        slots: K wanted, per rank and DP worker; at least 1.

    Returns:
        None where the release ignores the flag, or the pools do not fit with it.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    if not pin_counts(version, problem):
        return None
    pin = slots * choose(PIN_WIDTHS, version)(problem)
    return pin if solve(version, replace(problem, pin=pin)).boots else None


def pin_for_concurrency(
    version: str,
    problem: SizingProblem,
    concurrency: int,
    avg_context: int | None = None,
    spare_slots: int = 1,
) -> int | None:
    """Return the pin, global as the flag is, that carries *concurrency* per worker.

    Args:
        version: The release.
        problem: One rank's.
        concurrency: Requests at a time wanted, per DP worker; at least 1.
        avg_context: Mean tokens per request, None: the KV pool is not looked at.
        spare_slots: Slots beyond what the requests reserve.  One is kept by default:
            a pool of exactly C·S slots can be one short at a chunk boundary.

    Returns:
        As `pin_for_slots`; None also where another limit, or the KV pool, holds fewer
        requests.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    slots = concurrency * settle(version, problem)[1].reserved + spare_slots
    pin = pin_for_slots(version, problem, slots)
    if pin is None:
        return None
    sizes = solve(version, replace(problem, pin=pin))
    return pin if sustained(sizes, avg_context) >= concurrency else None


def formula_ratio(
    version: str, problem: SizingProblem, avg_context: int
) -> float | None:
    """Return the ratio that SGLang's published balance rule gives.

    Args:
        version: The release, for S and for what a slot is charged.
        problem: One rank's.
        avg_context: L, mean tokens per request.

    Returns:
        (S + D) · state bytes per slot ÷ KV bytes per token · DCP ÷ L, where D is 0
        with ReplaySSM and on a prefill server; None where no KV is charged or S is
        refused.  A rule of thumb: `best_split` follows the release's arithmetic.

    Raises:
        FactError: *version* is 0.5.3 or older.
        InputError: *version* is not a release.
    """
    _, terms = settle(version, problem)
    cell = max(problem.cells)
    if terms.is_refused or cell <= 0:
        return None
    plain = problem.replayssm_spec or problem.disaggregation_mode == "prefill"
    drafts = 0 if plain else problem.draft_tokens
    token_equivalent = (terms.slot_bytes + terms.ring_bytes) / cell
    return (terms.reserved + drafts) * token_equivalent * problem.dcp_size / avg_context
