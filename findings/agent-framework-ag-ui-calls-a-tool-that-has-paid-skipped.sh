#!/usr/bin/env bash
# agent-framework-ag-ui 1.7.0 (Python) on uvicorn 0.54.0: the model reads of a tool that ran on and paid that it was skipped.
#
# An agent is served over AG-UI. The model calls `pay`, a plain function; while `pay` works, the client leaves, as with Stop.
# Then the user asks, and the client posts its messages as it holds them: the question, the call, the new question.
# Expected: the call gets the result of `pay`, or one that says it was interrupted and may have run.
# Seen: `pay` runs to its end and pays; its result is dropped. The next requests have the result "Tool execution skipped - user
# provided follow-up message" for it: the model tells its user that nothing was paid, and pays again if it is asked to. Each
# call without a result that a user's message follows is taken for one that was never started.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agent-framework-ag-ui==1.7.0 agent-framework-core==1.23.0 \
  agent-framework-openai==1.17.0 ag-ui-protocol==0.1.22 openai==3.57.0 fastapi==0.141.1 uvicorn==0.54.0

cat > leave.py <<'PY'
import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn
from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatCompletionClient
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from fastapi import FastAPI
from openai import AsyncOpenAI


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
asked = []
working, left, over = threading.Event(), threading.Event(), threading.Event()


class Model(BaseHTTPRequestHandler):
    """Calls `pay` when it is asked first, and says something later."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        first = [chunk(tool_calls=[CALL]), chunk("tool_calls")]
        chunks = first if len(asked) == 1 else [chunk(content="Well."), chunk("stop")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@tool(approval_mode="never_require")
def pay() -> str:
    """Pay."""
    working.set()
    assert left.wait(20)
    time.sleep(1)
    print("paid, after the client has left")
    over.set()
    return "paid"


def post(run, messages, leave=False):
    """Read the answer, or leave when `pay` works; return the id of the message that has the call."""
    body = {"threadId": "t", "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    client = http.client.HTTPConnection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
    client.request("POST", "/", json.dumps({**body, "messages": messages}), {"content-type": "application/json"})
    response = client.getresponse()
    parent = None
    for line in response:
        event = json.loads(line[5:]) if line.startswith(b"data:") else {}
        parent = event.get("parentMessageId", parent)
        if leave and event.get("type") == "TOOL_CALL_ARGS":
            assert working.wait(20)
            break
    response.close()
    client.close()
    return parent


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
openai = AsyncOpenAI(base_url=f"http://127.0.0.1:{model.server_port}/v1", api_key="none", max_retries=0)
agent = Agent(client=OpenAIChatCompletionClient(model="m", async_client=openai), name="teller", tools=[pay])
app = FastAPI()
add_agent_framework_fastapi_endpoint(app, agent, "/", single_user=True)
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)

call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
held = [{"id": "1", "role": "user", "content": "Pay."}]
held.append({"id": post("1", held, leave=True), "role": "assistant", "toolCalls": [call]})
left.set()
assert over.wait(20)
held.append({"id": "2", "role": "user", "content": "Did you pay?"})
post("2", held)
for message in asked[-1]:
    print(f"asked with: {message['role']} {message.get('content') or 'calls pay'}")
PY

env/bin/python -W ignore leave.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
paid, after the client has left
asked with: user Pay.
asked with: assistant calls pay
asked with: tool Tool execution skipped - user provided follow-up message
asked with: user Did you pay?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
