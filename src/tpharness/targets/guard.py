"""Guard: runs the command of a target, and leaves no process of it behind.

    python -IS guard.py LIFELINE -- npm start

LIFELINE is the number of a file descriptor whose other end the harness holds. When it closes, be it that the harness
has let go, has ended, or was killed with SIGKILL, everything that the command has started is killed, also what leads a
session of its own. SIGTERM asks the command and all of its children to end, and kills them after two seconds. The
guard ends as the command ends, with its exit status or by its signal.

On Linux the orphans of the command become children of the guard, which finds them in /proc, and the command dies with
the guard. Other POSIX systems have neither: there the process group is killed, and what has left the group goes on.
`children` starts it; Windows has no use for it.

It imports little and needs nothing of tpharness, since it starts before each target.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

__all__ = ["descendants", "main"]

_SUBREAPER, _DEATH_SIGNAL = 36, 1  # PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG
_GRACE = 2.0  # seconds between SIGTERM and SIGKILL
_ROUNDS, _PAUSE = 500, 0.002  # of killing what is left; a process of another user cannot be killed
_CANNOT_START = 127


def main(arguments: list[str]) -> int:
    """Run the command behind `--` and return its exit status; 127 where it cannot be started."""
    lifeline, command = int(arguments[0]), arguments[2:]
    _process_control(_SUBREAPER, 1)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    child = os.fork()
    if child == 0:
        _become(command, lifeline)
    _let_go(lifeline)
    return _watch(child, lifeline, woken)


def descendants(pid: int) -> list[int]:
    """Return the processes below one, the deepest first; none where the system has no /proc."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as status:
                    parent = int(status.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):  # it has ended meanwhile
                continue
            parents.setdefault(parent, []).append(int(name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found[::-1]


def _let_go(lifeline: int) -> None:
    """Hold no pipe of the command open, so that the harness sees when the command closes it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in {0, 1, 2} - {lifeline}:
        os.dup2(nothing, number)


def _become(command: list[str], lifeline: int) -> None:
    """Turn this process, a child of the guard, into the command. Does not return."""
    status = _CANNOT_START
    try:
        _process_control(_DEATH_SIGNAL, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if lifeline == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        else:
            os.close(lifeline)
        os.execvp(command[0], command)  # noqa: S606  # the command is what the user asked to run, without a shell
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(status)


def _watch(child: int, lifeline: int, woken: int) -> int:
    """Wait until the command ends, is to end, or the harness is gone; then nothing of it is left."""
    deadline: float | None = None
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([lifeline, woken], [], [], left)
        signals = os.read(woken, 4096) if woken in ready else b""
        status = _reap(child)
        if status is not None:
            _end_all(None)
            return _end_like(status)
        if not ready or (lifeline in ready and not os.read(lifeline, 4096)):
            _end_all(child)
            return 128 + signal.SIGKILL
        if signal.SIGTERM in signals and deadline is None:
            deadline = time.monotonic() + _GRACE
            _kill(descendants(os.getpid()) or [child], signal.SIGTERM)


def _reap(child: int) -> int | None:
    """Take the exit status of every process that has ended; return the command's, None while it runs."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = os.waitstatus_to_exitcode(status)


def _end_all(child: int | None) -> None:
    """Kill all that is left, again while new processes appear; without /proc, the group."""
    for _ in range(_ROUNDS):
        left = descendants(os.getpid())
        if not left:
            break
        _kill(left, signal.SIGKILL)
        _reap(0)
        time.sleep(_PAUSE)
    if not os.path.isdir("/proc") and os.getpgrp() == os.getpid():
        if child is not None:
            _kill([child], signal.SIGKILL)
        os.killpg(0, signal.SIGKILL)


def _end_like(status: int) -> int:
    """Return an exit status, or end by the signal that the command was ended by."""
    if status < 0:
        number = signal.Signals(-status)
        if number is not signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return status if status >= 0 else 128 - status


def _kill(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def _process_control(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415  # what other systems do not need

        try:
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
        except (OSError, AttributeError):
            pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
