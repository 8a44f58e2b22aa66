#!/usr/bin/env bash
# mirascope 2.8.2: a stream that breaks off cannot be told from one that ends, and a call that breaks off leaves an empty message.
#
# OpenAI's Chat Completions stream an answer, once to its end, and once only so far that its body ends, in regular HTTP,
# without a finish reason and without [DONE], as it does behind a proxy whose server has died. The answer is a text, or a
# call. Then the response is resumed with the next question.
# Expected: an error, or at least another finish reason than that of the whole answer.
# Seen: nothing is raised, `consumed` is True and `finish_reason` is None, torn or whole. Of a call that breaks off nothing
# is left, and the model is then sent an assistant's message that has neither a content nor a call.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check 'mirascope[openai]==2.8.2' openai==2.54.0

cat > torn.py <<'PY'
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 12'}}
REST = {"index": 0, "function": {"arguments": "}"}}
ANSWERS = {
    "a text": ([{"role": "assistant", "content": "I will "}, {"content": "pay."}], "stop"),
    "a call": ([{"role": "assistant", "content": None, "tool_calls": [CALL]}, {"tool_calls": [REST]}], "tool_calls"),
}
asked = []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer = ""
    torn = False

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        deltas, reason = ANSWERS[self.answer] if len(asked) == 1 else ([{"role": "assistant", "content": "Well."}], "stop")
        torn = self.torn and len(asked) == 1
        choices = [{"index": 0, "delta": one, "finish_reason": None} for one in deltas[: 1 if torn else 2]]
        if not torn:
            choices.append({"index": 0, "delta": {}, "finish_reason": reason})
        head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
        body = "".join(f"data: {json.dumps({**head, 'choices': [one]})}\n\n" for one in choices)
        body += "" if torn else "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1"}

from mirascope import llm  # noqa: E402  # it reads the address when it is imported


@llm.tool
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


@llm.call("openai/gpt-4o:completions", tools=[pay])
def ask(question: str):
    return question


for Model.answer in ANSWERS:
    for Model.torn in (False, True):
        asked.clear()
        response = ask.stream("Pay 12.")
        for _ in response.chunk_stream():
            pass
        outputs = response.execute_tools()
        print(f"{Model.answer}, {'torn' if Model.torn else 'whole'}: consumed {response.consumed}, "
              f"finish_reason {response.finish_reason}, {len(response.tool_calls)} calls")
        for _ in response.resume(outputs or "Done?").chunk_stream():
            pass
        print(f"  the assistant's message in the next request: {json.dumps(asked[-1][1])}")
PY

env/bin/python -W ignore torn.py 2> errors.txt > seen.txt || { tail -20 errors.txt >&2; exit 1; }
cat > described.txt <<'TEXT'
a text, whole: consumed True, finish_reason None, 0 calls
  the assistant's message in the next request: {"role": "assistant", "content": "I will pay."}
a text, torn: consumed True, finish_reason None, 0 calls
  the assistant's message in the next request: {"role": "assistant", "content": "I will "}
a call, whole: consumed True, finish_reason None, 1 calls
  the assistant's message in the next request: {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{\"amount\": 12}"}}]}
a call, torn: consumed True, finish_reason None, 0 calls
  the assistant's message in the next request: {"role": "assistant", "content": null}
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
