"""`tpharness doctor`: what is installed, what is missing for which command, and what to type."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from tpharness.cli.files import print_json
from tpharness.cli.options import Exit, Option
from tpharness.errors import TpharnessError
from tpharness.extras import EXTRAS, install_command
from tpharness.printable import say
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, play_one
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.targets.browser import installed_browser
from tpharness.targets.nodejs import find_node

__all__ = ["doctor"]

_PROBE = "basics/tool-call-and-answer"
_IN_BROWSER = "peer:ai-sdk-browser and peer:ag-ui-browser"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One thing that was looked for."""

    name: str
    found: bool
    what: str
    """Which one was found, or what does not work without it."""
    type: str = ""
    """What to type to have it; empty when it is there or nothing can be typed."""
    core: bool = False
    """Whether nothing works without it."""
    later: bool = False
    """Whether it is not there yet, and fetched when it is first needed."""


def doctor(as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False) -> None:
    """Say what is installed, what is missing for which command, and what to type.

    It installs nothing. Exit code 0 if the core works: extras, Node.js and a browser may be missing.
    """
    lines = [_core(), *_programs(), *_extras()]
    works = all(line.found for line in lines if line.core)
    if as_json:
        print_json({"works": works, "found": [asdict(line) for line in lines]})
        raise Exit(0 if works else 1)
    say(f"tpharness {_own_version()} on Python {platform.python_version()}, {sys.executable}")
    width = max(len(line.name) for line in lines)
    for line in lines:
        say(f"  {_state(line):<7}  {line.name:<{width}}  {line.what}")
        if line.type:
            say(f"  {'':<{width + 9}}  type: {line.type}")
    missing = sum(not line.found for line in lines if not line.core)
    parts = "1 optional part is" if missing == 1 else f"{missing} optional parts are"
    rest = f"; {parts} missing" if missing else ""
    say(f"the core works{rest}" if works else "the core does not work: run, check and fold need it")
    raise Exit(0 if works else 1)


def _state(line: _Line) -> str:
    if not line.found:
        return "missing"
    return "later" if line.later else "ok"


def _core() -> _Line:
    """Play a scenario on the reference, which takes the data files, the schemas and everything that a run imports."""
    try:
        (probe,) = select_scenarios((_PROBE,), (scenarios_dir(),))
        results = play_one(load_scenario(probe.path, root=probe.root), RunOptions())
    except (TpharnessError, OSError, ImportError) as error:
        return _Line(name="core", found=False, what=f"{type(error).__name__}: {error}", core=True)
    passed = bool(results) and all(result.outcome.green for result in results)
    said = "plays a scenario on the reference" if passed else "plays a scenario on the reference, which does not pass"
    return _Line(name="core", found=passed, what=said, core=True)


def _programs() -> Iterator[_Line]:
    try:
        node = find_node()
    except TpharnessError as error:
        yield _Line(name="Node.js", found=False, what=f"for peer:ai-sdk-…: {error}", type=install_command("ai-sdk"))
    else:
        yield _Line(name="Node.js", found=True, what=str(node.executable))
    try:
        browser, fetched = installed_browser()
    except TpharnessError as error:
        yield _Line(name="browser", found=False, what=f"for {_IN_BROWSER}: {error.line}")
        return
    if browser is not None:
        yield _Line(name="browser", found=True, what=str(browser))
    elif fetched:
        what = f"an npm package, not there yet: fetched when {_IN_BROWSER} first starts"
        yield _Line(name="browser", found=True, what=what, later=True)
    else:
        yield _Line(
            name="browser",
            found=False,
            what=f"for {_IN_BROWSER}: neither Chromium nor Chrome is on the PATH (Playwright's own would do too)",
            type="npx playwright-core install chromium",
        )


def _extras() -> Iterator[_Line]:
    for name, extra in EXTRAS.items():
        missing = extra.missing
        if missing:
            what = f"for {extra.needed_by}: no {', '.join(missing)}"
            yield _Line(name=f"[{name}]", found=False, what=what, type=install_command(name))
        else:
            yield _Line(name=f"[{name}]", found=True, what=extra.needed_by)


def _own_version() -> str:
    try:
        return version("tpharness")
    except PackageNotFoundError:
        return "(not installed)"
