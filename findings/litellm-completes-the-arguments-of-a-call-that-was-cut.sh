#!/usr/bin/env bash
# litellm 1.110.2: a call that was cut at 12 goes to Claude as a whole call of 12, to Gemini not at all.
#
# A chat keeps its history in the format of Chat Completions. The model meant to call `pay` with {"amount": 125}; its
# answer was cut after `{"amount": 12`. The application did not run the call, and answered it as interrupted. The user asks on;
# the next model is one of another vendor, as with a router or a fallback.
# Expected: both crossings treat the call alike: an error, or arguments that can be seen to be cut.
# Seen: for Anthropic the half JSON is closed, and Claude reads that it called `pay` with {"amount": 12}, a sum that nobody
# meant; a line in the log is all. For Gemini the same history raises, so that the fallback fails at each later question.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check litellm==1.110.2

cat > cross.py <<'PY'
import copy
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import litellm

ANTHROPIC = {
    "id": "m1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "Well."}], "usage": {"input_tokens": 1, "output_tokens": 1},
}
GEMINI = {
    "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "Well."}]}}],
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


def parts(request):
    """Yield what either API calls the parts of its messages."""
    for message in request.get("messages") or request["contents"]:
        yield from message.get("parts") or message["content"]


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
tools = [{"type": "function", "function": {
    "name": "pay", "parameters": {"type": "object", "properties": {"amount": {"type": "integer"}}},
}}]
for name, arguments in (("whole", '{"amount": 125}'), ("cut", '{"amount": 12')):
    call = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": arguments}}
    history = [
        {"role": "user", "content": "Pay 125 to Ann."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "interrupted, not run"},
        {"role": "user", "content": "What did you do?"},
    ]
    for model in ("anthropic/claude-sonnet-4-5", "gemini/gemini-2.0-flash"):
        asked.clear()
        try:
            litellm.completion(
                model, copy.deepcopy(history), tools=tools, api_base=url, api_key="none", max_retries=0,
            )
        except litellm.APIConnectionError as error:
            print(f"{name}, {model}: {type(error).__name__}; {len(asked)} requests sent")
        for part in (one for request in asked for one in parts(request)):
            if arguments := part.get("input") or part.get("function_call", {}).get("args"):
                print(f"{name}, {model}: the model reads that it called pay({json.dumps(arguments)})")
PY

LITELLM_LOCAL_MODEL_COST_MAP=True env/bin/python -W ignore cross.py 2> /dev/null | grep '^whole\|^cut' > seen.txt
cat > described.txt <<'TEXT'
whole, anthropic/claude-sonnet-4-5: the model reads that it called pay({"amount": 125})
whole, gemini/gemini-2.0-flash: the model reads that it called pay({"amount": 125})
cut, anthropic/claude-sonnet-4-5: the model reads that it called pay({"amount": 12})
cut, gemini/gemini-2.0-flash: APIConnectionError; 0 requests sent
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
