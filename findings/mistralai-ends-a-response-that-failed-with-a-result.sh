#!/usr/bin/env bash
# mistralai 3.7.0 (Python): `run_stream_async` ends a response that failed with a RunResult, and runs its calls.
#
# A run over the Conversations API has a Python function `pay`. The API streams a text and ends it with
# `conversation.response.done` (`whole`), with `conversation.response.error`, "the model is overloaded" (`failed`), or not at
# all (`torn`); or it streams a call of `pay` and then the same error (`call`).
# Expected: `failed`, `torn` and `call` raise; nothing is paid for a response that has failed.
# Seen: nothing raises. `failed` and `torn` end with a RunResult that has the half text as its output, like a whole one. Of
# `call` the function runs and pays, and its result is sent to a conversation whose response has failed. Only who looks
# for the error among the events can tell: the run itself collects text and calls and looks at no event that ends them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check "mistralai[agents]==3.7.0"

cat > run.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mistralai.client import Mistral
from mistralai.extra.run.context import RunContext
from mistralai.extra.run.result import RunResult


def text(content):
    return "message.output.delta", {"id": "m", "content": content, "output_index": 0, "content_index": 0, "model": "x"}


STARTED = "conversation.response.started", {"conversation_id": "conv"}
CALL = "function.call.delta", {
    "id": "f", "name": "pay", "tool_call_id": "c", "arguments": '{"amount": 125}', "output_index": 0
}
DONE = "conversation.response.done", {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
ERROR = "conversation.response.error", {"message": "the model is overloaded", "code": 503}
SCRIPTS = {
    "whole": [text("Do not take"), text(" both."), DONE],
    "failed": [text("Do not take"), ERROR],
    "torn": [text("Do not take")],
    "call": [CALL, ERROR],
}
asked, script = [], []


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["inputs"])
        events = [STARTED, *(script.pop() if script else [text("Well."), DONE])]
        body = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


async def main():
    client = Mistral(api_key="none", server_url=f"http://127.0.0.1:{server.server_port}")
    for kind, events in SCRIPTS.items():
        print(f"{kind}:")
        asked.clear()
        script.append(events)
        async with RunContext(model="x") as context:

            @context.register_func
            def pay(amount: int) -> str:
                """Pay.

                Args:
                    amount: How much.
                """
                print(f"  pay: paid {amount}")
                return "paid"

            run = await client.beta.conversations.run_stream_async(run_ctx=context, inputs="Pay 125.")
            async for event in run:
                if isinstance(event, RunResult):
                    print(f"  a result: {event.output_as_text}")
                elif event.event == "conversation.response.error":
                    print(f"  an event: {event.data.message}")
        for later in asked[1:]:
            print(f"  sent to the conversation: {later[0]['type']} {later[0]['result']}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main())
PY

env/bin/python -W ignore run.py > seen.txt
cat > described.txt <<'TEXT'
whole:
  a result: Do not take both.
failed:
  an event: the model is overloaded
  a result: Do not take
torn:
  a result: Do not take
call:
  an event: the model is overloaded
  pay: paid 125
  a result: Well.
  sent to the conversation: function.result paid
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
