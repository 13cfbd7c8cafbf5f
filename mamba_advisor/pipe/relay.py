"""The filter: every byte of the input to the output at once, and advice beside it."""

from __future__ import annotations

import os
import select
import signal
import time

from mamba_advisor.errors import MambaAdvisorError
from mamba_advisor.pipe.listener import Listener, Moment, RelayResult
from mamba_advisor.pipe.outlet import Outlet, hold, widen
from mamba_advisor.pipe.signals import Signals
from mamba_advisor.pipe.voice import Voice
from mamba_advisor.record import replace

BLOCK = 1024 << 10
"""Bytes of the one buffer that all input goes through."""

BACKLOG = 64 << 20
"""Bytes kept for a reader that has stopped, hours of log; then the server waits."""

LAG = 4 << 20
"""Bytes kept for a reader that lags behind but reads: the server waits for that one,
as it would without a filter."""

LAG_S = 0.02
"""Time after which a reader that takes nothing has stopped: it is not waited for."""

ROOM = 4096
"""With less free space in the buffer, what it holds is looked at before reading on."""

NEWLINE = 0x0A

IDLE_MS = 20
"""Silence after which the bytes passed on are looked at: a few lines at a time cost
little more than one."""

SLICE_S = 0.001
"""Time that looking at one slice may take before the input is asked again."""

SLICE_BYTES = (512, BLOCK)
"""Smallest and largest slice."""

SILENCE_S = 1.0
"""After SIGTERM: silence of the input that counts as its end."""

TERM_S = 4.0
"""After SIGTERM: longest time of passing on what the server still says."""

LEAVE_S = 5.0
"""Longest time that leaving early waits for the advice and for the readers."""

IMPATIENT = 3
"""SIGINTs after which the end of the input is no longer waited for."""


def relay(
    stdin_fd: int,
    stdout_fd: int,
    stderr_fd: int,
    listener: Listener,
    *,
    backlog: int = BACKLOG,
) -> RelayResult:
    """Pass *stdin_fd* on to *stdout_fd* until it ends, and say what is due.

    Nothing is held back, changed or reordered.  The writer of the input waits for the
    reader of the output only while that one reads on, `LAG` behind, or once *backlog*
    bytes are kept for it.  When the output cannot be written any more, the input is
    read on to its end: a server dies of a pipe that nobody reads.  When *stderr_fd*
    cannot be written, nothing is said.  SIGINT is left to the server, whose end is the
    end of the input; the third one leaves at once.  SIGTERM leaves when the server has
    no more to say, SIGHUP is ignored, SIGUSR1 asks for everything.

    Args:
        stdin_fd: Descriptor to read; any kind, also non-blocking.
        stdout_fd: Descriptor that gets the input's bytes and nothing else.
        stderr_fd: Descriptor that gets what *listener* has to say, and notes.
        listener: Gets every byte after it was passed on.
        backlog: Bytes kept for a slow reader.

    Returns:
        How it ended.  A dead descriptor has been replaced with ``/dev/null``.
    """
    # All three before anything is opened, which could get a closed one's number.
    closed = [hold(fd) for fd in (stdin_fd, stdout_fd, stderr_fd)]
    with Signals() as signals:
        out, err = Outlet(stdout_fd, closed[1]), Outlet(stderr_fd, closed[2])
        loop = _Relay(stdin_fd, out, Voice(err, out), signals)
        result = loop.run(listener, backlog)
    return replace(result, input_error=closed[0] or result.input_error)


