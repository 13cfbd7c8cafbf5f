"""Logs as bytes: what can be opened, and how lines come out of it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from mamba_advisor import compression
from mamba_advisor.errors import InputError
from mamba_advisor.logfile import MAX_LINE, RawLine, RawLog, iter_lines, open_log

TEXT = b"first line\nsecond \xff\xfe line\nthird line\n"
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


def drain(log: RawLog, size: int = 7) -> bytes:
    """Return all bytes of *log*, read in small pieces."""
    view = memoryview(bytearray(size))
    pieces = []
    while count := log.readinto(view):
        pieces.append(bytes(view[:count]))
    log.close()
    return b"".join(pieces)


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("kind", ["plain", *PACK])
def test_compression_is_told_by_content(kind: str, size: int, tmp_path: Path) -> None:
    """Names do not matter; every byte comes out, whatever the size of the pieces."""
    file = tmp_path / "server.log"
    file.write_bytes(PACK.get(kind, bytes)(TEXT))
    with open_log(file) as log:
        data = drain(log, size)

    assert TEXT == data
    assert "" == log.trouble
    assert len(TEXT) == log.size


@pytest.mark.parametrize("rest", [-1, 0, 1])
@pytest.mark.parametrize("kind", PACK)
def test_much_comes_out_of_little(kind: str, rest: int, tmp_path: Path) -> None:
    """What waits in the decompressor when its input is used up comes out as well."""
    text = b"\n" * (5 * compression.PIECE + rest)
    file = tmp_path / "log"
    file.write_bytes(PACK[kind](text))
    with open_log(file) as log:
        data = drain(log, 4 * compression.PIECE)

    assert text == data
    assert "" == log.trouble


@pytest.mark.parametrize("kind", PACK)
def test_several_streams_are_one_log(kind: str, tmp_path: Path) -> None:
    """Rotated parts put together with cat are read to the end, padding skipped."""
    file = tmp_path / "log"
    file.write_bytes(PACK[kind](TEXT) + b"\0" * 4 + PACK[kind](TEXT))

    assert TEXT * 2 == drain(open_log(file))


@pytest.mark.parametrize("kind", PACK)
def test_cut_stream_gives_what_it_holds(kind: str, tmp_path: Path) -> None:
    """A log still being compressed is read as far as it goes, and that is said."""
    text = os.urandom(300_000)
    file = tmp_path / "log"
    packed = PACK[kind](text)
    file.write_bytes(packed[: len(packed) * 2 // 3])
    log = open_log(file)
    data = drain(log, 65536)

    assert text.startswith(data)
    assert "cut off" in log.trouble


@pytest.mark.parametrize("kind", PACK)
def test_damaged_stream_ends_there(kind: str, tmp_path: Path) -> None:
    """Bytes that are no stream any more end the log with a word about it."""
    packed = bytearray(PACK[kind](os.urandom(300_000)))
    packed[100_000:100_200] = bytes(200)
    file = tmp_path / "log"
    file.write_bytes(packed)
    log = open_log(file)
    drain(log, 65536)

    assert log.trouble


@pytest.mark.parametrize("kind", PACK)
def test_bomb_is_read_in_bounded_memory(kind: str, tmp_path: Path) -> None:
    """Forty megabytes of zeros cost no more than the dictionary of an .xz."""
    file = tmp_path / "bomb"
    file.write_bytes(PACK[kind](bytes(40 << 20)))
    view = memoryview(bytearray(1 << 16))
    tracemalloc.start()
    size = 0
    with open_log(file) as log:
        while count := log.readinto(view):
            size += count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 40 << 20 == size
    assert peak < 10 << 20


def test_zstd_without_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to install."""

    def missing() -> object:
        raise ImportError("no zstd")

    monkeypatch.setattr(compression, "_zstd", missing)
    file = tmp_path / "log.zst"
    file.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    with pytest.raises(InputError, match=r"pip install 'mamba-advisor\[zstd\]'"):
        open_log(file)


