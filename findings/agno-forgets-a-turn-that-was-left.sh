#!/usr/bin/env bash
# agno 3.1.10: who leaves a streamed run loses the whole turn: the question, the tool that has run, and the answer shown.
#
# An agent with a database keeps its history. It is asked to pay, pays, and streams its answer; the page has shown "Paid
# 125 to", and its user leaves: the generator is closed, as a web server does when its client is gone.
# Expected: the next request has the question, the call and its result, and perhaps the half answer.
# Seen: the next request holds the new question alone. Nothing of the turn is in the database either: the model does not
# know of a payment that was made, and makes it again if it is asked to. A run that is read to its end is kept whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agno==3.1.10 openai==3.57.0

cat > leave.py <<'PY'
import json
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike

asked = []


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


class Model(BaseHTTPRequestHandler):
    """Calls `pay` when it is asked first, and says so in two pieces when it has the result."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
        chunks = [chunk({"role": "assistant", "tool_calls": [call]}), chunk({}, "tool_calls")]
        if len(asked) > 1:
            texts = [chunk({"role": "assistant", "content": text}) for text in ("Paid 125 to", " Ann.")]
            chunks = [*texts, chunk({}, "stop")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def pay() -> str:
    """Pay."""
    print("  paid")
    return "paid"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for name, shown in (("left", "Paid 125 to"), ("read", None)):
    print(name)
    asked.clear()
    agent = Agent(
        model=OpenAILike(id="gpt-4o", base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none"),
        tools=[pay], db=InMemoryDb(), session_id="1", add_history_to_context=True, telemetry=False,
    )
    with closing(agent.run("Pay 125 to Ann.", stream=True)) as events:
        for event in events:
            if event.content == shown:
                print(f"  shown: {event.content}")
                break
    list(agent.run("What did you do?", stream=True))
    print(f"  asked: {', '.join(message['role'] for message in asked[-1])}")
PY

env/bin/python -W ignore leave.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
left
  paid
  shown: Paid 125 to
  asked: user
read
  paid
  asked: user, assistant, tool, assistant, user
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
