"""Exact bytes from a geometry: the model's own config, or a published model's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from mamba_advisor.advice.constants import Hypothesis
from mamba_advisor.advice.options import Overrides
from mamba_advisor.boot import binding_rank
from mamba_advisor.boot.model import Boot, Note, Setting
from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.modelconfig import Launch, ModelBytes, measure
from mamba_advisor.modelconfig.elements import STATE_BYTES
from mamba_advisor.modelconfig.published import published_models
from mamba_advisor.plan.launch import WIDTHS, launch_of
from mamba_advisor.record import Record, replace


class KnownGeometry(Record):
    """What a model's own config says of a boot."""

    hypotheses: tuple[Hypothesis, ...] = ()
    """Exact bytes; none where the config contradicts the log."""

    notes: tuple[Note, ...] = ()
    """A contradiction, or what the figures decided."""


def of_config(
    config: Mapping[str, Any], boot: Boot, overrides: Overrides | None
) -> KnownGeometry:
    """Return the bytes that the model's own *config* gives under this boot's settings.

    Raises:
        ConfigError: A field is missing or unusable.
        NotHybridError: The config is not one of a hybrid.
    """
    from mamba_advisor.plan.match import match_geometry

    match = match_geometry(config, _with_options(boot, overrides))
    if match.contradiction is not None:
        note = Note(
            "problem", "config-contradicts-log", match.contradiction, match.lines
        )
        return KnownGeometry(notes=(note,))
    said = tuple(
        Note("info", "config-decided-by-figures", sentence, match.lines)
        for sentence in match.inferred
    )
    known = _hypothesis(match.model, "the model's own config", read=True)
    return KnownGeometry((known,), said)


def published(boot: Boot, overrides: Overrides | None) -> tuple[Hypothesis, ...]:
    """Return the bytes of the published models that load as this boot's class.

    Args:
        boot: The boot; without an architecture nothing is tried.
        overrides: Options on parallelism and element types.
    """
    if boot.architecture is None:
        return ()
    layouts = tuple(_layouts(_with_options(boot, overrides)))
    return _published(boot.architecture, layouts)


@lru_cache(maxsize=64)
def _published(
    architecture: str, layouts: tuple[Launch, ...]
) -> tuple[Hypothesis, ...]:
    """Return the bytes as `published`; the boots of a fleet mostly ask for the same."""
    found: dict[tuple[int, int], Hypothesis] = {}
    for model in published_models(architecture):
        for launch in layouts:
            try:
                sized = measure(model.config, launch)
            except MambaAdvisorError:
                continue
            key = (sized.state_bytes_per_slot, sized.kv_bytes_per_token)
            if sized.loadable and key not in found:
                why = f"the published geometry of {model.name} prints these digits"
                found[key] = _hypothesis(sized, why)
    return tuple(found.values())


def _with_options(boot: Boot, overrides: Overrides | None) -> Boot:
    """Return *boot* with what options state where the log is silent."""
    given = dict(overrides.settings()) if overrides else {}
    silent = {
        name: Setting(value, "option")
        for name, value in given.items()
        if not boot.setting(name).known
    }
    return replace(boot, settings={**boot.settings, **silent}) if silent else boot


def _layouts(boot: Boot) -> Iterator[Launch]:
    """Yield the layouts that the log allows, the stated one first."""
    try:
        stated = launch_of(boot, binding_rank(boot))
    except MambaAdvisorError:
        return  # the log states a layout that cannot be
    widths = (stated.tp_size,) if boot.setting("tp_size").known else WIDTHS
    dtypes: tuple[str | None, ...] = (stated.mamba_ssm_dtype,)
    if boot.setting("mamba_ssm_dtype").value is None:
        # The config's own type, or what an environment variable may have set.
        dtypes = (None, "bfloat16")
    for width in widths:
        if width % stated.attn_dp_size:
            continue
        for dtype in dtypes:
            yield replace(stated, tp_size=width, mamba_ssm_dtype=dtype)


def _hypothesis(sized: ModelBytes, why: str, *, read: bool = False) -> Hypothesis:
    token = sized.printed_kv_bytes_per_token
    return Hypothesis(
        slot=sized.state_bytes_per_slot,
        conv=sized.conv_bytes_per_slot,
        element=STATE_BYTES.get(sized.ssm_dtype),
        token=token,
        draft_token=None,
        source=why,
        read=read,
        beside=sized.kv_bytes_per_token - token,
    )
