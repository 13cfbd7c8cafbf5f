"""Which layers keep a state and which a KV cache, in the ways configs say it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mamba_advisor.errors import ConfigError, NotHybridError
from mamba_advisor.modelconfig.fields import Fields

Layers = tuple[int, ...]
"""Layer numbers, counted from 0."""


def by_interval(layers: int, interval: int) -> tuple[Layers, Layers]:
    """Return state and attention layers: every *interval*-th is attention."""
    attention = tuple(range(interval - 1, layers, interval))
    return without(layers, attention), attention


def without(layers: int, taken: Collection[int]) -> Layers:
    """Return the layers below *layers* that are not in *taken*."""
    gone = frozenset(taken)
    return tuple(layer for layer in range(layers) if layer not in gone)


def where(kinds: Sequence[int | str], wanted: Collection[str]) -> Layers:
    """Return the positions in *kinds* that hold one of *wanted*."""
    return tuple(index for index, kind in enumerate(kinds) if kind in wanted)


def listed(fields: Fields, name: str, first: int, layers: int) -> Layers:
    """Return the layers of a list of numbers, in order, those of the model only.

    Args:
        fields: Holds the list.
        name: Its name.
        first: What the list calls the first layer: 0 or 1.
        layers: Layers of the model.

    Raises:
        ConfigError: The list is missing or holds something else.
    """
    found = {number - first for number in fields.numbers(name)}
    return tuple(layer for layer in range(layers) if layer in found)


def checked_types(
    fields: Fields, name: str, layers: int | None, known: Collection[str]
) -> tuple[str, ...]:
    """Return the list *name* of layer types.

    Args:
        fields: Holds the list.
        name: Its name.
        layers: How long it must be; None: any length.
        known: The words that may stand in it.

    Raises:
        ConfigError: The list is missing, of another length, or holds other words.
    """
    kinds = fields.words(name)
    if layers is not None and len(kinds) != layers:
        raise ConfigError(f"{name} names {len(kinds)} layers of {layers}")
    for kind in kinds:
        if kind not in known:
            raise ConfigError(
                f"{name} has {kind!r:.60}, not one of {', '.join(sorted(known))}"
            )
    return kinds


def require_state(layers: Layers, reason: str) -> Layers:
    """Return *layers*.

    Raises:
        NotHybridError: There are none; *reason* says why.
    """
    if not layers:
        raise NotHybridError(f"not a hybrid: {reason}")
    return layers
