"""Markdown tables of boot figures: a row becomes the lines that it was made of."""

from __future__ import annotations

from collections.abc import Iterator

MAX_CELLS = 40
"""Columns of the widest table."""

MAX_CELL = 200
"""Characters of the longest cell."""

LINES = (
    (
        ("max_mamba_cache_size", ": "),
        ("conv_state size", ": "),
        ("ssm_state size", ": "),
        ("intermediate_ssm_state_cache size", ": "),
        ("intermediate_conv_window_cache size", ": "),
    ),
    (("#tokens", ": "), ("K size", ": "), ("V size", ": "), ("KV size", ": ")),
    (
        ("max_total_num_tokens", "="),
        ("max_running_requests", "="),
        ("context_len", "="),
        ("available_gpu_mem", "="),
    ),
)
"""The lines that columns are put back into: (field, separator) in their order."""


class Table:
    """Recognises the rows of a table with named columns."""

    __slots__ = ("_columns", "_last")

    def __init__(self) -> None:
        self._columns: list[str] = []
        self._last: list[str] = []

    def lines(self, message: str) -> Iterator[str]:
        """Take the next line; yield what a row of a known table states.

        Args:
            message: The line; the pipes at its ends may be gone.

        Yields:
            The figures of the row as SGLang's own lines have them.  Nothing for the
            header, for other tables and for lines that are no row.
        """
        cells = [cell.strip(" *`") for cell in message.strip("| ").split("|")]
        if len(cells) < 2 or len(cells) > MAX_CELLS:  # noqa: PLR2004 (a column is none)
            self._columns, self._last = [], []
            return
        if all(cell and not cell.strip(":-") for cell in cells):
            self._columns = self._last if len(self._last) == len(cells) else []
            return
        self._last = cells
        if len(cells) != len(self._columns):
            return
        row = {
            name.removesuffix(" size"): cell[:MAX_CELL]
            for name, cell in zip(self._columns, cells, strict=True)
        }
        for fields in LINES:
            parts = [
                f"{field}{separator}{row[field.removesuffix(' size')]}"
                for field, separator in fields
                if row.get(field.removesuffix(" size"))
            ]
            if parts:
                yield ", ".join(parts)
