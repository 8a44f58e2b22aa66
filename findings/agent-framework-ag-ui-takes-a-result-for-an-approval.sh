#!/usr/bin/env bash
# agent-framework-ag-ui 1.7.0 (Python): a tool's result with the key "accepted" is dropped, and its chat is refused from then on.
#
# An agent is served over AG-UI; none of its tools asks for approval. The model calls `check`, which returns the answer of a
# bank as an object. Then the user asks, and the client posts its messages as the server's MESSAGES_SNAPSHOT has given them.
# Expected: the next request has the call and its result, whatever keys the result has.
# Seen: a result with the key "accepted" is left out, and its call stays: Chat Completions refuses such a request ("An
# assistant message with 'tool_calls' must be followed by tool messages"), now and with each later message. With the key
# "valid" all is well. A tool message whose JSON has "accepted" is read as a user's answer to a question for approval,
# whether one was asked or not, and an answer without its question is dropped with a line in the log.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agent-framework-ag-ui==1.7.0 agent-framework-core==1.23.0 \
  agent-framework-openai==1.17.0 ag-ui-protocol==0.1.22 openai==3.57.0 fastapi==0.141.1 uvicorn==0.54.0

cat > check.py <<'PY'
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


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "check", "arguments": "{}"}}
asked = []
answer = {}


class Model(BaseHTTPRequestHandler):
    """Calls `check` when it is asked first, and says something later."""

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
async def check() -> str:
    """Check the card."""
    return json.dumps(answer)


def post(thread, run, messages):
    """Return what the server has the client keep."""
    body = {"threadId": thread, "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    client = http.client.HTTPConnection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
    client.request("POST", "/", json.dumps({**body, "messages": messages}), {"content-type": "application/json"})
    events = [json.loads(line[5:]) for line in client.getresponse() if line.startswith(b"data:")]
    client.close()
    return next(event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT")


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
openai = AsyncOpenAI(base_url=f"http://127.0.0.1:{model.server_port}/v1", api_key="none", max_retries=0)
agent = Agent(client=OpenAIChatCompletionClient(model="m", async_client=openai), name="teller", tools=[check])
app = FastAPI()
add_agent_framework_fastapi_endpoint(app, agent, "/", single_user=True)
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)

for answer in ({"valid": True}, {"accepted": True}, {"accepted": False, "reason": "expired"}):
    print(f"check returns {json.dumps(answer)}")
    asked.clear()
    key = json.dumps(answer)
    held = post(key, "1", [{"id": "1", "role": "user", "content": "Is the card good?"}])
    for number, text in enumerate(("Why?", "Hello?"), 2):
        held = post(key, str(number), [*held, {"id": str(number), "role": "user", "content": text}])
        print(f"  asked: {', '.join('call' if one.get('tool_calls') else one['role'] for one in asked[-1])}")
PY

env/bin/python -W ignore check.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
check returns {"valid": true}
  asked: user, call, tool, assistant, user
  asked: user, call, tool, assistant, user, assistant, user
check returns {"accepted": true}
  asked: user, call, assistant, user
  asked: user, call, assistant, user, assistant, user
check returns {"accepted": false, "reason": "expired"}
  asked: user, call, assistant, user
  asked: user, call, assistant, user, assistant, user
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