def test_zstd_with_the_extra(tmp_path: Path) -> None:
    """With the extra it is read like the others."""
    zstd = pytest.importorskip(
        "backports.zstd" if sys.version_info < (3, 14) else "compression.zstd"
    )
    file = tmp_path / "log"
    file.write_bytes(zstd.compress(TEXT))

    assert TEXT == drain(open_log(file))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: None, "cannot be read: No such file"),
    ],
)
def test_unreadable_path(
    make: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    """One sentence that names the path."""
    path = tmp_path / "x.log"
    make(path)
    with pytest.raises(InputError, match=words) as caught:
        open_log(path)

    assert str(path) in str(caught.value)
    assert 2 == caught.value.exit_code


def test_path_with_a_nul() -> None:
    """No traceback for a path that no system has."""
    with pytest.raises(InputError, match="is no path"):
        open_log("a\0b")


def test_object_that_is_no_log() -> None:
    """A number is neither path nor stream."""
    with pytest.raises(InputError, match="is no path, stream or iterable"):
        open_log(5)


def test_sources_of_the_library_call(tmp_path: Path) -> None:
    """Paths, byte and text streams, and iterables of lines give the same lines."""
    file = tmp_path / "log"
    file.write_bytes(b"a\nb\xc3\xa9\n")
    sources = [
        file,
        str(file),
        os.fsencode(file),
        io.BytesIO(b"a\nb\xc3\xa9\n"),
        io.StringIO("a\nbé\n"),
        open(file, encoding="utf-8"),  # noqa: SIM115
        open(file, "rb"),  # noqa: SIM115
        ["a", "bé"],
        ("a\n", "bé\n"),
        iter([b"a\n", b"b\xc3\xa9"]),
    ]
    for source in sources:
        with open_log(source) as log:
            lines = list(iter_lines(log))
        if hasattr(source, "close"):
            source.close()

        assert [b"a", b"b\xc3\xa9"] == [line.data for line in lines]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input; a closed one is an input error."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT))))

    assert TEXT == drain(open_log("-"))

    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        open_log("-")


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_byte_order_marks(codec: str, tmp_path: Path) -> None:
    """What PowerShell's > writes is read, too."""
    text = "[2026-01-01 10:00:00] é\nb\n"
    mark = "\ufeff" if codec == "utf-16-be" else ""
    file = tmp_path / "log"
    file.write_bytes((mark + text).encode(codec))

    assert text.encode() == drain(open_log(file), 3)


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        (b"[2026-01-01 10:00:00] x\n", ""),
        (b"  <!DOCTYPE html><html>", "html"),
        (b"<html>", "html"),
        (bytes(range(256)) * 4, "binary"),
        ("[2026] é \x1b[1m x".encode(), ""),
        (b"", ""),
    ],
)
def test_looks(data: bytes, looks: str) -> None:
    """Pages and binary files are told by their first bytes."""
    log = open_log(io.BytesIO(data))
    drain(log)

    assert looks == log.looks


def test_growing_file_ends_where_it_ended(tmp_path: Path) -> None:
    """A file that grows faster than it is read does not keep us for ever."""
    file = tmp_path / "log"
    file.write_bytes(TEXT)
    log = open_log(file)
    with file.open("ab") as stream:
        stream.write(b"later\n")

    assert TEXT == drain(log)


@pytest.mark.parametrize("block", [1, 2, 3, 5, 16, 1 << 18])
def test_lines_do_not_depend_on_blocks(block: int) -> None:
    r"""Ends, \r and empty lines come out alike, whatever the size of the blocks."""
    data = b"a\r\n\r\nb\rc\n\nlast"
    lines = list(iter_lines(open_log(io.BytesIO(data)), block))

    assert [b"a", b"", b"b\rc", b"", b"last"] == [line.data for line in lines]
    assert [1, 2, 3, 4, 5] == [line.number for line in lines]
    assert [False, False, False, False, True] == [line.torn for line in lines]


@pytest.mark.parametrize("start", [b"", b"\r"])
@pytest.mark.parametrize("block", [1000, 1 << 18])
def test_long_line_is_cut(block: int, start: bytes) -> None:
    """The first 64 KiB are kept and marked; the next line is whole again."""
    data = start + b"x" * (MAX_LINE * 5) + b"\nnext\n"
    first, second = iter_lines(open_log(io.BytesIO(data)), block)

    assert data[:MAX_LINE] == first.data
    assert first.torn
    assert RawLine(2, b"next", False) == second


@pytest.mark.parametrize("block", [1000, 1 << 18])
def test_line_behind_long_bars_is_kept(block: int) -> None:
    """Hundreds of kilobytes of bars do not hide the line that ends them."""
    bars = b"\r 50%|###   | 1/2 [00:00<00:01,  1.00it/s]" * 5000
    data = bars + b"\r100%| 2/2 [00:02<00:00, 1.00it/s][2026-01-01 10:00:00] x\n"
    (line,) = iter_lines(open_log(io.BytesIO(data)), block)

    assert line.data.endswith(b"[2026-01-01 10:00:00] x")
    assert not line.torn


def test_endless_line_takes_bounded_memory() -> None:
    """Sixty megabytes without a newline."""

    class Endless(io.RawIOBase):
        left = 60 << 20

        def readinto(self, view: memoryview) -> int:  # type: ignore[override]
            count = min(len(view), self.left)
            self.left -= count
            return count

    tracemalloc.start()
    lines = list(iter_lines(open_log(Endless())))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 1 == len(lines)
    assert peak < 4 << 20


def test_empty_log() -> None:
    """Nothing in, nothing out."""
    assert [] == list(iter_lines(open_log(io.BytesIO(b""))))


def test_read_error_ends_the_log() -> None:
    """A disk that fails half-way leaves what was read, and a word."""

    class Broken(io.RawIOBase):
        calls = 0

        def readinto(self, view: memoryview) -> int:  # type: ignore[override]
            self.calls += 1
            if self.calls > 9:
                raise OSError(5, "Input/output error")
            view[:1] = b"\n"
            return 1

    log = open_log(Broken())
    lines = list(iter_lines(log))

    assert [b""] * 9 == [line.data for line in lines]
    assert "reading stopped: Input/output error" == log.trouble
