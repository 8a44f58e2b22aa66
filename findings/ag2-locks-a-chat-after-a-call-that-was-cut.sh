#!/usr/bin/env bash
# ag2 1.2.1 with openai 3.57.0: one call that was cut, and no later question of the chat reaches the model.
#
# The model of an agent streams a call of `pay` over Chat Completions. It means {"amount": 125}; its answer ends after
# `{"amount": 12`, at its token limit (`limit`) or because its server has died (`torn`). The user goes on in the same stream.
# Expected: the model is given the call and the error that ag2 has recorded for it, so that it can repeat the call. Or the
# run fails, and the next question is asked without the call.
# Seen: `pay` is not run, and the history gets an error as its result. But the half arguments are parsed once more whenever
# the history is sent: `ask` raises JSONDecodeError, now and for each later question, before anything is sent. The model has
# been asked once; the questions pile up in the history.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check "ag2[openai]==1.2.1" openai==3.57.0

cat > locked.py <<'PY'
import asyncio
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ag2 import Agent, MemoryStream
from ag2.config import OpenAIConfig


def chunk(delta, finish_reason=None):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def call(**function):
    return chunk({"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})


HALF = [call(name="pay", arguments=""), call(arguments='{"amount": 12')]


class Model(BaseHTTPRequestHandler):
    """Its first answer breaks off in a call, each later one is whole."""

    protocol_version = "HTTP/1.1"
    end = ""
    asked = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Model.asked += 1
        chunks, done = [chunk({"role": "assistant", "content": "Well."}), chunk({}, "stop")], True
        if Model.asked == 1:
            done = self.end == "limit"
            chunks = HALF + [chunk({}, "length")] * done
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n" * done
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"

    async def pay(amount: int) -> str:
        """Pay."""
        print(f"paid {amount}")
        return "paid"

    for Model.end in ("limit", "torn"):
        Model.asked = 0
        stream = MemoryStream()
        config = OpenAIConfig("m", base_url=url, api_key="none", streaming=True, max_retries=0)
        agent = Agent("teller", config=config, tools=[pay])
        for question in ("Pay 125.", "Did you pay?", "Hello?"):
            try:
                outcome = (await agent.ask(question, stream=stream)).body
            except json.JSONDecodeError as error:
                outcome = type(error).__name__
            print(f"{Model.end}: {question} {outcome}")
        counts = Counter(type(event).__name__ for event in await stream.history.get_events())
        print(f"{Model.end}: {counts['ModelRequest']} questions and {counts['ToolErrorEvent']} error in the history")
        print(f"{Model.end}: the model was asked {Model.asked} time(s)")


asyncio.run(main())
PY

env/bin/python -W ignore locked.py > seen.txt
cat > described.txt <<'TEXT'
limit: Pay 125. JSONDecodeError
limit: Did you pay? JSONDecodeError
limit: Hello? JSONDecodeError
limit: 3 questions and 1 error in the history
limit: the model was asked 1 time(s)
torn: Pay 125. JSONDecodeError
torn: Did you pay? JSONDecodeError
torn: Hello? JSONDecodeError
torn: 3 questions and 1 error in the history
torn: the model was asked 1 time(s)
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
