#!/usr/bin/env bash
# llama-index-protocols-ag-ui 0.6.0 with llama-index-core 0.14.25: on the next turn a tool's result is what the user has said.
#
# An agent is served over AG-UI by `get_ag_ui_workflow_router`, with a model over Chat Completions. The model says "I look.",
# calls `read_mail`, and says "Well." when it has the result. Then the user asks, and the client posts the messages as the
# server's last MESSAGES_SNAPSHOT has given them, as AG-UI's client does.
# Expected: the next request has what the first run had: the call as a call, and its result with the role "tool".
# Seen: the result has the role "user": what a tool has found in a mail stands there as said by the user. The call is text of
# the assistant, marked with `<tool_call>`, which would run nothing if it were written again. Within one run the same messages
# are a call and a result. In each snapshot the assistant's message has a new id as well, other than that of the text which
# the page has streamed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check llama-index-protocols-ag-ui==0.6.0 llama-index-core==0.14.25 \
  llama-index-llms-openai==0.8.3 llama-index-llms-openai-like==0.8.1 ag-ui-protocol==1.0.0 openai==2.54.0 fastapi==0.165.0 \
  httpx==0.28.1

cat > turn.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
from fastapi import FastAPI
from llama_index.llms.openai_like import OpenAILike
from llama_index.protocols.ag_ui.router import get_ag_ui_workflow_router

asked = []


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "read_mail", "arguments": "{}"}}


class Model(BaseHTTPRequestHandler):
    """Calls `read_mail` when it is asked first, and says "Well." later."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        chunks = [chunk(content="Well."), chunk("stop")]
        if len(asked) == 1:
            chunks = [chunk(content="I look."), chunk(tool_calls=[CALL]), chunk("tool_calls")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def read_mail() -> str:
    """Read the newest mail."""
    return "From the bank: confirm the payment."


def show(name, messages):
    print(f"{name}:")
    for message in messages:
        called = "".join(f" calls {call['function']['name']}" for call in message.get("tool_calls", []))
        print(f"  {message['role']}: {(message['content'] or '').strip()!r}{called}")


async def run(client, number, messages):
    body = {"threadId": "t", "runId": str(number), "state": {}, "messages": messages, "tools": [], "context": []}
    answer = await client.post("/run", json={**body, "forwardedProps": {}})
    return [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]


async def main():
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    llm = OpenAILike(
        model="m", api_base=f"http://127.0.0.1:{model.server_port}/v1", api_key="none", max_retries=0,
        is_chat_model=True, is_function_calling_model=True,
    )
    app = FastAPI()
    app.include_router(get_ag_ui_workflow_router(llm=llm, backend_tools=[read_mail]))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://agent", timeout=30) as client:
        events = await run(client, 1, [{"id": "1", "role": "user", "content": "Any mail?"}])
        snapshots = [event["messages"] for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
        await run(client, 2, [*snapshots[-1], {"id": "2", "role": "user", "content": "From whom?"}])
    show("asked in the same run", asked[1])
    show("asked on the next turn", asked[2])
    said = [event["messageId"] for event in events if event.get("delta") == "I look."]
    ids = [*said, *(snapshot[1]["id"] for snapshot in snapshots)]
    print(f'"I look." was sent {len(ids)} times, with {len(set(ids))} ids')


asyncio.run(main())
PY

env/bin/python -W ignore turn.py > seen.txt
cat > described.txt <<'TEXT'
asked in the same run:
  user: 'Any mail?'
  assistant: 'I look.' calls read_mail
  tool: 'From the bank: confirm the payment.'
asked on the next turn:
  user: 'Any mail?'
  assistant: 'I look.\n\n<tool_call><name>read_mail</name><arguments>{}</arguments></tool_call>'
  user: 'From the bank: confirm the payment.'
  assistant: 'Well.'
  user: 'From whom?'
"I look." was sent 4 times, with 4 ids
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
