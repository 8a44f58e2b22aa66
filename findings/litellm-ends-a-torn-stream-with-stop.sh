#!/usr/bin/env bash
# litellm 1.110.2: `stream_chunk_builder` ends an answer that was left or torn with "stop", a reason that nobody sent.
#
# A model over Chat Completions streams a text or a call of `pay`, which means {"amount": 125}. Its user leaves after half
# of it (`left`), or its server dies there, without a finish_reason and without [DONE] (`torn`; litellm raises then). The
# application keeps the pieces that it has shown, and makes the message of its history of them with `stream_chunk_builder`.
# Expected: the rebuilt choice has `finish_reason` None, as the pieces have.
# Seen: it is "stop" for all of them, the reason of a finished text; for half a call as well, whose arguments do not parse.
# Nothing in what is stored says that it is half.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check litellm==1.110.2

cat > build.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import litellm


def chunk(**delta):
    choices = [{"index": 0, "delta": delta, "finish_reason": None}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def call(**function):
    return chunk(role="assistant", tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": function}])


PIECES = {
    "text": [chunk(role="assistant", content="Do not "), chunk(content="take")],
    "call": [call(name="pay", arguments=""), call(arguments='{"amount": 12')],
}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kind = ""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in PIECES[self.kind]).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
for Model.kind in PIECES:
    for end in ("left", "torn"):
        messages = [{"role": "user", "content": "Well?"}]
        stream = litellm.completion("openai/m", messages, api_base=url, api_key="none", stream=True, max_retries=0)
        kept = []
        try:
            for piece in stream:
                kept.append(piece)
                if end == "left" and len(kept) == 2:
                    break
        except litellm.exceptions.MidStreamFallbackError as error:
            print(f"{Model.kind}, {end}: {type(error).__name__}")
        reasons = [piece.choices[0].finish_reason for piece in kept]
        choice = litellm.stream_chunk_builder(kept).choices[0]
        holds = choice.message.content or choice.message.tool_calls[0].function.arguments
        print(f"{Model.kind}, {end}: pieces {reasons}; built {choice.finish_reason} of {holds}")
PY

LITELLM_LOCAL_MODEL_COST_MAP=True env/bin/python -W ignore build.py 2> /dev/null | grep '^text\|^call' > seen.txt
cat > described.txt <<'TEXT'
text, left: pieces [None, None]; built stop of Do not take
text, torn: MidStreamFallbackError
text, torn: pieces [None, None]; built stop of Do not take
call, left: pieces [None, None]; built stop of {"amount": 12
call, torn: MidStreamFallbackError
call, torn: pieces [None, None]; built stop of {"amount": 12
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
