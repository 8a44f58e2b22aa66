#!/usr/bin/env bash
# google-genai 3.6.1 (Python): after a cut stream a chat sends a function's response without the call and the question.
#
# A chat with a Python function as its tool runs the function by itself. The model's stream calls `pay` and ends without a
# finishReason, as when its server or a proxy has died. The function runs, and the chat goes on with its response.
# Expected: an error, or the turn is kept whole, since `pay` has been run and the model has answered.
# Seen: `get_history()` shows the whole turn. The next request leaves out the call, since its answer had no finishReason,
# and the user's question with it, and keeps the response: it begins with the response to a call that is not there.
# After a cut text (`text`) the user's question is left out with the half answer: the model does not know what was asked.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check google-genai==3.6.1

cat > chat.py <<'PY'
import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google import genai
from google.genai import types

logging.disable()
asked = []
CUT = {"call": {"functionCall": {"name": "pay", "args": {"amount": 125}}}, "text": {"text": "Paying 12"}}


class Model(BaseHTTPRequestHandler):
    """Its first stream breaks off; later ones say one word."""

    protocol_version = "HTTP/1.1"
    cut = {}

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["contents"])
        candidate = {"content": {"role": "model", "parts": [self.cut if len(asked) == 1 else {"text": "Well."}]}}
        if len(asked) > 1:
            candidate["finishReason"] = "STOP"
        body = f"data: {json.dumps({'candidates': [candidate]})}\r\n\r\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def pay(amount: int) -> str:
    """Pay."""
    print(f"  paid {amount}")
    return "paid"


def kind(part):
    return next(key for key, value in part.items() if value is not None)


def shape(contents):
    return "; ".join(f"{one['role']} {part.get('text') or kind(part)}" for one in contents for part in one["parts"])


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
options = types.HttpOptions(base_url=f"http://127.0.0.1:{server.server_port}")
client = genai.Client(api_key="none", http_options=options)
for name, Model.cut in CUT.items():
    asked.clear()
    print(name)
    chat = client.chats.create(model="gemini-2.5-flash", config=types.GenerateContentConfig(tools=[pay]))
    for question in ("Pay 125.", "What did you do?"):
        for _ in chat.send_message_stream(question):
            pass
        if question == "Pay 125.":
            print(f"  shown: {shape([one.model_dump(exclude_none=True) for one in chat.get_history()])}")
    print(f"  asked: {shape(asked[-1])}")
PY

env/bin/python -W ignore chat.py > seen.txt
cat > described.txt <<'TEXT'
call
  paid 125
  shown: user Pay 125.; model function_call; user function_response; model Well.
  asked: user functionResponse; model Well.; user What did you do?
text
  shown: user Pay 125.; model Paying 12
  asked: user What did you do?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
