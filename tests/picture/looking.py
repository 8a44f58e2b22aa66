"""A page in a real browser: what it shows, what it asks for, what goes wrong in it."""

from __future__ import annotations

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


def look_at(file: Path, *steps: list[Any], **how: Any) -> Look:
    """Open a page of the file system and do the steps of `picture_look/look.mjs`; `how` is the browser's settings."""
    program = node_program(_HERE, [PEERS / "ai_sdk_browser"])
    done = subprocess.run(
        [program.node, program.scripts / "look.mjs"],
        input=json.dumps({"file": str(file), "steps": steps, **how}),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | browser_environment(),
    )
    assert done.returncode == 0, done.stderr
    return Look(**json.loads(done.stdout))
