"""Reading a small text from a file or from a running server, with bounds."""

from __future__ import annotations

import http.client
import ssl
import threading
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

from mamba_advisor.errors import InputError

MAX_BYTES = 16 << 20
"""Most that is taken in: a server with hundreds of workers prints some 1 MiB."""

BLOCK = 1 << 16

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that are asked without the environment's proxy."""

REASONS = {
    401: "the server wants its API key; save the page with curl and give the file",
    403: "the server refuses; save the page with curl and give the file",
    404: "it has no such page",
}
"""HTTP status -> what to say beside it."""


def is_url(source: str) -> bool:
    """Return whether *source* names a server, not a file."""
    return source.startswith(("http://", "https://"))


def page_of(url: str, page: str) -> str:
    """Return the address of *page* on a server.

    Args:
        url: The server, ``http://host:30000``, or a page of it.
        page: For example ``"/metrics"``; taken where *url* names no page itself.
    """
    parts = _split(url)
    path = parts.path if parts.path.strip("/") else page
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def fetch(source: str, timeout_s: float) -> bytes:
    """Return the content of a file or of a page of a running server.

    Args:
        source: A path, or an ``http`` or ``https`` address.
        timeout_s: Seconds that a server has to answer in full.

    Raises:
        MissingPageError: The server has no such page.
        InputError: It cannot be read, not in time, or is larger than `MAX_BYTES`.
    """
    if is_url(source):
        return _fetch_page(source, timeout_s)
    try:
        with Path(source).open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{source}: {error.strerror or error}") from error
    return _bounded(source, content)


class MissingPageError(InputError):
    """The server answers, but has no such page."""


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"{url}: {error}") from error
    if not host:
        raise InputError(f"{url}: no host in the address")
    if parts.username is not None:
        raise InputError(f"{host}: give the address without a user name")
    return parts


def _opener(url: str) -> urllib.request.OpenerDirector:
    """Return an opener that speaks HTTP only, past the proxy on this machine."""
    own = urlsplit(url).hostname in LOOPBACK
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler({} if own else None),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _read_page(url: str, timeout_s: float, content: bytearray) -> None:
    """Append what the server answers to *content*, hardly more than `MAX_BYTES`."""
    with _opener(url).open(url, timeout=timeout_s) as answer:
        while len(content) <= MAX_BYTES and (block := answer.read1(BLOCK)):
            content += block
        if len(content) <= MAX_BYTES and answer.length:
            raise http.client.HTTPException("the answer is cut off")


def _fetch_page(url: str, timeout_s: float) -> bytes:
    _split(url)
    content, raised = bytearray(), list[Exception]()

    def read() -> None:
        try:
            _read_page(url, timeout_s, content)
        except Exception as error:  # raised again below
            raised.append(error)

    # Each byte that comes keeps a socket waiting for the next one, for ever.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(timeout_s)
    try:
        if reader.is_alive():
            raise TimeoutError
        if raised:
            raise raised[0]
    except urllib.error.HTTPError as error:
        with error:
            reason = REASONS.get(error.code, "it could not answer")
            kind = (
                MissingPageError
                if error.code == http.HTTPStatus.NOT_FOUND
                else (InputError)
            )
            raise kind(f"{url}: HTTP {error.code}: {reason}") from error
    except TimeoutError as error:
        raise InputError(_late(url, timeout_s)) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise InputError(_late(url, timeout_s)) from error
        raise InputError(f"{url}: {_words(error.reason)}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise InputError(f"{url}: {_words(error)}") from error
    return _bounded(url, bytes(content))


def _late(url: str, timeout_s: float) -> str:
    return f"{url}: no complete answer within {timeout_s:g} s"


def _words(error: BaseException | str) -> str:
    """Return what an error says, in few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def _bounded(source: str, content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise InputError(f"{source}: larger than {MAX_BYTES >> 20} MiB")
    return content
