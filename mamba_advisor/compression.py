"""Compressed streams, told by content, read piece by piece whatever they unpack to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mamba_advisor.errors import InputError

CHUNK = 1 << 15
"""Compressed bytes read at a time."""

PIECE = 1 << 16
"""Bytes unpacked at a time: few enough to stay in the processor's cache."""

MAX_DICTIONARY = 80 << 20
"""Bytes of memory that an .xz stream may ask for: ``xz -9`` asks for 65 MiB."""

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
}
"""First bytes -> format."""

LONGEST_MAGIC = max(map(len, MAGIC))


class Source(Protocol):
    """What bytes come from."""

    def readinto(self, view: memoryview, /) -> int:
        """Fill *view*; return the number of bytes, 0 at the end."""


def sniff(head: bytes) -> str:
    """Return the compression format that *head* starts with, empty for none."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), "")


class Unpacked:
    """A compressed source, unpacked as it is read.

    Attributes:
        trouble: Why the stream ended early, empty when it did not.
    """

    __slots__ = (
        "_errors",
        "_holds_more",
        "_input",
        "_is_over",
        "_make",
        "_source",
        "_unpack",
        "_view",
        "kind",
        "trouble",
    )

    def __init__(self, source: Source, kind: str, name: str) -> None:
        """Prepare to unpack.

        Args:
            source: The compressed bytes, from their first on.
            kind: A value of `MAGIC`.
            name: The input's name, for messages.

        Raises:
            InputError: This Python cannot unpack *kind*.
        """
        self.kind = kind
        self.trouble = ""
        self._source = source
        self._view = memoryview(bytearray(CHUNK))
        self._make, self._errors = _decompressor(kind, name)
        self._unpack: Any = None
        self._input = b""
        self._holds_more = False
        self._is_over = False

    def readinto(self, view: memoryview, /) -> int:
        """Fill *view* with unpacked bytes; return their number, 0 at the end.

        A stream that is cut, or damaged, ends where that shows; `trouble` says so.
        Bytes behind the last stream that are no further stream are left out.
        """
        while not self._is_over:
            if not self._input and not self._holds_more:
                size = self._source.readinto(self._view)
                self._input = bytes(self._view[:size])
                if not size:
                    self._is_over = True
                    if self._unpack is not None:
                        self.trouble = f"the {self.kind} stream is cut off"
                    return 0
            try:
                data = self._step(len(view))
            except self._errors as error:
                self._is_over = True
                self.trouble = f"the {self.kind} stream is damaged: {error}"
                if "emory" in str(error):
                    self.trouble = (
                        f"the {self.kind} stream asks for more than"
                        f" {MAX_DICTIONARY >> 20} MiB of memory: unpack it first"
                    )
                return 0
            if data:
                view[: len(data)] = data
                return len(data)
        return 0

    def _step(self, size: int) -> bytes:
        """Unpack at most *size* bytes from what is at hand."""
        size = min(size, PIECE)
        if self._unpack is None:
            # Streams may follow each other, with zeros between them.
            self._input = self._input.lstrip(b"\0")
            if not self._input:
                return b""
            self._unpack = self._make()
        unpack = self._unpack
        data: bytes = unpack.decompress(self._input, size)
        self._holds_more = not getattr(unpack, "needs_input", len(data) < size)
        self._input = getattr(unpack, "unconsumed_tail", b"")
        if unpack.eof:
            self._unpack, self._holds_more = None, False
            self._input = unpack.unused_data.lstrip(b"\0")
            self._is_over = not _may_begin(self._input, self.kind)
        return data


def _may_begin(data: bytes, kind: str) -> bool:
    """Return whether *data* may be the beginning of a further stream of *kind*."""
    return any(
        magic[: len(data)] == data[: len(magic)]
        for magic, name in MAGIC.items()
        if name == kind
    )


def _decompressor(
    kind: str, name: str
) -> tuple[Callable[[], Any], tuple[type[Exception], ...]]:
    """Return a maker of decompressors of *kind*, and the errors that they raise.

    Raises:
        InputError: This Python lacks the module.
    """
    try:
        if kind == "gzip":
            import zlib

            return (lambda: zlib.decompressobj(31)), (zlib.error,)
        if kind == "bzip2":
            import bz2

            return bz2.BZ2Decompressor, (OSError, ValueError)
        if kind == "xz":
            import lzma

            return (
                lambda: lzma.LZMADecompressor(memlimit=MAX_DICTIONARY),
                (lzma.LZMAError, ValueError, MemoryError),
            )
        zstd = _zstd()
    except ImportError as error:
        hint = (
            "install the extra: pip install 'mamba-advisor[zstd]', or unpack it first"
            if kind == "zstd"
            else "unpack it first"
        )
        reason = f"{name}: is {kind}-compressed, which this Python cannot read ({hint})"
        raise InputError(reason) from error
    return zstd.ZstdDecompressor, (zstd.ZstdError, ValueError)


def _zstd() -> Any:
    """Return the zstd module: Python's own from 3.14, else the extra's."""
    from importlib import import_module

    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")
