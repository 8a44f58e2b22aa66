"""A process that answers one line with one line: started, asked, and always ended.

In: a command, and lines. Out: the answer to each line, or a TargetError that says what the process did instead. One
thread at a time asks a process. Everything has a deadline. Standard error is read all the time, so that the process
never blocks on it. It runs under a `guard`, so that nothing of it is left: after `close`, after the first thing that
goes wrong, and when this interpreter ends, however it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.util import Finalize
from typing import IO

from tpharness.errors import TargetError
from tpharness.findings import shorten
from tpharness.printable import counted
from tpharness.targets.children import CHILDREN, require_program
from tpharness.targets.computing import processor_seconds, queued_seconds
from tpharness.targets.pipes import Piece, Pipes, pipes_of
from tpharness.targets.remote import UnreachableError
from tpharness.trace.secrets import secrets_of_process
from tpharness.trace.tape import note_stderr

__all__ = ["NOT_AN_ANSWER", "STDOUT_HINT", "LineProcess"]

_POLL_SECONDS = 0.05  # seconds of silence after which the state of the process is checked
_EXIT_SECONDS = 0.2  # seconds for a process that has closed its pipes to end
_END_SECONDS = 5.0  # seconds for a guard to end what it guards
_REST, _REST_SECONDS = 64, 0.02  # pieces that are read of a process that has ended, and the silence after the last
_TAIL_LINES = 20
_TAIL_BYTES = 16 << 10
_FRAME = re.compile(r'File ".+", line \d+')
_LINE_SHOWN = 300
_FLUSH_HINT = "end each answer with a newline, and flush standard output after it"
_BUILD_HINT = "if the command builds or installs first (go run, cargo run, npx), do that before and name the program"
_COMPUTING = 0.2  # of the time: a process that computes for so much of it does not wait for anything
_LONGER = 5  # times the patience, at most, for a process that does not get a processor
_COMPUTING_HINT = "it was still computing: give it the same lines alone, tpharness show TRACE CASE --request | COMMAND"
NOT_AN_ANSWER = "writes to standard output what is not an answer"
STDOUT_HINT = "write only answers to standard output, one JSON object a line; anything else goes to standard error"


class LineProcess:
    """A running process. `name` is its name in errors, `limit` the longest line that is read, in bytes."""

    def __init__(self, command: Sequence[str], *, name: str, limit: int) -> None:
        self.name = name
        self._limit = limit
        self._secrets = secrets_of_process(os.environ)
        self._out = bytearray()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._err = b""
        self._has_answered = False
        held, self._lifeline = _open_lifeline()
        try:
            require_program(command[0])
            self._process = subprocess.Popen(  # noqa: S603  # the command is what the user asked to run
                CHILDREN.command(command, held),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                **CHILDREN.options(keep=held),
            )
            CHILDREN.hold(self._process.pid)
        except (OSError, ValueError) as error:
            self._lifeline.close()
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UnreachableError(
                f"{name}: the process cannot be started: {reason}",
                hint=f"is {command[0]!r} a program that can be run from here? no shell is involved",
            ) from error
        finally:
            os.close(held)
        pipes = pipes_of(self._process)
        self._pipes: Pipes | None = pipes
        self._finalizer = Finalize(self, _end, args=(self._process, self._lifeline, pipes), exitpriority=10)

    @property
    def running(self) -> bool:
        """Whether it can be asked."""
        return self._pipes is not None

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Write a line (without its end) and return the one that comes back. On any error the process is killed."""
        if self._pipes is None:
            raise UnreachableError(f"{self.name}: the process has ended", hint="start another one")
        try:
            return self._exchange(self._pipes, line, seconds)
        except BaseException:
            self.kill()
            raise

    def stop(self, line: bytes, seconds: float) -> None:
        """Ask it to end, wait a little, and kill what is left of it. Never raises for what the process does."""
        if self.running:
            with contextlib.suppress(TargetError):
                self.ask(line, seconds)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._close_pipes()
                    self._process.wait(seconds)
        self.kill()

    def kill(self) -> None:
        """Kill the process and whatever it has started; a second call has no effect."""
        self._close_pipes()
        self._finalizer()

    def interrupt(self) -> None:
        """Kill the process from another thread than the one that asks, which then sees it end."""
        self._lifeline.close()
        CHILDREN.end(self._process.pid)

    # ------------------------------------------------------------------------------------------------ the exchange

    def _exchange(self, pipes: Pipes, line: bytes, seconds: float) -> bytes:
        pipes.send(line + b"\n")
        begun = time.monotonic()
        had_computed: float | None = None  # looked up only for a request that is not answered at once
        had_queued = 0.0
        is_slow = False
        while True:
            pieces = pipes.receive(_POLL_SECONDS)
            if not (pieces or is_slow):
                is_slow, had_computed = True, processor_seconds(self._process.pid)
                had_queued = queued_seconds(self._process.pid)
            if not pieces and self._process.poll() is not None:
                raise self._exit_error(pipes)  # something that it started holds its pipes open
            for name, piece in sorted(pieces, key=_errors_first):
                if name == "err":
                    self._take_stderr(piece)
                elif not piece:
                    raise self._exit_error(pipes)
                elif (answer := self._take(piece, asked=not pipes.unsent)) is not None:
                    return answer
            waited = time.monotonic() - begun
            if waited < seconds:
                continue
            # A process that had no processor for a part of this time is not slow: this machine is busy.
            queued = queued_seconds(self._process.pid) - had_queued if is_slow else 0.0
            if waited >= seconds * _LONGER or waited - queued >= seconds:
                raise self._timeout_error(seconds, queued, pipes.unsent, len(line) + 1, had_computed)

    def _take(self, piece: bytes, *, asked: bool) -> bytes | None:
        """Take in output; return a whole line once there is one. `asked`: the whole request has been sent."""
        start = len(self._out)
        self._out += piece
        end = self._out.find(b"\n", start)
        if end < 0:
            if len(self._out) > self._limit:
                raise self._error(f"writes a line of more than {self._limit} bytes to standard output", self._out[:80])
            return None
        line, rest = bytes(self._out[:end]), bytes(self._out[end + 1 :])
        self._out.clear()
        if not asked:
            raise self._error(NOT_AN_ANSWER, line, detail="it had not read its request")
        if rest.strip():
            stray = next((one for one in (line, *rest.splitlines()) if not _may_be_an_answer(one)), rest)
            raise self._error(NOT_AN_ANSWER, stray, detail="it answers one request with more than one line")
        self._has_answered = True
        return line

    def _take_stderr(self, piece: bytes) -> None:
        """Keep the last lines of standard error."""
        *lines, rest = (self._err + piece).split(b"\n")
        for line in map(self.shown, lines):
            self._tail.append(line)
            note_stderr(self.name, line.rstrip())
        self._err = rest[-_TAIL_BYTES:]

    # ------------------------------------------------------------------------------------------------ what went wrong

    def _timeout_error(
        self, seconds: float, queued: float, unsent: int, asked: int, had_computed: float | None
    ) -> TargetError:
        """Return that a request of `asked` bytes was not answered, also not in the time without a processor, `queued`.

        `had_computed` is the processor time that the process had used before.
        """
        now = None if had_computed is None else processor_seconds(self._process.pid)
        request = "the request" if self._has_answered else "the first request, `start`,"
        about, computed = f"{request} has {counted(asked, 'byte')}", 0.0
        if now is not None and had_computed is not None:
            computed = max(0.0, now - had_computed)
            about += f", and the process has computed for {computed:.1f} s of this time"
        if unsent:
            what = f"has not read its request within {seconds:g} s"
        elif self._out:
            what = f"has written {counted(len(self._out), 'byte')} and no end of line within {seconds:g} s"
        else:
            what = f"does not answer within {seconds:g} s"
        hint = _FLUSH_HINT if self._has_answered or self._out else f"{_FLUSH_HINT}; {_BUILD_HINT}"
        if queued >= seconds / 10:
            about += f"; the {queued:.0f} s in which this machine gave it no processor do not count"
        if computed >= _COMPUTING * seconds:
            hint = _COMPUTING_HINT
        return self._error(what, self._out, hint=hint, detail=about)

    def _exit_error(self, pipes: Pipes) -> TargetError:
        """Return how the process ended, after the rest of what it wrote has been read."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_SECONDS)
        for _ in range(_REST):
            pieces = pipes.receive(_REST_SECONDS)
            if not pieces:
                break
            for name, piece in pieces:
                if name == "err":
                    self._take_stderr(piece)
                elif name == "out" and len(self._out) <= self._limit:
                    self._out += piece
        code = self._process.poll()
        if code is None:
            what = "has closed its standard input or output and still runs"
        elif code < 0:
            what = f"was ended by signal {_signal_name(-code)}"
        else:
            what = f"exited with code {code}"
        if self._out.strip():
            what += f" in the middle of a line, after {counted(len(self._out), 'byte')} of it"
        return self._error(what, self._out, hint="a target reads requests until it is asked to stop", unreachable=True)

    def _error(
        self,
        what: str,
        shown: bytes | bytearray = b"",
        *,
        hint: str = STDOUT_HINT,
        detail: str = "",
        unreachable: bool = False,
    ) -> TargetError:
        got = f"it wrote {shorten(self.shown(bytes(shown)), 120)}" if shown else ""
        tail = self.stderr_tail
        said = f"the end of its standard error: {tail}" if tail else ""
        kind = UnreachableError if unreachable else TargetError
        details = "; ".join(filter(None, (detail, got, said)))
        return kind(f"{self.name}: the process {what}", hint=hint, detail=details)

    @property
    def stderr_tail(self) -> str:
        """The last lines of its standard error, in one line; of a traceback of Python's last place and error."""
        lines = [line.strip() for line in (*self._tail, self.shown(self._err)) if line.strip(" \t\r\n~^")]
        raised = max((number for number, line in enumerate(lines) if _FRAME.match(line)), default=0)
        return " | ".join(lines[raised:][-_TAIL_LINES:])

    def shown(self, line: bytes) -> str:
        """Return a line of its output as errors and traces may show it."""
        return self._secrets.line(line, _LINE_SHOWN)

    def _close_pipes(self) -> None:
        if self._pipes is not None:
            self._pipes.close()
            self._pipes = None


def _may_be_an_answer(line: bytes) -> bool:
    """Whether a line is a JSON object, or nothing: what else is written beside an answer is what is wrong."""
    try:
        return not line.strip() or isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _open_lifeline() -> tuple[int, IO[bytes]]:
    """Return the end of a pipe for a guard, and ours, which may be closed twice and by any thread."""
    held, ours = os.pipe()
    return held, os.fdopen(ours, "wb", buffering=0)


def _end(process: subprocess.Popen[bytes], lifeline: IO[bytes], pipes: Pipes) -> None:
    """Let go of a process, wait until all of it has been killed, and close its pipes."""
    lifeline.close()
    CHILDREN.end(process.pid)
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        CHILDREN.kill(process.pid)
    pipes.close()


def _errors_first(piece: Piece) -> bool:
    """Order pieces that came at once, so that what a process says of its end is known when its end is."""
    return piece[0] != "err"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
