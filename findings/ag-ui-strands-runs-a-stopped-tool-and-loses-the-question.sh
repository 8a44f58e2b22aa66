#!/usr/bin/env bash
# ag-ui-strands 1.0.2 with strands-agents 1.62.0: "Do not pay." after a stop makes the payment, and no model ever reads it.
#
# The model calls `pay`. While `pay` works, the client leaves: its run is cancelled before anything is paid. The client
# posts its messages again, the user's new message "Do not pay." at their end; after that run, one more question.
# Expected: the model is asked with the new message. The call gets no result, or one that says it was interrupted.
# Seen: the second run starts `pay` by itself, without asking the model, and pays. Then the model is asked without the new
# message: the question, the call, its result. In the third request "Do not pay." is missing as well, for good.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ag-ui-strands==1.0.2 strands-agents==1.62.0

cat > stop.py <<'PY'
import asyncio
import json

from ag_ui.core import EventType, RunAgentInput
from ag_ui_strands import StrandsAgent
from strands import Agent, tool
from strands.models import Model


class Scripted(Model):
    """Calls `pay` once, then says one word; keeps what it was asked."""

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
        calls = len(self.asked) == 1
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {"toolUse": {"name": "pay", "toolUseId": "c1"}} if calls else {}}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}} if calls else {"text": "Well."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def shape(block):
    return block.get("text") or ("call of pay" if "toolUse" in block else "result of pay")


async def main():
    works, may_end = asyncio.Event(), asyncio.Event()
    model, messages = Scripted(), []

    @tool
    async def pay() -> str:
        """Pay."""
        works.set()
        await may_end.wait()
        print("  pay: has paid")
        return "paid"

    agent = StrandsAgent(Agent(model=model, tools=[pay], callback_handler=None), name="teller")

    async def run(question):
        messages.append({"id": question, "role": "user", "content": question})
        body = {"threadId": "t", "runId": question, "messages": list(messages)}
        empty = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        async for event in agent.run(RunAgentInput.model_validate({**body, **empty})):
            if event.type is EventType.MESSAGES_SNAPSHOT:  # what the client holds from now on
                messages[:] = [one.model_dump(by_alias=True, exclude_none=True) for one in event.messages]

    task = asyncio.create_task(run("Pay."))
    await works.wait()
    for _ in range(1000):  # what is still to be sent
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    print(f"stopped; the client holds {', '.join(message['role'] for message in messages)}")
    may_end.set()
    for question in ("Do not pay.", "Hello?"):
        print(question)
        await run(question)
        blocks = [shape(block) for message in model.asked[-1] for block in message["content"]]
        print(f"  asked: {'; '.join(blocks)}")


asyncio.run(main())
PY

env/bin/python -W ignore stop.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
stopped; the client holds user, assistant
Do not pay.
  pay: has paid
  asked: Pay.; call of pay; result of pay
Hello?
  asked: Pay.; call of pay; result of pay; Well.; Hello?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
