#!/usr/bin/env bash
# anthropic 2.11.0 (Python): `get_final_message()` returns a call that was cut, with arguments that nobody sent.
#
# The Messages API streams a `tool_use` block. It means {"to": "Ann", "amount": 125}; the stream ends after
# `{"to": "Ann", "amount": 12`: no content_block_stop, no message_delta, no message_stop, as when a proxy in front of the
# API loses its upstream and closes its own answer properly.
# Expected: an error, as the message is not final; or no `input` that can be run.
# Seen: nothing is raised. The block has `input` {"to": "Ann", "amount": 12}, as a whole one has; only `stop_reason` is
# None. openai 3.52.0 returns the half arguments as text in the same situation.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check anthropic==2.11.0

cat > torn.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic

MESSAGE = {
    "id": "m1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None,
    "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
}
EVENTS = [
    {"type": "message_start", "message": MESSAGE},
    {"type": "content_block_start", "index": 0,
     "content_block": {"type": "tool_use", "id": "c1", "name": "pay", "input": {}}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "input_json_delta", "partial_json": '{"to": "Ann", "amount": 12'}},
]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.server_port}", api_key="none", max_retries=0)
question = [{"role": "user", "content": "Pay 125 to Ann."}]
with client.messages.stream(model="claude", max_tokens=100, messages=question) as stream:
    message = stream.get_final_message()
block = message.content[0]
print(f"{block.type} {block.name} {json.dumps(block.input)}, stop_reason {message.stop_reason}")
PY

env/bin/python torn.py > seen.txt
cat > described.txt <<'TEXT'
tool_use pay {"to": "Ann", "amount": 12}, stop_reason None
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