class _Relay:
    """State of one `relay` call."""

    def __init__(
        self, source: int, out: Outlet, voice: Voice, signals: Signals
    ) -> None:
        self._source = source
        self._out = out
        self._voice = voice
        self._err = voice.outlet
        self._signals = signals
        self._buffer = bytearray(BLOCK)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._seen = 0
        self._looking = False
        self._slice = SLICE_BYTES[0]
        self._received = 0
        self._taken_at = -LAG_S
        self._reading = True
        self._ended = False
        self._signal: int | None = None
        self._interrupts = 0
        self._stop_at: float | None = None
        self._silent_at = 0.0
        self._leave_at: float | None = None
        self._input_error: OSError | None = None
        self._listener_error: Exception | None = None
        self._poll = select.poll()
        self._watched: set[int] = set()
        self._state: tuple[bool, int, bool, bool] | None = None

    def run(self, listener: Listener, bound: int) -> RelayResult:
        """Relay, then say the last word, then wait for the readers."""
        self._listener = listener
        self._bound = bound
        # What arrives during our longest pauses finds room, and what we pass on then.
        widen(self._source)
        self._out.widen()
        self._note_output()
        while self._reading:
            self._step()
        self._look_at_all()
        self._ask(Moment.ENDED)
        while self._busy:
            if self._leave_at is not None and time.monotonic() >= self._leave_at:
                break
            self._step()
        return self._close()

    def _step(self) -> None:
        """Wait for what comes first, and do it; looking at bytes comes last."""
        self._watch()
        ready = self._poll.poll(self._timeout_ms())
        for fd, _ in ready:
            if fd == self._source:
                self._read()
            elif fd == self._signals.fd:
                for number in self._signals.read():
                    self._obey(number)
            elif fd == self._out.fd:
                self._drain()
            elif fd == self._err.fd:
                self._err.drain()
            else:
                self._voice.collect()
        if not ready and self._seen < self._filled:
            self._look(self._slice)
        if self._stop_at is not None and self._reading:
            now = time.monotonic()
            if now >= min(self._stop_at, self._silent_at):
                self._stop_reading()

    def _watch(self) -> None:
        """Tell the poll object which descriptors matter now."""
        reads = self._reading and self._out.pending < self._bound and not self._lags
        child = self._voice.child.fd if self._voice.child is not None else -1
        speaks = self._err.pending > 0
        writes = self._out.pending > 0 and not self._voice.has_floor
        state = reads, child, speaks, writes
        if state == self._state:
            return
        self._state = state
        wanted = {self._signals.fd: select.POLLIN}
        if reads:
            wanted[self._source] = select.POLLIN
        if child >= 0:
            wanted[child] = select.POLLIN
        if speaks:
            wanted[self._err.fd] = select.POLLOUT
        if writes:
            wanted[self._out.fd] = select.POLLOUT
        for fd in self._watched - wanted.keys():
            self._poll.unregister(fd)
        for fd, events in wanted.items():
            self._poll.register(fd, events)
        self._watched = set(wanted)

    def _timeout_ms(self) -> int | None:
        if self._seen < self._filled:
            return 0 if self._looking else IDLE_MS
        ends = [self._leave_at] if self._leave_at is not None else []
        if self._stop_at is not None and self._reading:
            ends += [self._stop_at, self._silent_at]
        if self._lags:
            ends.append(self._taken_at + LAG_S)
        if not ends:
            return None
        return max(0, round((min(ends) - time.monotonic()) * 1000) + 1)

    @property
    def _lags(self) -> bool:
        """Whether the reader of the output is far behind, but reads."""
        if not self._reading or self._out.pending < LAG:
            return False
        return time.monotonic() < self._taken_at + LAG_S

    @property
    def _busy(self) -> bool:
        """Whether something is still on its way."""
        return self._voice.busy or self._out.pending > 0

    def _drain(self) -> None:
        """Write what was kept, and note whether the reader has taken any of it."""
        before = self._out.written
        self._out.drain()
        if self._out.written > before:
            self._taken_at = time.monotonic()
        self._note_output()
        self._voice.speak()

    def _read(self) -> None:
        """Read once, and pass it on before anything else happens."""
        start = self._filled
        try:
            count = os.readv(self._source, [self._view[start:]])
        except BlockingIOError:
            return
        except OSError as error:
            # A terminal that went away gives EIO, a closed descriptor EBADF.
            self._input_error = error
            count = 0
        if count == 0:
            self._ended = True
            self._stop_reading()
            return
        end = self._filled = start + count
        self._out.put(self._view, start, end, hold=self._voice.has_floor)
        self._received += count
        self._voice.at_line_start = self._buffer[end - 1] == NEWLINE
        self._note_output()
        self._silent_at = time.monotonic() + SILENCE_S if self._stop_at else 0.0
        if self._filled > BLOCK - ROOM:
            self._look_at_all()

    def _look_at_all(self) -> None:
        """Show the listener everything that has been passed on."""
        if self._seen < self._filled:
            self._look(BLOCK)

    def _look(self, size: int) -> None:
        """Show the listener *size* bytes at most of what has been passed on."""
        start = self._seen
        self._looking = True
        self._seen = min(self._filled, start + size)
        if self._listener_error is None:
            began = time.perf_counter()
            try:
                self._listener.feed(self._view[start : self._seen])
            except Exception as error:  # the stream must survive us, whatever it is
                self._give_up(error)
            took = time.perf_counter() - began
            low, high = SLICE_BYTES
            if took > SLICE_S:
                self._slice = max(low, self._slice // 2)
            elif took < SLICE_S / 2 and self._seen - start >= self._slice:
                self._slice = min(high, self._slice * 2)
        if self._seen == self._filled:
            self._seen = self._filled = 0
            self._looking = False
        self._ask(Moment.FED)

    def _ask(self, moment: Moment) -> None:
        """Ask the listener for something to say, and have it rendered."""
        if self._listener_error is not None and moment is Moment.FED:
            return
        try:
            render = self._listener.due(moment)
        except Exception as error:  # as for `feed`
            self._give_up(error)
            return
        if render is not None:
            self._voice.have_rendered(render)

    def _give_up(self, error: Exception) -> None:
        if self._listener_error is not None:
            return
        self._listener_error = error
        kind = "" if isinstance(error, MambaAdvisorError) else type(error).__name__
        why = f"{kind}: {error}".removeprefix(": ")
        self._voice.say(f"cannot read on: {why}; the log is still passed through")

    def _note_output(self) -> None:
        """Say once that the output is dead, or that the server waits for it."""
        if not self._out.alive:
            self._voice.say(
                f"cannot write the log on: {self._out}; reading it to its end all the"
                " same, so that the server lives"
            )
        elif self._out.pending >= self._bound:
            self._voice.say(
                f"the output is not read and {self._bound >> 20} MiB of log wait for"
                " it: the server waits now, too"
            )

    def _obey(self, number: int) -> None:
        """Do what the signal *number* asks for."""
        if number == signal.SIGUSR1:
            self._look_at_all()
            self._ask(Moment.ASKED)
        elif number == signal.SIGINT:
            self._signal = self._signal or number
            self._interrupts += 1
            if self._interrupts >= IMPATIENT:
                self._stop_reading()
                self._leave_soon()
            elif self._interrupts > 1 and self._reading:
                self._voice.say(
                    "waiting for the end of the log; once more to leave at once"
                )
        elif number == signal.SIGTERM:
            now = time.monotonic()
            if self._stop_at is not None or not self._reading:
                self._stop_reading()
                self._leave_soon()
            self._signal = number
            self._stop_at = now + TERM_S
            self._silent_at = now + SILENCE_S

    def _stop_reading(self) -> None:
        self._reading = False
        if self._signal == signal.SIGTERM:
            self._leave_soon()

    def _leave_soon(self) -> None:
        if self._leave_at is None:
            self._leave_at = time.monotonic() + LEAVE_S

    def _close(self) -> RelayResult:
        if self._voice.child is not None:
            self._voice.child.stop()
        if self._out.pending:
            self._voice.say(f"{self._out.pending} bytes of log were never read")
        output_error = self._out.error
        self._out.close()
        self._err.close()
        return RelayResult(
            received=self._received,
            passed=self._out.written,
            ended=self._ended,
            signal=self._signal,
            input_error=self._input_error,
            output_error=output_error,
            listener_error=self._listener_error,
        )
