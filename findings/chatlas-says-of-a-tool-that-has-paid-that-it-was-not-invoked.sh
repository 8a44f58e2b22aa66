#!/usr/bin/env bash
# chatlas 0.23.0 (PyPI) with openai 3.57.0: an answer is left between two tools, and the model reads that neither was invoked.
#
# The model calls `pay` twice in one answer. `chat.stream(..., content="all")` has shown the result of the first call when the
# program leaves it, as a web page does at Stop. Then the user asks.
# Expected: the next request has the result of the first payment, and of the second that it was not made; both behind their
# calls, in front of the user's message.
# Seen: "Chat ended before the tool could be invoked." for both, the one that has paid, too. And both results stand behind
# the user's next message, which OpenAI's API refuses: "tool_calls" must be followed by the messages that answer them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check chatlas==0.23.0 openai==3.57.0 2> /dev/null

cat > left.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chatlas import ChatOpenAICompletions, ContentToolResult


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def call(index, amount):
    function = {"name": "pay", "arguments": json.dumps({"amount": amount})}
    return chunk({"role": "assistant", "tool_calls": [{"index": index, "id": f"c{index}", "type": "function", "function": function}]})


ANSWERS = [
    [call(0, 125), call(1, 40), chunk({}, "tool_calls")],
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
    return f"receipt of {amount}"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
chat = ChatOpenAICompletions(base_url=f"http://127.0.0.1:{server.server_port}/v1", model="m", api_key="none")
chat.register_tool(pay)
answer = chat.stream("Pay 125 and 40.", echo="none", content="all")
for piece in answer:
    if isinstance(piece, ContentToolResult):
        print(f"shown: {piece.value}")
        break
answer.close()
list(chat.stream("Is it paid?", echo="none"))
for message in Model.asked[-1]:
    ids = [one["id"] for one in message.get("tool_calls", ())]
    said = message["content"] if isinstance(message.get("content"), str) else "".join(p["text"] for p in message.get("content") or ())
    print(f"the next request, {message['role']} {message.get('tool_call_id', ' '.join(ids))}: {said}")
PY

env/bin/python left.py | sed 's/ *$//; s/ :/:/' > seen.txt
cat > described.txt <<'TEXT'
paid 125
shown: receipt of 125
the next request, user: Pay 125 and 40.
the next request, assistant c0 c1:
the next request, user: Is it paid?
the next request, tool c0: Tool call failed with error: 'Chat ended before the tool could be invoked.'
the next request, tool c1: Tool call failed with error: 'Chat ended before the tool could be invoked.'
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
