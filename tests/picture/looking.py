"""A page in a real browser: what it shows, what it asks for, what goes wrong in it."""

from __future__ import annotations

import atexit
import functools
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.prerequisites import PEERS

from tpharness.targets.browser import browser_environment
from tpharness.targets.node_packages import node_program

_HERE = Path(__file__).parent / "picture_look"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The result of each step, every address that the page asked for, and its errors."""

    results: list[Any]
    requests: list[str]
    errors: list[str]


def look_at(file: Path | str, *steps: list[Any], **how: Any) -> Look:
    """Open a file, or an address of this machine, and do the steps of `picture_look/look.mjs`.

    `how` is the page's settings.
    """
    browser = _browser()
    assert browser.stdin is not None
    assert browser.stdout is not None
    browser.stdin.write(json.dumps({"file": str(file), "steps": steps, **how}) + "\n")
    browser.stdin.flush()
    line = browser.stdout.readline()
    assert line, "the browser has ended; standard error says why"
    seen = json.loads(line)
    assert "failed" not in seen, seen["failed"]
    return Look(**seen)


@functools.cache
def _browser() -> subprocess.Popen[str]:
    """Start the browser, which takes a second, for all pages that this process looks at."""
    program = node_program(_HERE, [PEERS / "ai_sdk_browser"])
    command = [program.node, program.scripts / "look.mjs"]
    environment = os.environ | browser_environment()
    browser = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    atexit.register(_end, browser)
    return browser


def _end(browser: subprocess.Popen[str]) -> None:
    """End the browser with its input; a process that has inherited its other end may keep that open."""
    try:
        browser.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        browser.kill()
        browser.communicate()
