#!/usr/bin/env bash
# smolagents 1.26.0: a tool with one parameter gets the half JSON of a call that was cut, as its argument.
#
# The model streams a call of `book` over Chat Completions. It means {"city": "Paris"}; the answer ends at its token limit
# (finish_reason "length") after `{"city": "Pa`.
# Expected: the call is refused, because its arguments are not JSON.
# Seen: arguments that cannot be parsed are handed to the tool as one positional text. A tool with one parameter of type
# `string` runs: it books a city that is called `{"city": "Pa`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check smolagents==1.26.0 openai==3.57.0

cat > cut.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from smolagents import OpenAIModel, ToolCallingAgent, tool


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"city": "Pa'}}
        chunks = [chunk({"role": "assistant", "tool_calls": [call]}), chunk({}, "length")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@tool
def book(city: str) -> str:
    """Book a hotel.

    Args:
        city: the name of the city.
    """
    print(f"booked a hotel in {city!r}")
    return "booked"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
model = OpenAIModel("gpt-4o", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="none")
agent = ToolCallingAgent([book], model, stream_outputs=True, verbosity_level=0)
for event in agent.run("Book a hotel in Paris.", stream=True):
    if type(event).__name__ == "ActionStep":  # the first step is over
        break
PY

env/bin/python -W ignore cut.py | grep --only-matching "booked a hotel in.*" > seen.txt
cat > described.txt <<'TEXT'
booked a hotel in '{"city": "Pa'
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
