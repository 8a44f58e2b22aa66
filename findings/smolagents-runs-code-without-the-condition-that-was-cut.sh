#!/usr/bin/env bash
# smolagents 1.26.0: code that came to its token limit runs as far as it came, so that it pays without its condition.
#
# A CodeAgent's model writes `pay(125) if balance() > 125 else final_answer('not enough')`, and the balance is 100. It streams
# the line whole (`whole`), or its answer ends after `pay(125)`, at the token limit (`limit`) or because the model's server
# has died (`torn`). A block of code is closed by `</code>`, at which the agent has the model stop.
# Expected: code whose end is missing is not run, and the model learns that it was cut.
# Seen: the agent adds the missing `</code>` itself, since a model that stops there does not send it, and does not look at the
# finish_reason: what is left is a whole statement and pays. The memory has `<code>pay(125)</code>` as what the model has
# said, so that neither the model nor a reader of the log can see that a condition stood there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check smolagents==1.26.0 openai==3.57.0

cat > cut.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from smolagents import CodeAgent, OpenAIModel, tool

MEANT = "<code>\npay(125) if balance() > 125 else final_answer('not enough')\n"
CUT = MEANT[: MEANT.index(" if")]
ANSWERS = {"whole": (MEANT, "stop"), "limit": (CUT, "length"), "torn": (CUT, None)}


def chunk(delta, finish_reason=None):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        text, reason = ANSWERS[json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]]
        chunks = [chunk({"role": "assistant", "content": text}), *([chunk({}, reason)] if reason else [])]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + ("data: [DONE]\n\n" if reason else "")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@tool
def balance() -> int:
    """Return what is in the account."""
    return 100


@tool
def pay(amount: int) -> str:
    """Pay.

    Args:
        amount: how much.
    """
    print(f"  paid {amount}")
    return "paid"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for end in ANSWERS:
    print(f"{end}:")
    model = OpenAIModel(end, api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")
    agent = CodeAgent([balance, pay], model, stream_outputs=True, verbosity_level=0)
    for event in agent.run("Pay 125 if we have it.", stream=True):
        if type(event).__name__ == "ActionStep":  # the first step is over
            print(f"  remembered {event.model_output!r}, error {event.error}")
            break
PY

env/bin/python -W ignore cut.py > seen.txt
cat > described.txt <<'TEXT'
whole:
  remembered "<code>\npay(125) if balance() > 125 else final_answer('not enough')\n</code>", error None
limit:
  paid 125
  remembered '<code>\npay(125)</code>', error None
torn:
  paid 125
  remembered '<code>\npay(125)</code>', error None
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
