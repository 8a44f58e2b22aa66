#!/usr/bin/env bash
# strands-agents 1.62.0: after a cancel the model reads "Tool was interrupted." of a tool that has finished.
#
# The model calls `pay` and `book` in one answer. `book` has returned, `pay` still works when the stream is cancelled.
# Expected: on the next turn the call of `book` has its result, and the call of `pay` one that says it was interrupted.
# Seen: both have an error, "Tool was interrupted.": the model believes that nothing was booked, and books again if it is
# asked to. The results of one answer are kept only once all of its tools have returned.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check strands-agents==1.62.0

cat > cancel.py <<'PY'
import asyncio
import json

from strands import Agent, tool
from strands.models import Model


class Scripted(Model):
    """Calls both tools, then says one word; keeps what it was asked."""

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
        yield {"messageStart": {"role": "assistant"}}
        if len(self.asked) == 1:
            for name in ("pay", "book"):
                yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": name}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
                yield {"contentBlockStop": {}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "Well."}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if len(self.asked) == 1 else "end_turn"}}


async def main():
    pays, booked = asyncio.Event(), asyncio.Event()

    @tool
    async def pay() -> str:
        """Pay."""
        pays.set()
        await asyncio.Event().wait()
        return "never"

    @tool
    async def book() -> str:
        """Book."""
        print("book: has run")
        booked.set()
        return "booked 17"

    model = Scripted()
    agent = Agent(model=model, tools=[pay, book], callback_handler=None)

    async def read(question):
        async for _ in agent.stream_async(question):
            pass

    task = asyncio.create_task(read("Pay and book."))
    await asyncio.gather(pays.wait(), booked.wait())
    for _ in range(1000):  # whatever wants to run after `book` has returned
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await read("Is it booked?")
    for message in model.asked[1]:
        for block in message["content"]:
            if "toolResult" in block:
                result = block["toolResult"]
                print(f"{result['toolUseId']}: {result['status']}, {result['content'][0]['text']}")


asyncio.run(main())
PY

env/bin/python -W ignore cancel.py > seen.txt
cat > described.txt <<'TEXT'
book: has run
pay: error, Tool was interrupted.
book: error, Tool was interrupted.
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
