#!/usr/bin/env bash
# anthropic 2.14.0 (Python) and @anthropic-ai/sdk 1.14.0 (npm): one stream, two messages.
#
# The Messages API streams a `tool_use` block that means {"to": "Ann", "amount": 125} and comes to its token limit after
# `{"to": "Ann", "amount": 12`. The stream is whole: the block is stopped, `stop_reason` is "max_tokens".
# Expected: both helpers give the same message; at best one that shows that `input` was cut.
# Seen: in Python the final message has {"to": "Ann", "amount": 12}, a number that the model did not mean; in JavaScript
# it has {"to": "Ann"}. Neither raises. An application that stores what its helper gives, and sends it back, has another
# history in each language, and neither says that the arguments were cut.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check anthropic==2.14.0
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @anthropic-ai/sdk@1.14.0

cat > limit.py <<'PY'
import json
import subprocess
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
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": None},
     "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
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
url = f"http://127.0.0.1:{server.server_port}"
client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
question = [{"role": "user", "content": "Pay 125 to Ann."}]
with client.messages.stream(model="claude", max_tokens=9, messages=question) as stream:
    message = stream.get_final_message()
print(f"Python: {message.stop_reason} {json.dumps(message.content[0].input)}", flush=True)
subprocess.run(["node", "limit.mjs", url], check=True)
PY
cat > limit.mjs <<'JS'
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: process.argv[2], apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "Pay 125 to Ann." }];
const message = await client.messages.stream({ model: "claude", max_tokens: 9, messages }).finalMessage();
console.log(`JavaScript: ${message.stop_reason} ${JSON.stringify(message.content[0].input)}`);
JS

env/bin/python limit.py > seen.txt
cat > described.txt <<'TEXT'
Python: max_tokens {"to": "Ann", "amount": 12}
JavaScript: max_tokens {"to":"Ann"}
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
