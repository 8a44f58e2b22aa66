#!/usr/bin/env bash
# strands-agents 1.62.0: after `cancel()` the model reads "Cancelled by user" as its own words, in place of what it has said.
#
# The model calls `balance`, which returns 100, and streams its answer: "You have 100, so do not pay." The page has shown the
# half of it when its user presses Stop (`agent.cancel()`). Then the user asks "Why not?".
# Expected: the next request has the half answer, or no answer, or what `cancel` says of a call without a `message`:
# "otherwise the result carries the model's last message".
# Seen: "Cancelled by user" is the answer, as `result.message` and as a message of the role "assistant" in each later
# request. Nothing of what was shown is in the history: "Why not?" makes no sense to the model, and words of the package,
# which it has never said, stand as an example of how it answers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check strands-agents==1.62.0

cat > stop.py <<'PY'
import asyncio
import json

from strands import Agent, tool
from strands.models import Model


class Scripted(Model):
    """Calls `balance`, then speaks in two pieces; keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **kwargs):
        raise AssertionError("nobody asks for it")
        yield

    async def stream(self, messages, *args, **kwargs):
        self.asked.append(json.loads(json.dumps(messages)))
        first = len(self.asked) == 1
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {"toolUse": {"name": "balance", "toolUseId": "1"}} if first else {}}}
        for delta in [{"toolUse": {"input": "{}"}}] if first else [{"text": "You have 100,"}, {"text": " so do not pay."}]:
            yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if first else "end_turn"}}


@tool
def balance() -> str:
    """What is left."""
    return "100"


async def main():
    model = Scripted()
    agent = Agent(model=model, tools=[balance], callback_handler=None)
    async for event in agent.stream_async("May I pay 125?"):
        if "data" in event:
            print(f"shown: {event['data']}")
            agent.cancel()
        if "result" in event:
            print(f"ends with {event['result'].stop_reason}, {event['result'].message['content'][0]['text']}")
    for question in ("Why not?", "Hello?"):
        async for _ in agent.stream_async(question):
            pass
    for message in model.asked[-1]:
        for block in message["content"]:
            print(f"asked with: {message['role']} {block.get('text', ', '.join(block))}")


asyncio.run(main())
PY

env/bin/python -W ignore stop.py > seen.txt
cat > described.txt <<'TEXT'
shown: You have 100,
ends with cancelled, Cancelled by user
asked with: user May I pay 125?
asked with: assistant toolUse
asked with: user toolResult
asked with: assistant Cancelled by user
asked with: user Why not?
asked with: assistant You have 100, so do not pay.
asked with: user Hello?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
