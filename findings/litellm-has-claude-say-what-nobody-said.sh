#!/usr/bin/env bash
# litellm 1.110.2: an answer that was stopped before its first word becomes a sentence that Claude reads as its own.
#
# A chat keeps its history in the format of Chat Completions. Its user pressed Stop before the first word, so that the
# assistant's message is "". The user asks on, and the model is Claude, whose API refuses an empty text.
# Expected: the empty message is left out, as a message without content says nothing.
# Seen: the model is given an assistant message of its own with a note of litellm in English, which speaks of a system and
# of a protocol. It is in every later request of the chat, the model goes on from it, and nothing of it is in the history
# that the application keeps. For Gemini the same message is sent as an empty text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check litellm==1.110.2

cat > stopped.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import litellm

ANTHROPIC = {
    "id": "m1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Yes?"}], "usage": {"input_tokens": 1, "output_tokens": 1},
}
GEMINI = {
    "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "Yes?"}]}}],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}
asked = []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps(ANTHROPIC if "messages" in asked[-1] else GEMINI).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
for model in ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.0-flash"):
    history = [
        {"role": "user", "content": "Which of the two pills may I take?"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "Hello?"},
    ]
    litellm.completion(model, history, api_base=url, api_key="none", max_retries=0)
    of_the_model = (asked[-1].get("messages") or asked[-1]["contents"])[1]
    (part,) = of_the_model.get("parts") or of_the_model["content"]
    text = part["text"]
    about = [word for word in ("System", "Empty message", "protocol") if word in text]
    print(f"{model}: {of_the_model['role']} says {'a sentence' if text else 'nothing'} {about}")
    print(f"{model}: the application's history has {history[1]['content']!r}")
PY

LITELLM_LOCAL_MODEL_COST_MAP=True env/bin/python -W ignore stopped.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
anthropic/claude-sonnet-4-5: assistant says a sentence ['System', 'Empty message', 'protocol']
anthropic/claude-sonnet-4-5: the application's history has ''
gemini/gemini-2.0-flash: model says nothing []
gemini/gemini-2.0-flash: the application's history has ''
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
