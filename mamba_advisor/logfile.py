"""Logs as bytes: paths, standard input, streams, compression; numbered lines."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from mamba_advisor.compression import LONGEST_MAGIC, Source, Unpacked, sniff
from mamba_advisor.errors import InputError
from mamba_advisor.record import Record

BLOCK = 256 << 10
"""Bytes read at a time; a reused buffer of this size is the cheapest."""

MAX_LINE = 64 << 10
"""Bytes kept of a line; the rest up to its newline is dropped."""

SAMPLE = 8192
"""First bytes by which a log is told from a page or a binary file."""


class RawLine(Record):
    """A physical line."""

    number: int
    """Counted from 1."""

    data: bytes
    """Without the line's end."""

    torn: bool
    """It is not whole: the input ends in it, or its rest was dropped."""


class RawLog:
    r"""A log's bytes, unpacked, as UTF-8 or something close to it.

    Attributes:
        name: The path as given, ``"-"`` for standard input.
        trouble: Why reading ended early, empty when it did not.
        size: Bytes handed out so far.
        looks: ``"html"``, ``"binary"`` or empty, by the first bytes.
        head: The first bytes, `SAMPLE` at most.
    """

    __slots__ = (
        "_closes",
        "_source",
        "_unpacked",
        "head",
        "looks",
        "name",
        "size",
        "trouble",
    )

    def __init__(self, source: Source, name: str, closes: Any = None) -> None:
        self.name = name
        self.size = 0
        self.trouble = ""
        self.looks = ""
        self.head = b""
        self._closes = closes
        self._unpacked: Unpacked | None = None
        head = _read_head(source, LONGEST_MAGIC, name)
        source = _Replayed(head, source)
        if kind := sniff(head):
            self._unpacked = Unpacked(source, kind, name)
            head = _read_head(self._unpacked, LONGEST_MAGIC, name)
            source = _Replayed(head, self._unpacked)
        for mark, codec in _MARKS.items():
            if head.startswith(mark):
                source = _Decoded(source, codec, len(mark))
                break
        self._source = source

    def readinto(self, view: memoryview | bytearray, /) -> int:
        """Fill *view* from the log.

        Returns:
            The number of bytes, 0 at the end.  A read error, or a compressed stream
            that is cut or damaged, ends the log; `trouble` says so.
        """
        try:
            count = self._source.readinto(memoryview(view))
        except (OSError, ValueError) as error:
            self.trouble = f"reading stopped: {_reason(error)}"
            return 0
        if count and len(self.head) < SAMPLE:
            # The first piece may be short: what `sniff` looked at.
            self.head += bytes(memoryview(view)[: min(count, SAMPLE - len(self.head))])
            self.looks = _looks(self.head)
        self.size += count
        if not count and self._unpacked is not None:
            self.trouble = self.trouble or self._unpacked.trouble
        return count

    def close(self) -> None:
        """Close what `open_log` opened."""
        if self._closes is not None:
            self._closes.close()

    def __enter__(self) -> RawLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_log(source: Any) -> RawLog:
    """Open a log, whatever holds it.

    Args:
        source: A path (``"-"``: standard input), an open byte or text stream, or an
            iterable of lines, each str or bytes, with or without newline.

    Returns:
        The log.  Compression is told by content: gzip, xz, bzip2, and zstd with
        the extra.  A regular file is read up to its size at this moment.

    Raises:
        InputError: The path is a directory, is missing or cannot be read; or the
            compression is not supported here.
    """
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source))
    if isinstance(source, bytes):
        return _open_path(os.fsdecode(source))
    name = getattr(source, "name", None)
    name = name if isinstance(name, str) else "-"
    if isinstance(source, io.TextIOBase) and hasattr(source, "buffer"):
        source = source.buffer
    if hasattr(source, "readinto"):
        return RawLog(_Stream(source), name)
    if hasattr(source, "read"):
        return RawLog(_Readable(source), name)
    if isinstance(source, Iterable):
        return RawLog(_Joined(source), name)
    raise InputError(f"{source!r}: is no path, stream or iterable of lines")


def iter_lines(log: RawLog, block: int = BLOCK) -> Iterator[RawLine]:
    r"""Yield the lines of *log*.

    A line ends with ``\n`` or ``\r\n``; a ``\r`` inside stays (it ends a progress
    bar).  Memory is bounded: of a line longer than `MAX_LINE` the first bytes are
    kept; where it holds ``\r``, what stands behind the last one seen, for a genuine
    line may follow a long run of progress bars.

    Args:
        log: The log.
        block: Bytes read at a time.
    """
    buffer = bytearray(max(1, block))
    view = memoryview(buffer)
    number, rest, is_cut = 0, b"", False
    while count := log.readinto(view):
        pieces = bytes(view[:count]).split(b"\n")
        pieces[0] = rest + pieces[0]
        rest = pieces.pop()
        for piece in pieces:
            number += 1
            line = piece[:-1] if piece.endswith(b"\r") else piece
            yield RawLine(number, *fit_line(line, is_cut))
            is_cut = False
        rest, is_cut = (
            fit_line(rest, is_cut) if len(rest) > MAX_LINE else (rest, is_cut)
        )
    if rest:
        yield RawLine(number + 1, fit_line(rest, is_cut)[0], True)


def fit_line(data: bytes, was_cut: bool) -> tuple[bytes, bool]:
    """Return a line within `MAX_LINE`, and whether it lost its end.

    Args:
        data: The line, or as much of it as is at hand.
        was_cut: It lost its end before.
    """
    if len(data) <= MAX_LINE and not was_cut:
        return data, False
    last = data.rfind(b"\r")
    if last >= 0 and len(data) - last <= MAX_LINE:
        return data[last:], False
    return data[:MAX_LINE], True


