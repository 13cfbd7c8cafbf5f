"""A model's config against a boot's printed pools: exact bytes, or a contradiction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mamba_advisor.boot import binding_rank
from mamba_advisor.boot.model import Boot, RankBoot, StatePool
from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.measured import Measured, format_bytes, format_range
from mamba_advisor.modelconfig import Launch, ModelBytes, measure
from mamba_advisor.modelconfig.constants import architecture_of
from mamba_advisor.modelconfig.published import family_of, published_models
from mamba_advisor.plan.launch import WIDTHS, launch_of, width_of
from mamba_advisor.record import Record, replace

KV_DTYPES = ("bfloat16", "fp8_e4m3")
"""KV types that are tried."""

SETTINGS = {
    "--tp-size": "tp_size",
    "--mamba-ssm-dtype": "mamba_ssm_dtype",
    "--kv-cache-dtype": "kv_cache_dtype",
}
"""Flag that may have been another than stated -> its setting."""


class Check(Record):
    """One printed figure against the config's integer."""

    name: str
    """``"conv_state"``, ``"ssm_state"``, ``"KV"``, …"""

    rows: int
    """Rows behind the figure."""

    each: int
    """Bytes of a row by the config."""

    printed: Measured
    """What the log prints."""

    tokens: int = 1
    """Tokens of a row: those of a page where the model forces one."""

    @property
    def fits(self) -> bool:
        """Whether rows × bytes format to the printed digits."""
        return self.printed.holds(self.rows * self.each)

    @property
    def sentence(self) -> str:
        """The figure, and what the config makes of it."""
        return (
            f"{self.name} size {format_range(self.printed)} for "
            f"{self.rows * self.tokens} rows, "
            f"where the config gives {format_bytes(self.rows * self.each)}"
        )


class Assumption(Record):
    """A layout other than the stated one, with which the figures would fit."""

    sentence: str
    model: ModelBytes


class GeometryMatch(Record):
    """What a config's geometry makes of a boot."""

    model: ModelBytes
    """Exact bytes on the binding rank, under the boot's settings."""

    checks: tuple[Check, ...]
    """Every printed figure that could be compared; empty: none was."""

    contradiction: str | None
    """What does not fit, and what would; None: everything fits."""

    would_fit: tuple[Assumption, ...] = ()
    """Other layouts or models with which all figures fit, the nearest first."""

    inferred: tuple[str, ...] = ()
    """Settings that the log does not state and that the figures decided, a
    sentence each.
    """

    lines: tuple[int, ...] = ()
    """Log lines of the figures."""

    @property
    def fits(self) -> bool:
        """Whether figures could be compared, and all of them fit."""
        return bool(self.checks) and self.contradiction is None

    @property
    def slot_bytes(self) -> int:
        """Exact state bytes of one slot on the rank."""
        return self.model.state_bytes_per_slot

    @property
    def token_bytes(self) -> int:
        """KV bytes of one token on the rank, in the pool line's figure."""
        return self.model.printed_kv_bytes_per_token


def match_geometry(config: Mapping[str, Any], boot: Boot) -> GeometryMatch:
    """Compare a model's config with what a boot printed.

    Args:
        config: The content of the model's ``config.json``.
        boot: A boot as read; its settings decide the layout.

    Returns:
        Exact bytes per slot and token.  Where the log does not state the tensor
        parallelism or an element type, the one with which the figures fit is taken,
        and said.

    Raises:
        ConfigError: The config cannot be read, or its heads do not divide over the
            stated ranks and nothing else fits.
        NotHybridError: The config is not one of a hybrid.
    """
    rank = binding_rank(boot)
    stated = launch_of(boot, rank)
    model, failure = _measured(config, stated)
    checks = _checks(model, boot, rank) if model else ()
    wrong = [check.sentence for check in checks if not check.fits]
    strange = _other_class(config, boot)
    if model is not None and not wrong:
        return GeometryMatch(model, checks, strange, lines=_lines(checks))
    others = tuple(_others(config, boot, rank, stated))
    chosen = next((other for other in others if _is_open(boot, other)), None)
    if strange is None and chosen is not None:
        fitting = _checks(chosen.model, boot, rank)
        said = f"the log does not state it: {chosen.sentence} fits the figures"
        return GeometryMatch(
            chosen.model, fitting, None, inferred=(said,), lines=_lines(fitting)
        )
    if model is None:
        if failure is not None and not others:
            raise failure
        model = others[0].model
        wrong = [str(failure)]
    parts = [strange or "the log's figures do not fit the config", "; ".join(wrong)]
    contradiction = ": ".join(parts)
    if others:
        contradiction += f" (they would fit with {others[0].sentence})"
    return GeometryMatch(model, checks, contradiction, others, lines=_lines(checks))


def _measured(
    config: Mapping[str, Any], launch: Launch
) -> tuple[ModelBytes | None, MambaAdvisorError | None]:
    """Return the bytes, or why the stated layout has none.

    Raises:
        ConfigError: Not even one rank can be computed.
        NotHybridError: The config is not one of a hybrid.
    """
    try:
        return measure(config, launch), None
    except MambaAdvisorError as error:
        measure(config, replace(launch, tp_size=1, attn_dp_size=1, dcp_size=1))
        return None, error


