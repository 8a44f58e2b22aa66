"""What reads the body of an answer for the AI SDK's clients says when everything has been taken."""

from __future__ import annotations

import subprocess

import pytest
from tests.prerequisites import PEERS

from tpharness.targets.nodejs import find_node

pytestmark = pytest.mark.node

SCRIPT = """
import { passedOn } from BODY;

const arrived = [];
let ended = 0;
const body = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array([1])) });
const { stream, settled } = passedOn(body, { arrived: (bytes) => arrived.push(bytes), ended: () => (ended += 1) });
const reader = stream.getReader();
await reader.read();
await new Promise((done) => setImmediate(done));
const waiting = settled().then(() => "settled");
const rounds = async () => { for (let i = 0; i < 100; i += 1) await new Promise((done) => setImmediate(done)); };
console.log(await Promise.race([waiting, rounds()]) ?? "waits", arrived.length, ended);
await reader.cancel();
console.log(await Promise.race([waiting, rounds()]) ?? "waits", arrived.length, ended);
process.exit();
"""


def test_a_reader_that_left_is_waited_for_no_longer() -> None:
    """A piece lies untaken; the wait for it ended nowhere, and each stop cost every later case some of its time."""
    body = PEERS / "ai_sdk" / "body.mjs"
    script = SCRIPT.replace("BODY", repr(body.as_uri()))
    command = [str(find_node().executable), "--input-type=module", "-e", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["waits 2 0", "settled 2 1"]
