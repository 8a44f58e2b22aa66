#!/usr/bin/env bash
# dspy 3.4.1: an answer that was cut is cached, so that asking again returns the half answer without asking the model.
#
# The model's first answer ends at its token limit (finish_reason "length"): "Do not take both". A program calls
# `dspy.Predict` a second time, as one does after an answer that was not whole.
# Expected: an error, or a second request to the model.
# Seen: both calls return the half answer as the value of the field, in the same form as a whole one, and the model is
# asked once. dspy logs a warning with the first call and none with the second. The cache is also kept on disk: the third
# call is made by a new process, a day later if you like.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check dspy==3.4.1 litellm==1.110.2

cat > model.py <<'PY'
"""A model over Chat Completions: its first answer breaks off, the others are whole."""
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Model.asked += 1
        text = "[[ ## answer ## ]]\nDo not take both"
        if Model.asked > 1:
            text += " pills at once.\n\n[[ ## completed ## ]]"
        choice = {
            "index": 0, "message": {"role": "assistant", "content": text},
            "finish_reason": "length" if Model.asked == 1 else "stop",
        }
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps(
            {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice], "usage": usage}
        ).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        body = str(Model.asked).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
PY
cat > ask.py <<'PY'
import sys
import urllib.request

import dspy

url, times = sys.argv[1], int(sys.argv[2])
dspy.configure(lm=dspy.LM("openai/gpt-4o", api_base=f"{url}/v1", api_key="none", num_retries=0))
for _ in range(times):
    answer = dspy.Predict("question -> answer")(question="May I take both pills?").answer
    asked = urllib.request.urlopen(url).read().decode()
    print(f"answer {answer!r}; requests so far: {asked}")
PY

exec 3< <(exec python3 model.py)
model=$!
trap 'kill $model; rm -rf "$folder"' EXIT
read -r port <&3
export DSPY_CACHEDIR="$folder/cache"
for times in 2 1; do env/bin/python -W ignore ask.py "http://127.0.0.1:$port" "$times" 2> /dev/null; done > seen.txt
cat > described.txt <<'TEXT'
answer 'Do not take both'; requests so far: 1
answer 'Do not take both'; requests so far: 1
answer 'Do not take both'; requests so far: 1
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
