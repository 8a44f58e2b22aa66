"""What some tests need beyond Python: Node.js (`@pytest.mark.node`), a `browser`, Go (`go`), OpenSSL (`openssl`).

The first three come with the project's own packages where they are not installed, so that nothing is left out on a
machine that has none. Where they cannot be had, these tests fail with one message, and the closing lines count them and
say what to type; --without-node, --without-browser and --without-go leave them out, and the closing lines say that too.
What is fetched on first use is shown on the terminal while it is fetched. The program `openssl` comes with no package:
where it is not installed, its tests are not played, and the closing lines say so; where CI is set they fail.
"""

from __future__ import annotations

import functools
import logging
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golang import find_go

import tpharness.peers
from tpharness.errors import TargetError
from tpharness.targets.browser import find_browser
from tpharness.targets.node_packages import node_program
from tpharness.targets.nodejs import find_node

PEERS = Path(tpharness.peers.__file__).parent
NEEDS = {"node": "Node.js", "browser": "a browser", "go": "Go", "openssl": "the program openssl"}
"""Names of markers, and what the tests need that have them. A browser is driven by Node.js."""

_NO_PACKAGE = frozenset({"openssl"})
"""What no package brings: a machine that has Python and nothing else goes without."""

_LEFT_OUT, _MISSING, _NOT_PLAYED = "left-out", "missing", "not-played"


def pytest_addoption(parser: pytest.Parser) -> None:
    """What is missing makes tests fail, unless they are left out."""
    for name, what in NEEDS.items():
        parser.addoption(f"--without-{name}", action="store_true", help=f"leave out the tests that need {what}")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and show on the terminal what is fetched."""
    for name, what in NEEDS.items():
        config.addinivalue_line("markers", f"{name}: needs {what}")
    # Standard error is not captured yet; in a worker of pytest-xdist it is that of the controller.
    terminal = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="replace")
    handler = logging.StreamHandler(terminal)
    handler.setFormatter(logging.Formatter("\n%(message)s"))
    logging.getLogger("tpharness.install").addHandler(handler)
    config.add_cleanup(terminal.close)
    config.add_cleanup(lambda: logging.getLogger("tpharness.install").removeHandler(handler))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out or fail a test that needs what is not there."""
    needs = [name for name in NEEDS if item.get_closest_marker(name)]
    if "browser" in needs and "node" not in needs:
        needs.insert(0, "node")
    for name in needs:
        if item.config.getoption(f"--without-{name}"):
            item.user_properties.append((_LEFT_OUT, name))
            pytest.skip(f"--without-{name}")
    for name in needs:
        missing = _missing(name)
        if missing and name in _NO_PACKAGE and not os.environ.get("CI"):
            item.user_properties.append((_NOT_PLAYED, f"{name} {missing}"))
            pytest.skip(f"this test needs {NEEDS[name]}: {missing}")
        if missing:
            item.user_properties.append((_MISSING, f"{name} {missing}"))
            pytest.fail(f"this test needs {NEEDS[name]}: {missing}", pytrace=False)


@functools.cache
def _missing(name: str) -> str:
    """Return what is missing and what to type, nothing when all is there."""
    try:
        if name == "node":
            find_node()
        elif name == "go":
            find_go()
        elif name == "openssl":
            return "" if shutil.which("openssl") else "it is not on the PATH, and no package of this project brings it"
        elif find_browser() is None:
            return _playwrights()
    except TargetError as error:
        return f"{error}; {error.hint}"
    return ""


def _playwrights() -> str:
    """Start the browser that Playwright has installed; return why that failed, nothing when it did not."""
    program = node_program(PEERS / "ai_sdk_browser", [PEERS / "ai_sdk"])
    starts = "import { browser } from './chromium.mjs'; await (await browser()).close()"
    done = subprocess.run(
        [program.node, "--input-type=module", "--eval", starts],
        cwd=program.scripts,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stderr.strip() if done.returncode else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not tested, how many tests that are, and what to type."""
    found = Counter(_properties(terminalreporter))
    if not found:
        return
    terminalreporter.section("NOT TESTED", sep="=", red=True, bold=True)
    for (kind, value), count in sorted(found.items()):
        name, _, why = value.partition(" ")
        tests = "1 test that needs" if count == 1 else f"{count} tests that need"
        if kind == _LEFT_OUT:
            terminalreporter.line(f"{tests} {NEEDS[name]} left out by --without-{name}", yellow=True, bold=True)
        elif kind == _NOT_PLAYED:
            terminalreporter.line(f"{tests} {NEEDS[name]} not played: {why}", yellow=True, bold=True)
        else:
            terminalreporter.line(f"{tests} {NEEDS[name]} FAILED without it: {why}", red=True, bold=True)
            terminalreporter.line(f"  to leave them out, type: pytest --without-{name}", red=True)


def _properties(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, str]]:
    for outcome in ("skipped", "error", "failed"):
        for report in reporter.stats.get(outcome, ()):
            for key, value in getattr(report, "user_properties", ()):
                if key in {_LEFT_OUT, _MISSING, _NOT_PLAYED}:
                    yield key, str(value)
