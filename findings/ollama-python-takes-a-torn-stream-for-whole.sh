#!/usr/bin/env bash
# ollama 0.6.3 (Python): a chat stream that ends before its last line is taken for a whole answer.
#
# /api/chat streams lines of JSON; the last one has `"done": true`. Here the model's process dies after half an answer and
# the body ends properly, as behind a proxy.
# Expected: the client raises, as a stream without `done` is not an answer.
# Seen: the loop ends as it does for a whole answer. Only who looks at `done` of the last piece can tell.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ollama==0.6.3

cat > torn.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ollama import Client

PIECES = ["Do not ", "take both pills", " at once."]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lines = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        answer = [{"message": {"role": "assistant", "content": text}, "done": False} for text in PIECES]
        answer.append({"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"})
        body = "".join(json.dumps({"model": "m", **line}) + "\n" for line in answer[: self.lines]).encode()
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = Client(host=f"http://127.0.0.1:{server.server_port}")
for name, Model.lines in (("whole", 4), ("torn", 2)):
    text, done = "", None
    for piece in client.chat("m", [{"role": "user", "content": "May I take both pills?"}], stream=True):
        text, done = text + piece.message.content, piece.done
    print(f"{name}: {text!r}, no error, done {done}")
PY

env/bin/python torn.py > seen.txt
cat > described.txt <<'TEXT'
whole: 'Do not take both pills at once.', no error, done True
torn: 'Do not take both pills', no error, done False
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
