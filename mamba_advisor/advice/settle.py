"""From read settings and options to the arguments that the arithmetic takes."""

from __future__ import annotations

from collections.abc import Mapping

from mamba_advisor.advice.lattice import GDN, KDA
from mamba_advisor.advice.options import Overrides
from mamba_advisor.boot.model import Boot, Setting
from mamba_advisor.boot.shape import WIDEST
from mamba_advisor.record import Record, replace
from mamba_advisor.sizing.problem import RATIOS, SizingProblem
from mamba_advisor.sizing.releases import KNOWN_RELEASES, parse_release

DEFAULT_RATIO = 0.9
"""``--mamba-full-memory-ratio`` where nothing is given, from 0.5.4 on."""

NONSENSE = 1 << 40
"""No count of tokens, pages or ranks reaches this."""

DEFAULT_CONTEXT = 131072
"""Context length assumed where nothing states one; it bounds a heuristic only."""

TEMPLATE = SizingProblem(rest_gib=0.0, slot_bytes=1, cells=(1,))
"""Arguments without figures: the budget and the byte constants come later."""

MAMBA2 = ("NemotronH", "FalconH1", "GraniteMoeHybrid", "Mamba2")
"""Class name prefixes of Mamba-2 models."""

NOT_SPECULATION = (None, "", "NONE")
"""Values of ``speculative_algorithm`` that mean none."""


class Settled(Record):
    """The arguments of one boot, and how each is known."""

    versions: tuple[str, ...]
    """Releases that fit, newest first; at least one."""

    settings: Mapping[str, Setting]
    """Every known setting under its newest name, options applied."""

    booted: SizingProblem
    """Arguments as the server had them; options fill what the log leaves open."""

    planned: SizingProblem
    """The same with every option applied, also over the log."""

    assumed: Mapping[str, str]
    """Argument -> why it was assumed; for what neither log nor option states."""

    def value(self, name: str) -> object:
        """Return the value of setting *name*, None when unknown."""
        setting = self.settings.get(name)
        return setting.value if setting else None

    def states(self, name: str) -> bool:
        """Return whether the log or an option states *name*."""
        setting = self.settings.get(name)
        return setting is not None and is_stated(setting.origin)

    @property
    def what_if(self) -> bool:
        """Whether an option contradicts the log, so that plan and boot differ."""
        return self.booted != self.planned


def is_stated(origin: str | None) -> bool:
    """Return whether *origin* is a line of the log or an option."""
    return origin == "option" or (origin or "").startswith("log:")


def settle(boot: Boot, overrides: Overrides) -> Settled:
    """Return the arguments behind *boot*.

    Args:
        boot: A start as read.
        overrides: Options; they fill gaps of the boot, and win in the plan.
    """
    options = {name: Setting(value, "option") for name, value in overrides.settings()}
    read = {name: s for name, s in boot.settings.items() if s.known}
    stated = {
        name
        for name, setting in read.items()
        if is_stated(setting.origin) and setting.value is not None
    }
    as_booted = {
        **read,
        **{name: s for name, s in options.items() if name not in stated},
    }
    as_planned = {**read, **options}
    versions = _versions(boot, overrides)
    assumed: dict[str, str] = {}
    booted = planned = _problem(boot, as_booted, overrides, assumed, versions[0])
    if options:
        planned = _problem(boot, as_planned, overrides, {}, versions[0])
    return Settled(versions, as_planned, booted, planned, assumed)


def _versions(boot: Boot, overrides: Overrides) -> tuple[str, ...]:
    """Return the known releases that fit, newest first."""
    if overrides.sglang_version:
        return (overrides.sglang_version,)
    low, high = parse_release(boot.releases.low), parse_release(boot.releases.high)
    fitting = [v for v in KNOWN_RELEASES if low <= parse_release(v) <= high]
    return tuple(reversed(fitting)) or (boot.releases.high,)


def family(architecture: str | None) -> str:
    """Return the state family of a model class: ``gdn``, ``kda``, ``mamba2``, other."""
    name = architecture or ""
    if name.startswith((*GDN, "JetNemotron", "JetVLM")):
        return "gdn"
    if name.startswith(KDA):
        return "kda"
    if name.startswith(MAMBA2):
        return "mamba2"
    return "other" if name else "gdn"


