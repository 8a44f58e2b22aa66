#!/usr/bin/env bash
# openai 3.57.0 (Python) and openai 7.59.0 (npm): the final response of a stream that is not whole, in two languages.
#
# A stream of the Responses API says "Do not take both". It ends at its token limit with `response.incomplete`, which holds
# the whole half answer (`limit`), or after the text with no closing event, as when a proxy has lost the API (`torn`).
# Expected: at the limit both helpers return the incomplete response; for the torn stream both raise.
# Seen: Python raises for both, with the same words "Didn't receive a `response.completed` event.": the answer that the API
# closed in order, text and reason, is gone with its usage. JavaScript returns both, so that the promise of a torn stream
# resolves to a final response whose status is "in_progress"; for Chat Completions the same package rejects.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openai==3.57.0
npm init -y > /dev/null
npm install --silent --no-audit --no-fund openai@7.59.0

cat > final.py <<'PY'
import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai

TEXT = "Do not take both"
PART = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
ITEM = {"type": "message", "id": "i1", "status": "in_progress", "role": "assistant", "content": []}
WHOLE = {**ITEM, "status": "incomplete", "content": [{**PART, "text": TEXT}]}


def response(status, output, details=None):
    return {
        "id": "r1", "object": "response", "created_at": 1, "model": "gpt-4o", "status": status, "output": output,
        "incomplete_details": details, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None,
        "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
    }


at = {"item_id": "i1", "output_index": 0, "content_index": 0}
TORN = [
    {"type": "response.created", "response": response("in_progress", [])},
    {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
    {"type": "response.content_part.added", **at, "part": PART},
    {"type": "response.output_text.delta", **at, "delta": TEXT, "logprobs": []},
]
LIMIT = [
    *TORN,
    {"type": "response.output_text.done", **at, "text": TEXT, "logprobs": []},
    {"type": "response.content_part.done", **at, "part": {**PART, "text": TEXT}},
    {"type": "response.output_item.done", "output_index": 0, "item": WHOLE},
    {"type": "response.incomplete", "response": response("incomplete", [WHOLE], {"reason": "max_output_tokens"})},
]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        model = json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]
        events = [{**event, "sequence_number": n} for n, event in enumerate(LIMIT if model == "limit" else TORN)]
        body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
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
client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
for model in ("limit", "torn"):
    try:
        with client.responses.stream(model=model, input="May I take both?") as stream:
            final = stream.get_final_response()
        print(f"{model}, Python: {final.status} {final.output_text}", flush=True)
    except RuntimeError as error:
        print(f"{model}, Python: {error}", flush=True)
    subprocess.run(["node", "final.mjs", url, model], check=True)
PY
cat > final.mjs <<'JS'
import OpenAI from "openai";

const [, , baseURL, model] = process.argv;
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const final = await client.responses.stream({ model, input: "May I take both?" }).finalResponse();
console.log(`${model}, JavaScript: ${final.status} ${final.output[0].content[0].text}`);
JS

env/bin/python final.py > seen.txt
cat > described.txt <<'TEXT'
limit, Python: Didn't receive a `response.completed` event.
limit, JavaScript: incomplete Do not take both
torn, Python: Didn't receive a `response.completed` event.
torn, JavaScript: in_progress Do not take both
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
