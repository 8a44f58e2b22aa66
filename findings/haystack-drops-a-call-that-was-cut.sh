#!/usr/bin/env bash
# haystack-ai 3.4.1: a call whose arguments were cut disappears, and the model never learns of it.
#
# The model calls `book` with whole arguments and `pay` with arguments that end at the token limit (`two`), or `pay` alone
# (`one`).
# Expected: the model is given an error for the call, so that it can repeat it, or the run fails.
# Seen: with `two` the model reads that it called `book` alone; nobody asks for the payment any more. With `one` the run
# ends without an answer (`exit_reason` "length"). The next question goes to the model after an assistant message "",
# which says neither that something was tried nor that it was cut.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check haystack-ai==3.4.1 openai==3.57.0

cat > cut.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret

asked = []
CALLS = {"two": {"book": "{}", "pay": '{"amount": 12'}, "one": {"pay": '{"amount": 12'}}


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    calls = {}

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        calls = [
            {"index": index, "id": name, "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(self.calls.items())
        ]
        chunks = [chunk({"role": "assistant", "tool_calls": calls}), chunk({}, "length")]
        if len(asked) > 1:
            chunks = [chunk({"role": "assistant", "content": "Well."}), chunk({}, "stop")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@tool
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


@tool
def book() -> str:
    """Book."""
    return "booked"


def shape(message):
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())]
    return f"{message['role']} {', '.join(calls) or json.dumps(message['content'])}"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for name, Model.calls in CALLS.items():
    asked.clear()
    model = OpenAIChatGenerator(
        model="gpt-4o", api_base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key=Secret.from_token("none"),
        streaming_callback=lambda _: None,
    )
    agent = Agent(chat_generator=model, tools=[pay, book])
    result = agent.run([ChatMessage.from_user("Book and pay.")])
    messages = result["messages"]
    print(f"{name}: the answer is {messages[-1].text!r}, exit_reason {result['exit_reason']!r}")
    agent.run([*messages, ChatMessage.from_user("Done?")])
    print(f"  asked: {'; '.join(shape(message) for message in asked[-1])}")
PY

env/bin/python -W ignore cut.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
two: the answer is 'Well.', exit_reason 'text'
  asked: user "Book and pay."; assistant book({}); tool "booked"; assistant "Well."; user "Done?"
one: the answer is None, exit_reason 'length'
  asked: user "Book and pay."; assistant ""; user "Done?"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
