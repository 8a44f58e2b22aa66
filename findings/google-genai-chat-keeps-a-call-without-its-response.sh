#!/usr/bin/env bash
# google-genai 3.6.1 (Python): a chat that is left in its answer keeps the call of a tool that has run, without a response.
#
# A chat with a Python function as its tool runs the function by itself. It has paid, its answer "Paid." is shown, and the
# user presses Stop: the loop over `send_message_stream` is left. Then the user asks.
# Expected: the chat keeps the response that it has sent to the model, or nothing of the turn.
# Seen: `get_history()` and the next request have the question and the call, and neither response nor answer. The Gemini
# API refuses a call that is not followed by its response ("... the number of function response parts is equal to the
# number of function call parts"), so that the chat is lost, and the payment is not recorded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-genai==3.6.1

cat > leave.py <<'PY'
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google import genai
from google.genai import types

logging.disable()
asked = []


class Model(BaseHTTPRequestHandler):
    """Calls `pay`, then says "Paid." and more."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["contents"])
        parts = [{"text": "Paid."}, {"text": " Anything else?"}]
        if len(asked) == 1:
            parts = [{"functionCall": {"name": "pay", "args": {}}}]
        chunks = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
        chunks[-1]["candidates"][0]["finishReason"] = "STOP"
        body = "".join(f"data: {json.dumps(one)}\r\n\r\n" for one in chunks).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def pay() -> str:
    """Pay."""
    print("pay: has paid")
    return "paid"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
options = types.HttpOptions(base_url=f"http://127.0.0.1:{server.server_port}")
client = genai.Client(api_key="none", http_options=options)
chat = client.chats.create(model="gemini-2.5-flash", config=types.GenerateContentConfig(tools=[pay]))
for chunk in chat.send_message_stream("Pay."):
    if chunk.text == "Paid.":
        print(f"shown: {chunk.text}")
        break
for _ in chat.send_message_stream("What did you do?"):
    pass
for content in asked[-1]:
    part = content["parts"][0]
    print(f"asked: {content['role']} {part.get('text') or next(iter(part))}")
PY

env/bin/python -W ignore leave.py > seen.txt
cat > described.txt <<'TEXT'
pay: has paid
shown: Paid.
asked: user Pay.
asked: model functionCall
asked: user What did you do?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
