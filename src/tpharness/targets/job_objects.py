"""Job objects of Windows: processes that end together.

A job whose last handle is closed kills all that is in it. Our handle is closed by us, or by the system when this
process ends, however it ends. What a process in a job starts is in the job as well.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any

__all__ = ["ExtendedLimits", "JobObject", "JobObjects"]

_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_KILL_ON_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
_ACCESS = 0x0001 | 0x0100  # PROCESS_TERMINATE | PROCESS_SET_QUOTA, which assigning to a job asks for


class _BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("per_process_user_time", ctypes.c_int64),
        ("per_job_user_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


@dataclass(frozen=True, slots=True)
class JobObject:
    """A job with what was put into it. Close it once."""

    kernel32: Any
    handle: int

    def close(self) -> None:
        """Kill all that is in it."""
        self.kernel32.CloseHandle(self.handle)


class JobObjects:
    """Makes jobs, with the functions of `kernel32.dll`."""

    def __init__(self, kernel32: Any) -> None:
        self._kernel32 = kernel32
        for name in ("CreateJobObjectW", "OpenProcess"):
            getattr(kernel32, name).restype = ctypes.c_void_p  # a handle has 64 bits, and the default 32
        kernel32.CreateJobObjectW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p)
        kernel32.OpenProcess.argtypes = (ctypes.c_uint32, ctypes.c_int, ctypes.c_uint32)
        kernel32.AssignProcessToJobObject.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        kernel32.SetInformationJobObject.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)
        kernel32.CloseHandle.argtypes = (ctypes.c_void_p,)

    @classmethod
    def of_this_system(cls) -> JobObjects | None:
        """Return them on Windows, None elsewhere."""
        if sys.platform == "win32":
            return cls(ctypes.WinDLL("kernel32"))
        return None

    def hold(self, pid: int) -> JobObject | None:
        """Put a process into a new job, and return that; None where the process has ended, or no job takes it."""
        kernel32 = self._kernel32
        job = kernel32.CreateJobObjectW(None, None)
        if not job:
            return None
        limits = ExtendedLimits()
        limits.basic.flags = _KILL_ON_CLOSE
        size = ctypes.sizeof(limits)
        held = False
        if kernel32.SetInformationJobObject(job, _EXTENDED_LIMITS, ctypes.byref(limits), size):
            process = kernel32.OpenProcess(_ACCESS, 0, pid)
            if process:
                held = bool(kernel32.AssignProcessToJobObject(job, process))
                kernel32.CloseHandle(process)
        if not held:
            kernel32.CloseHandle(job)
            return None
        return JobObject(kernel32, job)
