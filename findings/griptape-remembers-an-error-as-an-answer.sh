#!/usr/bin/env bash
# griptape 1.13.0: a model that is down, or a call that was cut, is remembered as something that the assistant has said.
#
# An Agent with its default memory is asked to pay 125. Its model over Chat Completions is down, with HTTP 503 (`down`); or
# its call of `pay` ends after `{"amount": 12` at its token limit (`cut`); or `pay` has paid, and the model is down after it
# (`paid`). Then the user asks.
# Expected: the run raises, or the memory leaves the failed answer out; of `paid` it keeps that something was paid.
# Seen: `run` returns, with an ErrorArtifact as its output, and the next request has the error's text as a message of the
# assistant, and so has each later one: the model reads an error of Python or of a server as its own words. That `pay` has
# paid is in no request. The memory stores the output of each run as what the assistant has said, whatever its class.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check griptape==1.13.0 openai==3.57.0

cat > fail.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from griptape.artifacts import TextArtifact
from griptape.drivers.prompt.openai import OpenAiChatPromptDriver
from griptape.structures import Agent
from griptape.tokenizers import SimpleTokenizer
from griptape.tools import BaseTool
from griptape.utils import Stream
from griptape.utils.decorators import activity
from schema import Literal, Schema


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def call(arguments, reason):
    function = {"name": "Till_pay", "arguments": arguments}
    return [chunk(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": function}]), chunk(reason)]


DOWN = None
SCRIPTS = {
    "down": [DOWN],
    "cut": [call('{"amount": 12', "length")],
    "paid": [call('{"amount": 125}', "tool_calls"), DOWN],
}
asked, script = [], []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        chunks = script.pop(0) if script else [chunk(content="Well."), chunk("stop")]
        if chunks is DOWN:
            kind, body = "application/json", '{"error": {"message": "no capacity on node 7"}}'
        else:
            kind, body = "text/event-stream", "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(503 if chunks is DOWN else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


class Till(BaseTool):
    @activity(config={"description": "Pays.", "schema": Schema({Literal("amount", description="How much."): int})})
    def pay(self, params: dict) -> TextArtifact:
        print(f"  pay: paid {params['values']['amount']}")
        return TextArtifact("paid")


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
tokenizer = SimpleTokenizer(characters_per_token=4, max_input_tokens=9000, max_output_tokens=1000)
for kind, script in SCRIPTS.items():
    print(f"{kind}:")
    script = list(script)
    driver = OpenAiChatPromptDriver(
        model="m", base_url=url, api_key="none", stream=True, use_native_tools=True, tokenizer=tokenizer, max_attempts=1
    )
    driver.client.max_retries = 0
    agent = Agent(prompt_driver=driver, tools=[Till()])
    for _ in Stream(agent).run("Pay 125."):
        pass
    print(f"  the run returns {type(agent.output).__name__}")
    agent.run("Did you pay?")
    for message in asked[-1]:
        if message["role"] != "system":
            print(f"  asked with: {message['role']}: {message['content']}")
PY

env/bin/python -W ignore fail.py 2> /dev/null | grep '^down\|^cut\|^paid\|^  pay: \|^  the run\|^  asked' > seen.txt
cat > described.txt <<'TEXT'
down:
  the run returns ErrorArtifact
  asked with: user: Pay 125.
  asked with: assistant: Error code: 503 - no capacity on node 7
  asked with: user: Did you pay?
cut:
  the run returns ErrorArtifact
  asked with: user: Pay 125.
  asked with: assistant: Invalid JSON input for ToolAction
  asked with: user: Did you pay?
paid:
  pay: paid 125
  the run returns ErrorArtifact
  asked with: user: Pay 125.
  asked with: assistant: Error code: 503 - no capacity on node 7
  asked with: user: Did you pay?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
