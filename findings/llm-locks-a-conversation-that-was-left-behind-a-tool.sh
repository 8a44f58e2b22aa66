#!/usr/bin/env bash
# llm 0.36 (PyPI) with openai 3.57.0: a conversation is left while the model speaks about a tool that has returned, and its
# next request has the call without the result.
#
# `conversation.chain()` calls `pay`, which pays and returns a receipt. The model begins to speak about it, and the program
# leaves the loop, as a web page does at Stop. Then the user asks.
# Expected: the next request has the call and its result, and the words that were shown or none.
# Seen: it has the question, the call, and then the user's next message. The receipt is gone: it belongs to the prompt of a
# response that was never read to its end, and only those that were are remembered. OpenAI's API refuses every request in
# which a call has no result, so the conversation is over; a server that takes it lets the model pay again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check llm==0.36 openai==3.57.0 2> /dev/null

cat > left.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from llm.default_plugins.openai_models import Chat


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 125}'}}
ANSWERS = [
    [chunk({"role": "assistant", "tool_calls": [CALL]}), chunk({}, "tool_calls")],
    [chunk({"role": "assistant", "content": "It is "}), chunk({"content": "paid."}), chunk({}, "stop")],
    [chunk({"role": "assistant", "content": "Well."}), chunk({}, "stop")],
]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = []

    def do_POST(self):
        self.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        pieces = [json.dumps(one) for one in ANSWERS[len(self.asked) - 1]] + ["[DONE]"]
        body = "".join(f"data: {piece}\n\n" for piece in pieces).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def pay(amount: int) -> str:
    """Pay."""
    print(f"paid {amount}")
    return "receipt 77"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
model = Chat("m", model_name="m", api_base=f"http://127.0.0.1:{server.server_port}/v1", supports_tools=True)
model.needs_key, model.key = None, "none"
conversation = model.conversation(tools=[pay])
for piece in conversation.chain("Pay 125."):
    if piece:
        print(f"shown: {piece}")
        break
conversation.chain("Is it paid?").text()
for message in Model.asked[-1]:
    called = [one["function"]["name"] for one in message.get("tool_calls", ())]
    print(f"the next request, {message['role']}: {message['content'] or 'calls ' + ', '.join(called)}")
PY

LLM_USER_PATH="$folder/user" env/bin/python left.py | sed 's/ *$//' > seen.txt
cat > described.txt <<'TEXT'
paid 125
shown: It is
the next request, user: Pay 125.
the next request, assistant: calls pay
the next request, user: Is it paid?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
