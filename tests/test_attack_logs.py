"""Logs that ask for too much, have no size, or go on behind their end."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import zlib
from pathlib import Path

import pytest

from mamba_advisor.logfile import RawLog, open_log
from mamba_advisor.plan import weights
from mamba_advisor.runtime.follow import Follower

TEXT = b"[2026-03-07 04:31:24] a line\n"


def drain(log: RawLog) -> bytes:
    """Return all that a log gives."""
    view, data = memoryview(bytearray(4096)), b""
    while count := log.readinto(view):
        data += view[:count]
    return data


def asking(dictionary: int) -> bytes:
    """Return an .xz of one line whose header asks for a dictionary of such a size.

    Source:
        The .xz file format: behind the twelve bytes of the stream a block's header of
        twelve, the dictionary's size in its fifth, a checksum in its last four.
    """
    data = bytearray(lzma.compress(TEXT))
    assert data[12:15] == b"\x02\x00\x21"
    data[16] = dictionary
    data[20:24] = zlib.crc32(data[12:20]).to_bytes(4, "little")
    return bytes(data)


MIB_64, GIB_4 = 28, 40
"""Sizes of dictionaries, as the header has them."""


def test_small_dictionary_is_granted() -> None:
    """What the strongest presets of xz ask for is given."""
    log = open_log(io.BytesIO(asking(MIB_64)))

    assert TEXT == drain(log)
    assert "" == log.trouble


def test_large_dictionary_is_refused() -> None:
    """A few bytes of .xz that ask for 4 GiB of memory do not get them."""
    log = open_log(io.BytesIO(asking(GIB_4)))

    assert b"" == drain(log)
    assert "asks for more than 80 MiB of memory: unpack it first" in log.trouble


def test_machine_without_memory_for_a_dictionary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where even the granted one is too much the log ends, with a word."""

    class Poor:
        eof = False

        def __init__(self, memlimit: int) -> None:
            assert memlimit

        def decompress(self, data: bytes, size: int) -> bytes:
            raise MemoryError(len(data), size)

    monkeypatch.setattr(lzma, "LZMADecompressor", Poor)
    log = open_log(io.BytesIO(asking(MIB_64)))

    assert b"" == drain(log)
    assert log.trouble.startswith("the xz stream is damaged")


def test_bytes_behind_the_last_stream_are_left_out() -> None:
    """What a tape or a transfer has put behind a whole stream is no damage."""
    log = open_log(io.BytesIO(gzip.compress(TEXT) + b"no stream"))

    assert TEXT == drain(log)
    assert "" == log.trouble


def test_stream_that_was_closed_ends_the_log() -> None:
    """What was read until then counts, and a word says why there is no more."""

    class Closed(io.RawIOBase):
        calls = 0

        def readinto(self, view: memoryview) -> int:  # type: ignore[override]
            self.calls += 1
            if self.calls > len(TEXT):
                raise ValueError("I/O operation on closed file")
            view[:1] = TEXT[self.calls - 1 : self.calls]
            return 1

    log = open_log(Closed())

    assert TEXT == drain(log)
    assert "reading stopped: I/O operation on closed file" == log.trouble


def test_device_with_an_end_is_read() -> None:
    """Nothing comes from ``/dev/null``, which is no reason to refuse it."""
    with open_log(os.devnull) as log:
        assert b"" == drain(log)


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs /proc")
def test_file_without_a_size_is_read() -> None:
    """Files of the kernel have content, and a size of 0."""
    with open_log("/proc/version") as log:
        assert Path("/proc/version").read_bytes() == drain(log)


def test_writer_faster_than_the_reader_cannot_prevent_the_stop(tmp_path: Path) -> None:
    """After the stop as much is read as there was, whatever comes meanwhile."""
    path = tmp_path / "server.log"
    path.write_bytes(TEXT * 10)
    buffer, read = memoryview(bytearray(7)), b""
    with Follower(str(path), lambda: True) as follower, path.open("ab") as writer:
        while (count := follower.readinto(buffer)) and len(read) < 100 * len(TEXT):
            read += buffer[:count]
            writer.write(TEXT)
            writer.flush()

    assert TEXT * 10 == read


def test_index_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the sizes of the files count, as they do without an index."""
    index = b'{"metadata": {"total_size": 5000}}'
    (tmp_path / weights.INDEX).write_bytes(index)
    (tmp_path / "model.safetensors").write_bytes(bytes(700))
    monkeypatch.setattr(weights, "LARGEST_INDEX", len(index))
    assert 5000 == weights.stored_bytes(tmp_path)

    monkeypatch.setattr(weights, "LARGEST_INDEX", len(index) - 1)
    assert 700 == weights.stored_bytes(tmp_path)
