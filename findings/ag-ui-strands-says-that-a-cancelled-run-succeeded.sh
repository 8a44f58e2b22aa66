#!/usr/bin/env bash
# ag-ui-strands 1.0.2 with strands-agents 1.62.0: an agent that is stopped with `Agent.cancel` streams a run that succeeded.
#
# The application stops an agent in Strands' own way, once in the middle of a text and once in the arguments of a call.
# Expected: RUN_FINISHED has the outcome `cancelled`, and what is open is ended before it, as AG-UI 1.0 asks for.
# Seen: both runs end with the outcome `success`. After the text there is an end, so half an answer looks whole to a page;
# the call gets no end at all: it is open at RUN_FINISHED. Strands itself says `cancelled` as the reason of the stop.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ag-ui-strands==1.0.2 strands-agents==1.62.0 ag-ui-protocol==1.0.0

cat > stop.py <<'PY'
import asyncio

from ag_ui.core import EventType, RunAgentInput
from ag_ui_strands import StrandsAgent
from strands import Agent
from strands.models import Model


class Scripted(Model):
    """Answers with one block in two pieces."""

    def __init__(self, start, pieces, reason):
        self.start, self.pieces, self.reason = start, pieces, reason

    def update_config(self, **config):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **kwargs):
        raise AssertionError("nobody asks for it")
        yield

    async def stream(self, *args, **kwargs):
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": self.start}}
        for piece in self.pieces:
            yield {"contentBlockDelta": {"delta": piece}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": self.reason}}


TEXT = Scripted({}, [{"text": "It is not "}, {"text": "safe."}], "end_turn")
CALL = Scripted(
    {"toolUse": {"name": "pay", "toolUseId": "c1"}},
    [{"toolUse": {"input": '{"sum": 1'}}, {"toolUse": {"input": "000}"}}],
    "tool_use",
)


async def main():
    for name, model, piece in (
        ("text", TEXT, EventType.TEXT_MESSAGE_CONTENT),
        ("call", CALL, EventType.TOOL_CALL_ARGS),
    ):
        agents = {}
        adapter = StrandsAgent(Agent(model=model, callback_handler=None), name="teller", agents_by_thread=agents)
        body = {"threadId": name, "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Hello"}]}
        empty = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        print(f"{name}:")
        async for event in adapter.run(RunAgentInput.model_validate({**body, **empty, "protocolVersion": "1.0"})):
            if event.type is piece:
                print(f"  {event.type.value} {event.delta!r}, and the agent is stopped")
                agents[name].cancel()
            elif event.type.value.endswith("_END"):
                print(f"  {event.type.value}")
            elif event.type is EventType.RUN_FINISHED:
                print(f"  {event.type.value}, outcome {event.outcome.type}")

    agent = Agent(model=TEXT, callback_handler=None)
    async for event in agent.stream_async("Hello"):
        if "data" in event:
            agent.cancel()
        elif "result" in event:
            print(f"Strands alone: {event['result'].stop_reason}")


asyncio.run(main())
PY

env/bin/python -W ignore stop.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
text:
  TEXT_MESSAGE_CONTENT 'It is not ', and the agent is stopped
  TEXT_MESSAGE_END
  RUN_FINISHED, outcome success
call:
  TOOL_CALL_ARGS '{"sum": 1', and the agent is stopped
  RUN_FINISHED, outcome success
Strands alone: cancelled
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
