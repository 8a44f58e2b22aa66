#!/usr/bin/env bash
# agent-framework-core 1.23.0 (Python): Stop while a tool runs, and each later request of the session has a call without result.
#
# A session keeps its history with InMemoryHistoryProvider, at the end of a run (`run`), or after each answer of the model with
# `require_per_service_call_history_persistence=True` (`call`), which `create_harness_agent` turns on by itself. The model calls
# `pay`; while `pay` works, the task of the run is cancelled, as with Stop. Then the user asks twice.
# Expected: the next request has the question, and the call with a result that says it was interrupted, or leaves it out.
# Seen: with `call` it has the call and no result, and so has each later one: Chat Completions refuses such a request ("An
# assistant message with 'tool_calls' must be followed by tool messages"), so that the session is lost for good. What a
# model has called is stored at once, its result only with the next answer, and nothing looks for what is open. With `run`
# no request is refused, and the model knows neither of the question nor of the payment that was begun.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agent-framework-core==1.23.0 agent-framework-openai==1.17.0 \
  openai==3.57.0

cat > stop.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agent_framework import Agent, InMemoryHistoryProvider, create_harness_agent, tool
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
asked = []


class Model(BaseHTTPRequestHandler):
    """Calls `pay` when it is asked first, and says one word later."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        chunks = [chunk(tool_calls=[CALL]), chunk("tool_calls")] if len(asked) == 1 else [chunk(content="Well."), chunk("stop")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


async def main():
    openai = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0)
    client = OpenAIChatCompletionClient(model="m", async_client=openai)
    harness = create_harness_agent(client).require_per_service_call_history_persistence
    print(f"create_harness_agent: {'call' if harness else 'run'}")
    for kind in ("run", "call"):
        print(kind)
        asked.clear()
        works = asyncio.Event()

        @tool(approval_mode="never_require")
        async def pay() -> str:
            """Pay."""
            works.set()
            await asyncio.Event().wait()
            return "never"

        agent = Agent(
            client=client, tools=[pay], context_providers=[InMemoryHistoryProvider()],
            require_per_service_call_history_persistence=kind == "call",
        )
        session = agent.create_session()

        async def read(question):
            async for _ in agent.run(question, stream=True, session=session):
                pass

        task = asyncio.create_task(read("Pay 125."))
        await works.wait()
        task.cancel()
        await asyncio.wait([task])
        for question in ("Is it paid?", "Hello?"):
            await read(question)
        for message in asked[-1]:
            calls = [call["function"]["name"] for call in message.get("tool_calls", [])]
            print(f"  asked with: {message['role']} {', '.join(calls) or message['content']}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main())
PY

env/bin/python -W ignore stop.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
create_harness_agent: call
run
  asked with: user Is it paid?
  asked with: assistant Well.
  asked with: user Hello?
call
  asked with: user Pay 125.
  asked with: assistant pay
  asked with: user Is it paid?
  asked with: assistant Well.
  asked with: user Hello?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
