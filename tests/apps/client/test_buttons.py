"""The process of a real client ends with the harness, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.apps.test_process import wait_until_gone

HOLDS = """
import asyncio, sys
from tpharness.apps.client.buttons import Buttons

async def main():
    async with Buttons("peer:ai-sdk-client") as buttons:
        print(buttons._process.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
TOP = Path(__file__).parents[3]


@pytest.mark.node
def test_nothing_is_left_when_the_harness_is_killed() -> None:
    """Its standard input closes then."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(TOP / "src")}
    ) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        harness.send_signal(signal.SIGKILL)
    wait_until_gone([pid])
