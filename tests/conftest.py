"""Settings of the whole test suite."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tpharness.protocol.rules import check

# Fixed seeds and no deadline: a test that fails here fails everywhere, also on a slow machine.
settings.register_profile("tpharness", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tpharness")

# Runs that fail on purpose leave no traces in the folder that the tests are started from; tests of traces ask for them.
os.environ.setdefault("TPHARNESS_TRACE", "none")

# Hundreds of processes are started, here and by workers: one that may not keep what it compiles compiles 290 modules.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A thread that is seen as plain in one pass is judged by every rule too, by each test; a user's run does so for a few.
check.ONE_IN = 1

# A machine that sets this hides what is left in the buffers of a command when it ends.
os.environ.pop("PYTHONUNBUFFERED", None)

pytest_plugins = ["pytester", "tests.distribution", "tests.prerequisites", "tests.repetition"]


def pytest_configure() -> None:
    """Give the commands under test a folder of their own for what `run --lf` remembers, not that of the user."""
    folder = os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tpharness-state-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    gc.disable()  # what collection makes is kept, and looking through it again and again is a fifth of its time


def pytest_collection_finish() -> None:
    """Leave thousands of tests out of garbage collection: some tests collect, to see what they have left behind."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # the tests take a tenth less than with 700


@pytest.fixture(scope="session", autouse=True)
def heeded_signals() -> Iterator[None]:
    """Have the programs under test heed Ctrl-C and a terminal that closes, also where `nohup` or `&` ignores both.

    A program inherits what is ignored, and not what is handled. A command that a test calls in this process is
    interrupted through the handler of Ctrl-C, so that is Python's own.
    """
    both = {signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGINT)}
    ignored = [number for number in both if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Have the inner run print each failure once: where pytest sees CI it writes it whole into its summary, too."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    return pytester
