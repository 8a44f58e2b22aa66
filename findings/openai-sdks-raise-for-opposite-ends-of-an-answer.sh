#!/usr/bin/env bash
# openai 3.57.0 (Python) and openai 7.59.0 (npm): each takes the cut chat answer for which the other raises.
#
# A stream of Chat Completions says "Do not take both", or calls `pay` with `{"amount": 12`. It ends at its token limit, in
# order, with finish_reason "length" and [DONE] (`limit`), or with neither, as when a proxy has lost the API (`torn`). The
# request has no response_format and no strict tools, so that there is nothing for the helper to parse.
# Expected: both helpers return what the API has ended, with its reason, and raise for what it has not.
# Seen: Python's does the reverse. What was ended raises LengthFinishReasonError, "Could not parse response content", after
# all of its events have been given; the torn answer is returned as the final one, half arguments included, with None for a
# reason. JavaScript's returns the first and raises for the second. A history that is stored from the final answer has, by
# language, the answers of the one kind or of the other.
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


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 12'}}
ANSWERS = {"text": chunk(content="Do not take both"), "call": chunk(tool_calls=[CALL])}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        answer, end = json.loads(self.rfile.read(int(self.headers["content-length"])))["model"].split()
        chunks = [ANSWERS[answer], *([chunk("length")] if end == "limit" else [])]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + ("data: [DONE]\n\n" if end == "limit" else "")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
for model in (f"{answer} {end}" for end in ("limit", "torn") for answer in ANSWERS):
    try:
        with client.chat.completions.stream(model=model, messages=[{"role": "user", "content": "Pay."}]) as stream:
            (choice,) = stream.get_final_completion().choices
        said = choice.message.content or choice.message.tool_calls[0].function.arguments
        print(f"{model}, Python: {choice.finish_reason}, {said}", flush=True)
    except openai.OpenAIError as error:
        print(f"{model}, Python raises {type(error).__name__}", flush=True)
    subprocess.run(["node", "final.mjs", url, model], check=True)
PY
cat > final.mjs <<'JS'
import OpenAI from "openai";

const [, , baseURL, model] = process.argv;
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
try {
  const final = await client.chat.completions.stream({ model, messages: [{ role: "user", content: "Pay." }] }).finalChatCompletion();
  const { finish_reason: reason, message } = final.choices[0];
  console.log(`${model}, JavaScript: ${reason}, ${message.content ?? message.tool_calls[0].function.arguments}`);
} catch (error) {
  console.log(`${model}, JavaScript raises ${error.constructor.name}`);
}
JS

env/bin/python final.py > seen.txt
cat > described.txt <<'TEXT'
text limit, Python raises LengthFinishReasonError
text limit, JavaScript: length, Do not take both
call limit, Python raises LengthFinishReasonError
call limit, JavaScript: length, {"amount": 12
text torn, Python: None, Do not take both
text torn, JavaScript raises OpenAIError
call torn, Python: None, {"amount": 12
call torn, JavaScript raises OpenAIError
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
