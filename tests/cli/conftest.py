"""The command line in this process: quick enough for many bad inputs."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tpharness.cli import main
from tpharness.run import judged_before

__all__ = ["Call", "Called", "run_in_process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """How a command ended and what it printed."""

    code: object
    out: str
    err: str


Call = Callable[..., Called]


def run_in_process(*args: str) -> object:
    """Run the entry point for a fixture that several tests share; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tpharness", *args])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code


@pytest.fixture(scope="module", autouse=True)
def judged_both_ways() -> Iterator[None]:
    """Have `certify` judge what it has judged before, too, and compare."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judged_before, "ONE_IN", 1)
        yield


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs the entry point; anything but an exit, such as a traceback, fails the test."""

    def run(*args: str, stdin: bytes = b"") -> Called:
        monkeypatch.setattr(sys, "argv", ["tpharness", *args])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return Called(code=ended.value.code, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def in_a_terminal() -> Iterator[None]:
    """Have signals do for the duration of a test what they do by default, also under `nohup` and in the background."""
    default: dict[int, Any] = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    kept = {number: signal.signal(number, handler) for number, handler in default.items()}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)
