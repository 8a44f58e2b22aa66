#!/usr/bin/env bash
# agent-framework-core 1.23.0 (Python): a call that was cut runs with the defaults of its tool, and nothing says so.
#
# `pay` takes an amount, and without one it pays the whole debt. The model streams a call of it over Chat Completions and
# means {"amount": 125}; its answer ends after `{"amount": 12`, at its token limit with finish_reason "length" (`limit`) or
# because its server has died, with neither a finish_reason nor [DONE] (`torn`).
# Expected: the tool does not run, and the model reads that its arguments were not JSON.
# Seen: arguments that do not parse become one argument with the name "raw", which the tool does not have and which is
# dropped: the whole debt is paid. The run ends with "stop". The model reads a result without an error, after its own call
# of `{"amount": 12`, which is sent back as it was cut. Only a tool whose argument is required is saved.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agent-framework-core==1.23.0 agent-framework-openai==1.17.0 \
  openai==3.57.0

cat > cut.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


FUNCTION = {"name": "pay", "arguments": '{"amount": 12'}
HALF = [chunk(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": FUNCTION}])]
WELL = [chunk(content="Well."), chunk("stop")]
SCRIPTS = {"limit": [*HALF, chunk("length")], "torn": HALF}
asked = []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind = ""

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in (SCRIPTS[self.kind] if len(asked) == 1 else WELL))
        if len(asked) > 1 or self.kind == "limit":
            body += "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@tool(name="pay", approval_mode="never_require")
async def pay_any(amount: int | None = None) -> str:
    """Pay the amount, or the whole debt."""
    print(f"  paid {amount or 'the whole debt'}")
    return "paid"


@tool(name="pay", approval_mode="never_require")
async def pay_given(amount: int) -> str:
    """Pay the amount."""
    print(f"  paid {amount}")
    return "paid"


async def main():
    openai = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
    for tool_name, pay in (("optional", pay_any), ("required", pay_given)):
        for Model.kind in SCRIPTS:
            print(f"{Model.kind}, the amount is {tool_name}:")
            asked.clear()
            agent = Agent(client=OpenAIChatCompletionClient(model="m", async_client=openai), tools=[pay])
            run = agent.run("Pay 125.", stream=True)
            async for _ in run:
                pass
            print(f"  the run ends with {(await run.get_final_response()).finish_reason}")
            for message in asked[-1][1:]:
                calls = [call["function"]["arguments"] for call in message.get("tool_calls", [])]
                print(f"  asked with: {message['role']} {calls or message['content'].partition('.')[0]}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main())
PY

env/bin/python -W ignore cut.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
limit, the amount is optional:
  paid the whole debt
  the run ends with stop
  asked with: assistant ['{"amount": 12']
  asked with: tool paid
torn, the amount is optional:
  paid the whole debt
  the run ends with stop
  asked with: assistant ['{"amount": 12']
  asked with: tool paid
limit, the amount is required:
  the run ends with stop
  asked with: assistant ['{"amount": 12']
  asked with: tool Error: Argument parsing failed
torn, the amount is required:
  the run ends with stop
  asked with: assistant ['{"amount": 12']
  asked with: tool Error: Argument parsing failed
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