def _checks(model: ModelBytes, boot: Boot, rank: RankBoot | None) -> tuple[Check, ...]:
    """Return every figure of the rank that the bytes can be held against."""
    if rank is None:
        return ()
    found: list[Check] = []
    page = max(width_of(boot, "page_size"), model.min_page_size)
    state, kv = rank.state_pool, rank.kv_pool
    if state is not None:
        found += _state_checks(model, state)
    if kv is not None and kv.size is not None and not kv.upper_bound:
        own = model.min_page_size
        found.append(
            Check(
                "KV", (kv.tokens + page) // own, model.printed_page_bytes, kv.size, own
            )
        )
    return tuple(found)


def _state_checks(model: ModelBytes, state: StatePool) -> list[Check]:
    """Return the checks of the state pool: its two parts, K + 1 rows each."""
    rows = state.slots + 1
    parts = (
        ("conv_state", model.conv_bytes_per_slot, state.conv),
        ("ssm_state", model.ssm_bytes_per_slot, state.ssm),
    )
    return [
        Check(name, rows, each, printed)
        for name, each, printed in parts
        if printed is not None
    ]


def _lines(checks: tuple[Check, ...]) -> tuple[int, ...]:
    return tuple(sorted({line for check in checks for line in check.printed.lines}))


def _other_class(config: Mapping[str, Any], boot: Boot) -> str | None:
    """Return the sentence on a log of another model class, None where they agree."""
    named = architecture_of(config)
    if named is None or boot.architecture is None:
        return None
    if family_of(named) == family_of(boot.architecture):
        return None
    return f"the log is of a {boot.architecture}, the config of a {named}"


def _others(
    config: Mapping[str, Any], boot: Boot, rank: RankBoot | None, stated: Launch
) -> Iterator[Assumption]:
    """Yield layouts, then published models, with which all figures fit."""
    for launch in _near(stated):
        model = _fitting(config, launch, boot, rank)
        if model is not None:
            yield Assumption(_differences(stated, launch), model)
    for published in published_models(boot.architecture or ""):
        for launch in (stated, *_near(stated)):
            model = _fitting(published.config, launch, boot, rank)
            if model is not None:
                other = _differences(stated, launch)
                layout = f" and {other}" if other else ""
                yield Assumption(f"{published.name}{layout}", model)
                break


def _fitting(
    config: Mapping[str, Any], launch: Launch, boot: Boot, rank: RankBoot | None
) -> ModelBytes | None:
    """Return the bytes under *launch* where every figure fits, else None."""
    try:
        model = measure(config, launch)
    except MambaAdvisorError:
        return None
    checks = _checks(model, boot, rank)
    fits = bool(checks) and all(check.fits for check in checks)
    return model if fits and model.loadable else None


def _near(stated: Launch) -> Iterator[Launch]:
    """Yield layouts by how many settings differ from the stated one."""
    layouts = []
    for tp in dict.fromkeys((stated.tp_size, *WIDTHS)):
        for ssm in dict.fromkeys((stated.mamba_ssm_dtype, "float32", "bfloat16")):
            for kv in dict.fromkeys((stated.kv_cache_dtype, *KV_DTYPES)):
                shares = stated.attn_dp_size if tp % stated.attn_dp_size == 0 else 1
                dcp = stated.dcp_size if tp // shares % stated.dcp_size == 0 else 1
                launch = replace(
                    stated,
                    tp_size=tp,
                    attn_dp_size=shares,
                    dcp_size=dcp,
                    mamba_ssm_dtype=ssm,
                    kv_cache_dtype=kv,
                )
                if launch != stated:
                    layouts.append(launch)
    layouts.sort(key=lambda launch: _distance(stated, launch))
    yield from layouts


def _distance(stated: Launch, launch: Launch) -> int:
    return (
        (launch.tp_size != stated.tp_size)
        + (launch.mamba_ssm_dtype != stated.mamba_ssm_dtype)
        + (launch.kv_cache_dtype != stated.kv_cache_dtype)
    )


def _differences(stated: Launch, launch: Launch) -> str:
    """Return in flags what differs from the stated layout; empty: nothing."""
    flags = []
    if launch.tp_size != stated.tp_size:
        flags.append(f"--tp-size {launch.tp_size}")
    if launch.mamba_ssm_dtype != stated.mamba_ssm_dtype:
        flags.append(f"--mamba-ssm-dtype {launch.mamba_ssm_dtype}")
    if launch.kv_cache_dtype != stated.kv_cache_dtype:
        flags.append(f"--kv-cache-dtype {launch.kv_cache_dtype}")
    return " ".join(flags)


def _is_open(boot: Boot, assumption: Assumption) -> bool:
    """Return whether the log leaves open everything that the assumption changes."""
    flags = assumption.sentence.split()[::2]
    return all(flag in SETTINGS for flag in flags) and not any(
        boot.setting(SETTINGS[flag]).known for flag in flags
    )
