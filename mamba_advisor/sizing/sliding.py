"""State models with sliding-window layers: two KV pools behind one budget.

The state pool is taken first, as always; what is left pays for tokens that every full
layer keeps, and for the share of them that the window layers keep.
"""

from __future__ import annotations


def sliding_cell(full_bytes: int, window_bytes: int, window_ratio: float) -> int:
    """Return the KV bytes that one token of the full pool is charged.

    Args:
        full_bytes: Bytes per token over all full-attention layers (and the draft's).
        window_bytes: Bytes per token over all sliding-window layers.
        window_ratio: ``--swa-full-tokens-ratio``.

    Returns:
        The cell of `SizingProblem.cells`; with window layers only, theirs.
    """
    if not full_bytes:
        return window_bytes
    return int(full_bytes + window_ratio * window_bytes)


def window_tokens(full_tokens: int, window_ratio: float, page_size: int) -> int:
    """Return the rows of the sliding-window pool beside *full_tokens* full ones."""
    return int(full_tokens * window_ratio) // page_size * page_size
