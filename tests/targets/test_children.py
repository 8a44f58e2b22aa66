"""Commands are ended with all that they have started, in the way of each system. Windows is played by a stand-in."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

from tpharness.targets.children import CHILDREN, Guarded, InJobs, require_program, split_command
from tpharness.targets.job_objects import ExtendedLimits, JobObjects

LONG = 10.0


class Function:
    """A function of a DLL, which notes how it is called. `result` is what it returns."""

    def __init__(self, name: str, calls: list[tuple[Any, ...]], result: int) -> None:
        self._name, self._calls, self._result = name, calls, result
        self.restype: Any = None
        self.argtypes: Any = None

    def __call__(self, *arguments: Any) -> int:
        shown = arguments
        if self._name == "SetInformationJobObject":
            job, kind, limits, size = arguments
            shown = (job, kind, limits._obj.basic.flags, size)
        self._calls.append((self._name, *shown))
        return self._result


class Kernel32:
    """What of kernel32.dll is used."""

    def __init__(self, **results: int) -> None:
        self.calls: list[tuple[Any, ...]] = []
        usual = {"CreateJobObjectW": 70, "OpenProcess": 80, "AssignProcessToJobObject": 1}
        for name, result in {**usual, "SetInformationJobObject": 1, "CloseHandle": 1, **results}.items():
            setattr(self, name, Function(name, self.calls, result))


def test_a_command_of_windows_is_put_into_a_job_and_ended_with_it() -> None:
    """By the calls that the documents of Windows ask for."""
    kernel32 = Kernel32()
    jobs = InJobs(JobObjects(kernel32))
    jobs.hold(4321)
    assert kernel32.calls == [
        ("CreateJobObjectW", None, None),
        ("SetInformationJobObject", 70, 9, 0x2000, 144),
        ("OpenProcess", 0x0101, 0, 4321),
        ("AssignProcessToJobObject", 70, 80),
        ("CloseHandle", 80),
    ]
    jobs.end(4321)
    assert kernel32.calls[5:] == [("CloseHandle", 70)]
    assert kernel32.CreateJobObjectW.restype is ctypes.c_void_p  # type: ignore[attr-defined]


def test_the_limits_are_laid_out_as_windows_has_them() -> None:
    """144 bytes where a pointer has 8, the flags after two times of 8 bytes."""
    assert ctypes.sizeof(ExtendedLimits) == 144
    assert ExtendedLimits.basic.offset + type(ExtendedLimits().basic).flags.offset == 16
    assert ExtendedLimits.process_memory.offset == 64 + 48


@pytest.mark.parametrize("refused", ["CreateJobObjectW", "SetInformationJobObject", "OpenProcess"])
def test_without_a_job_the_command_alone_is_ended(refused: str) -> None:
    """Where Windows refuses one; every handle is given back."""
    kernel32 = Kernel32(**{refused: 0})
    jobs = InJobs(JobObjects(kernel32))
    sleeping = subprocess.Popen([sys.executable, "-IS", "-c", "input()"], stdin=subprocess.PIPE)
    jobs.hold(sleeping.pid)
    opened = [name for name, *_ in kernel32.calls if name in ("CreateJobObjectW", "OpenProcess") and name != refused]
    closed = [name for name, *_ in kernel32.calls if name == "CloseHandle"]
    assert len(closed) == len(opened)
    jobs.end(sleeping.pid)
    assert sleeping.wait(LONG) != 0
    jobs.kill(sleeping.pid)  # gone is gone
    assert sleeping.stdin
    sleeping.stdin.close()


def test_each_system_has_its_way() -> None:
    """Here it is that of POSIX; job objects are asked for on Windows alone."""
    assert isinstance(CHILDREN, Guarded if hasattr(os, "killpg") else InJobs)
    assert (JobObjects.of_this_system() is None) == (sys.platform != "win32")


def test_programs_are_named_by_their_path_on_windows() -> None:
    """`npm` is npm.cmd there, which is found on the PATH only by who looks for it."""
    words = InJobs(None).command(["sh", "-c", "true"], 0)
    assert words[0].endswith("/sh")
    assert words[1:] == ["-c", "true"]
    assert InJobs(None).command(["no-such-program"], 0) == ["no-such-program"]
    with pytest.raises(FileNotFoundError):
        require_program("no-such-program")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"C:\Python\python.exe mine.py --stdio", [r"C:\Python\python.exe", "mine.py", "--stdio"]),
        (r'"C:\Program Files\node.exe" "my target.mjs"', [r"C:\Program Files\node.exe", "my target.mjs"]),
    ],
)
def test_backslashes_are_parts_of_paths_on_windows(text: str, words: list[str]) -> None:
    """A shell of POSIX would take them away."""
    assert split_command(text, windows=True) == words
    assert split_command("'a b' c", windows=False) == ["a b", "c"]
