"""Logs behind URLs, by fsspec; needs the extra ``fleet``."""

from __future__ import annotations

import io
from typing import Any

from mamba_advisor.errors import InputError

NEEDS = "URLs need fsspec: pip install 'mamba-advisor[fleet]'"


def expand_url(url: str) -> list[str]:
    """Return the files that a URL stands for: itself, or what its pattern matches.

    Raises:
        InputError: fsspec is not installed, the place cannot be reached, or nothing
            matches.
    """
    fs, path = _filesystem(url)
    if not any(sign in path for sign in "*?["):
        return [url]
    try:
        found = [fs.unstrip_protocol(name) for name in sorted(fs.glob(path))]
    except Exception as error:  # every file system has errors of its own
        raise InputError(f"{url!r}: {error}") from error
    if not found:
        raise InputError(f"no file matches {url!r}")
    return found


class RemoteFile(io.RawIOBase):
    """The file behind a URL, as bytes that are stored there."""

    def __init__(self, url: str) -> None:
        """Open *url*.

        Raises:
            InputError: fsspec is not installed, or the file cannot be opened.
        """
        self.name = url
        self._opened: Any = None
        fs, path = _filesystem(url)
        try:
            self._opened = fs.open(path, "rb")
        except Exception as error:  # every file system has errors of its own
            raise InputError(f"{url!r}: {error}") from error

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, view: Any, /) -> int:
        """Fill the start of *view*; 0 at the end.

        Raises:
            InputError: The file cannot be read on.
        """
        try:
            data = self._opened.read(len(view))
        except Exception as error:  # as above
            raise InputError(f"{self.name!r}: {error}") from error
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        if self._opened is not None and not self.closed:
            self._opened.close()
        super().close()


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise InputError(f"{url!r}: {NEEDS}") from error
    try:
        fs, path = url_to_fs(url)
    except Exception as error:  # an unknown scheme, a missing library, no credentials
        raise InputError(f"{url!r}: {error}") from error
    return fs, path