def _problem(
    boot: Boot,
    settings: Mapping[str, Setting],
    overrides: Overrides,
    assumed: dict[str, str],
    version: str,
) -> SizingProblem:
    """Return *settings* as arguments, noting every assumption in *assumed*."""
    read = _Read(settings, assumed)
    summary = boot.summaries[0] if boot.summaries else None
    context = (summary.context_len if summary else None) or read.integer(
        "context_length", DEFAULT_CONTEXT, "only bounds a heuristic limit"
    )
    algorithm = read.text("speculative_algorithm")
    speculative = algorithm not in NOT_SPECULATION
    draft_tokens = read.integer("speculative_num_draft_tokens", 0, "")
    problem = replace(
        TEMPLATE,
        page_size=read.integer("page_size", 1, "the default") or 1,
        context_len=context,
        state_family=family(boot.architecture),
        ratio=read.ratio("mamba_full_memory_ratio", DEFAULT_RATIO, "SGLang's default"),
        pin=read.optional("max_mamba_cache_size"),
        max_running_requests=read.optional("max_running_requests"),
        max_total_tokens=read.optional("max_total_tokens"),
        disable_radix_cache=read.switch("disable_radix_cache", "radix cache on"),
        disable_overlap_schedule=read.switch(
            "disable_overlap_schedule", "overlap schedule on"
        ),
        strategy=_strategy(read, version, boot.architecture),
        skip_decode_lock=bool(overrides.skip_decode_lock),
        speculative_algorithm=algorithm if speculative else None,
        draft_tokens=draft_tokens if speculative or draft_tokens else 0,
        draft_steps=read.integer("speculative_num_steps", 0, ""),
        draft_topk=read.integer("speculative_eagle_topk", 0, ""),
        attn_dp_size=read.width("attn_dp_size"),
        dcp_size=read.width("dcp_size"),
        disaggregation_mode=read.text("disaggregation_mode") or "null",
        replayssm_spec=bool(
            read.switch("enable_linear_replayssm_spec", "")
            or read.switch("enable_gdn_replayssm_spec", "")
        ),
    )
    if problem.draft_tokens == 0 and not speculative:
        problem = replace(problem, speculative_algorithm=None)
    if overrides.draft_tokens == 0:
        problem = replace(problem, speculative_algorithm=None, draft_tokens=0)
    if overrides.replayssm is not None:
        problem = replace(problem, replayssm_spec=overrides.replayssm)
    return problem


def _strategy(read: _Read, version: str, architecture: str | None) -> str:
    """Return the strategy in force, the release's default when unknown."""
    value = read.text("mamba_radix_cache_strategy")
    if value and value != "auto":
        return value
    if value == "auto" or parse_release(version) < (0, 5, 7):
        return "no_buffer"
    from mamba_advisor.sizing.strategy import buffer_support, resolve_auto

    support = buffer_support(version, architecture or "") or "buffer"
    strategy, _ = resolve_auto(version, support)
    read.assume("mamba_radix_cache_strategy", f"{strategy}, this release's default")
    return strategy


class _Read:
    """Typed access to settings, with a note of what had to be assumed."""

    def __init__(
        self, settings: Mapping[str, Setting], assumed: dict[str, str]
    ) -> None:
        self._settings = settings
        self._assumed = assumed

    def assume(self, name: str, why: str) -> None:
        """Note that *name* was assumed."""
        self._assumed[name] = why

    def _value(self, name: str) -> object:
        setting = self._settings.get(name)
        return setting.value if setting else None

    def _missing(self, name: str, why: str) -> None:
        if why and name not in self._settings:
            self._assumed[name] = why

    def optional(self, name: str) -> int | None:
        """Return a positive count, None when it is unset or unknown."""
        value = self._value(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value) if value > 0 else None

    def integer(self, name: str, default: int, why: str) -> int:
        """Return a count, *default* when unset or unknown."""
        value = self._value(name)
        usable = isinstance(value, int) and not isinstance(value, bool)
        if usable and isinstance(value, int) and 0 < value < NONSENSE:
            return value
        self._missing(name, why)
        return default

    def width(self, name: str) -> int:
        """Return a parallel width, 1 when unset, unknown or no width at all."""
        value = self.integer(name, 1, "")
        return value if value <= WIDEST else 1

    def ratio(self, name: str, default: float, why: str) -> float:
        """Return a ratio, *default* when unset, unknown or beyond `RATIOS`."""
        value = self._value(name)
        usable = isinstance(value, int | float) and not isinstance(value, bool)
        low, high = RATIOS
        if usable and isinstance(value, int | float) and low <= value <= high:
            return float(value)
        self._missing(name, why)
        return default

    def switch(self, name: str, why: str) -> bool:
        """Return a switch, off when unknown."""
        value = self._value(name)
        if value is None:
            self._missing(name, why)
        return value is True

    def text(self, name: str) -> str | None:
        """Return a word, None when unset or unknown."""
        value = self._value(name)
        return value if isinstance(value, str) and value else None
