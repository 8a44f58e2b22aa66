#!/usr/bin/env bash
# ag-ui-langgraph 0.0.47 on uvicorn 0.54.0: a tool runs on after its client has left, and its chat is refused from then on.
#
# An agent of LangGraph with a checkpointer is served over AG-UI. The model calls `pay`; while `pay` works, the client leaves,
# as with Stop. The user writes on, and the client posts its messages as it holds them.
# Expected: the tool is cancelled and its call answered as interrupted; or it runs to its end and its result is kept.
# Seen: `pay` runs to its end and pays, and its result is dropped. The next requests have the call without a result: Chat
# Completions refuses them ("An assistant message with 'tool_calls' must be followed by tool messages"), at each later
# message. What was paid is nowhere in the chat.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ag-ui-langgraph==0.0.47 ag-ui-protocol==1.0.0 langchain==1.5.2 \
  langchain-core==1.8.3 langchain-openai==1.7.3 langgraph==1.2.24 openai==3.57.0 fastapi==0.165.0 uvicorn==0.54.0

cat > leave.py <<'PY'
import asyncio
import http.client
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

asked = []
working, left, over = threading.Event(), threading.Event(), threading.Event()


class Model(BaseHTTPRequestHandler):
    """Calls `pay` when it is asked first, and says something later."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": ""}}
        deltas = [{"tool_calls": [call]}, {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}]
        ends = [(delta, None) for delta in (deltas if len(asked) == 1 else [{"content": "Well."}])]
        body = "".join(
            "data: " + json.dumps({
                "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o",
                "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}],
            }) + "\n\n" for delta, reason in (*ends, ({}, "tool_calls" if len(asked) == 1 else "stop"))
        ) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


async def pay() -> str:
    """Pay."""
    try:
        working.set()
        while not left.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(1)
        print("paid, after the client has left")
    except asyncio.CancelledError:
        print("cancelled")
        raise
    finally:
        over.set()
    return "paid"


def post(messages, run, leave=False):
    """Read the answer, or leave when `pay` works; return the id of the message that has the call."""
    body = {"threadId": "t", "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {}}
    client = http.client.HTTPConnection("127.0.0.1", server.servers[0].sockets[0].getsockname()[1])
    client.request("POST", "/", json.dumps({**body, "messages": messages}), {"content-type": "application/json"})
    response = client.getresponse()
    parent = None
    for line in response:
        event = json.loads(line[5:]) if line.startswith(b"data:") else {}
        parent = event.get("parentMessageId", parent)
        if leave and event.get("type") == "TOOL_CALL_END":
            assert working.wait(20)
            break
    response.close()
    client.close()
    return parent


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{model.server_port}"
chat = ChatOpenAI(model="gpt-4o", base_url=url, api_key="none", max_retries=0, streaming=True)
app = FastAPI()
agent = LangGraphAgent(name="a", graph=create_agent(chat, [pay], checkpointer=InMemorySaver()))
add_langgraph_fastapi_endpoint(app, agent, "/")
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)

call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
held = [{"id": "1", "role": "user", "content": "Pay."}]
held.append({"id": post(held, "1", leave=True), "role": "assistant", "toolCalls": [call]})
left.set()
assert over.wait(20)
for text in ("Did you pay?", "Hello?"):
    held.append({"id": text, "role": "user", "content": text})
    post(held, text)
    print(f"asked: {', '.join('call' if message.get('tool_calls') else message['role'] for message in asked[-1])}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
paid, after the client has left
asked: user, call, user
asked: user, call, user, assistant, user
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
