"""What `@ag-ui/client` makes of the scenes: played with the package itself, and as it was recorded."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tpharness
from tpharness.resources import conformance_dir
from tpharness.targets.node_packages import node_program

__all__ = ["TABLE", "play_with_the_real_client"]

Json = dict[str, Any]
SCRIPTS = Path(__file__).with_name("ag_ui_client")
TABLE = conformance_dir() / "probes" / "ag-ui-client-1.0.0.json"
_SECONDS = 300.0
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def play_with_the_real_client(scenes: Mapping[str, list[Json]]) -> dict[str, list[Json]]:
    """Return for each run of each scene what `@ag-ui/client` posted, how the run ended for it, and what it held."""
    program = node_program(Path(tpharness.__file__).parent / "peers" / "ag_ui", [SCRIPTS])
    played = subprocess.run(
        [program.node, program.scripts / "play.mjs"],
        input=json.dumps(scenes),
        capture_output=True,
        check=True,
        text=True,
        timeout=_SECONDS,
    )
    results: dict[str, list[Json]] = json.loads(played.stdout)
    return {name: _named(results[name]) for name in scenes}


def _named(runs: list[Json]) -> list[Json]:
    """Return what was played, with names in place of the ids that the client has made up."""
    text = json.dumps(runs)
    for number, name in enumerate(dict.fromkeys(_UUID.findall(text)), 1):
        text = text.replace(name, f"made-{number}")
    named: list[Json] = json.loads(text)
    return named