_MARKS = {b"\xef\xbb\xbf": "", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Byte order mark -> codec to translate from, empty for UTF-8."""


class _Replayed:
    """A source whose first bytes were read already."""

    __slots__ = ("_head", "_source")

    def __init__(self, head: bytes, source: Source) -> None:
        self._head, self._source = head, source

    def readinto(self, view: memoryview, /) -> int:
        if not self._head:
            return self._source.readinto(view)
        head, self._head = self._head[: len(view)], self._head[len(view) :]
        view[: len(head)] = head
        return len(head)


class _Chunked:
    """A source that makes its bytes chunk by chunk."""

    __slots__ = ("_ready",)

    def __init__(self) -> None:
        self._ready = memoryview(b"")

    def readinto(self, view: memoryview, /) -> int:
        while not self._ready:
            chunk = self._next()
            if chunk is None:
                return 0
            self._ready = memoryview(chunk)
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _next(self) -> bytes | None:
        """Return the next chunk, perhaps empty; None at the end."""
        raise NotImplementedError


class _Decoded(_Chunked):
    """A source in another encoding, as UTF-8; PowerShell writes UTF-16."""

    __slots__ = ("_decoder", "_is_over", "_skip", "_source", "_view")

    def __init__(self, source: Source, codec: str, skip: int) -> None:
        super().__init__()
        self._source, self._skip, self._is_over = source, skip, False
        self._view = memoryview(bytearray(SAMPLE))
        self._decoder = (
            codecs.getincrementaldecoder(codec)("replace") if codec else None
        )

    def _next(self) -> bytes | None:
        if self._is_over:
            return None
        count = self._source.readinto(self._view)
        self._is_over = not count
        data = bytes(self._view[min(self._skip, count) : count])
        self._skip -= min(self._skip, count)
        if self._decoder is None:
            return data
        text = self._decoder.decode(data, final=self._is_over)
        return text.encode("utf-8", "replace")


class _Readable(_Chunked):
    """A stream that can only `read`, of text or bytes."""

    __slots__ = ("_stream",)

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self._stream = stream

    def _next(self) -> bytes | None:
        data = self._stream.read(SAMPLE)
        if not data:
            return None
        return data.encode("utf-8", "replace") if isinstance(data, str) else data


class _Joined(_Chunked):
    """Lines, each of them given its newline."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Iterable[str | bytes]) -> None:
        super().__init__()
        self._lines = iter(lines)

    def _next(self) -> bytes | None:
        line = next(self._lines, None)
        if line is None:
            return None
        data = line.encode("utf-8", "replace") if isinstance(line, str) else bytes(line)
        return data if data.endswith(b"\n") else data + b"\n"


class _Stream:
    """An open byte stream, read as its bytes come, up to *limit* where there is one."""

    __slots__ = ("_left", "_read")

    def __init__(self, stream: Any, limit: int | None = None) -> None:
        self._read = getattr(stream, "readinto1", None) or stream.readinto
        self._left = limit

    def readinto(self, view: memoryview, /) -> int:
        if self._left is None:
            return self._read(view) or 0
        if not self._left:
            return 0
        count = self._read(view[: self._left]) or 0
        if not count:
            raise OSError("the file was shortened while it was read")
        self._left -= count
        return count


def _open_path(path: str) -> RawLog:
    """Open the file at *path*, or standard input for ``"-"``."""
    if path == "-":
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None or stream.closed:
            raise InputError("-: standard input is closed")
        with contextlib.suppress(io.UnsupportedOperation):  # it stands in for one
            _refuse_endless(stream.fileno(), "-")
        return RawLog(_Stream(stream), "-")
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 (RawLog closes it)
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a directory; name the log in it") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {_reason(error)}") from error
    except ValueError as error:  # a NUL in the path
        raise InputError(f"{path!r}: is no path: {error}") from error
    try:
        _refuse_endless(file.fileno(), path)
        status = os.fstat(file.fileno())
        is_regular = stat.S_ISREG(status.st_mode) and status.st_size
        return RawLog(
            _Stream(file, status.st_size if is_regular else None), path, closes=file
        )
    except InputError:
        file.close()
        raise


def _refuse_endless(fd: int, name: str) -> None:
    """Refuse a device such as ``/dev/zero``; a terminal and ``/dev/null`` do end."""
    status = os.fstat(fd)
    if not stat.S_ISCHR(status.st_mode) and not stat.S_ISBLK(status.st_mode):
        return
    if os.isatty(fd) or status.st_rdev == os.stat(os.devnull).st_rdev:
        return
    raise InputError(f"{name}: is a device, which may have no end; name a file")


def _read_head(source: Source, size: int, name: str) -> bytes:
    """Read the first *size* bytes, fewer where the source is shorter."""
    head, view = b"", memoryview(bytearray(size))
    try:
        while len(head) < size and (count := source.readinto(view[: size - len(head)])):
            head += view[:count]
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {_reason(error)}") from error
    return head


def _looks(sample: bytes) -> str:
    """Tell a page or a binary file from a log by its first bytes."""
    start = sample.lstrip()[:15].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<?xml")):
        return "html"
    odd = len(sample.translate(None, _TEXT))
    return "binary" if odd * 10 > len(sample) else ""


_TEXT = bytes({9, 10, 12, 13, 27, *range(32, 127), *range(128, 256)})
"""Bytes that text consists of."""


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
