#!/usr/bin/env bash
# agno 3.1.10: a tool that is called with the text "Null" gets None, so that it does for everybody what it should do for one.
#
# `cancel` cancels the bookings of a guest, or of all guests if none is given. The model streams a call of it over Chat
# Completions, whose arguments are right JSON: {"guest": "Ann"}, {"guest": "Null"}, a name that people have, or
# {"guest": "True"}. The parameter may be left out (`optional`), or has to be given (`required`).
# Expected: the tool gets the text that the model has sent, as JSON has `null` and `true` for what is not a text.
# Seen: "none" and "null" become None, and "true" and "false" become booleans, in any case of letters, whatever the type of
# the parameter. With "Null" the bookings of all guests are cancelled, and the model reads a result without an error after
# its own call of {"guest": "Null"}. Where the parameter has to be a text, the tool is refused with "Input should be a valid
# string", of a call that had one: the model cannot mend it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check agno==3.1.10 openai==3.57.0

cat > null.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.tools.function import Function

asked = []


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


class Model(BaseHTTPRequestHandler):
    """Calls `cancel` when it is asked first, and says one word when it has the result."""

    protocol_version = "HTTP/1.1"
    guest = ""

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        function = {"name": "cancel", "arguments": json.dumps({"guest": self.guest})}
        call = {"index": 0, "id": "c1", "type": "function", "function": function}
        chunks = [chunk({"role": "assistant", "tool_calls": [call]}), chunk({}, "tool_calls")]
        if len(asked) > 1:
            chunks = [chunk({"role": "assistant", "content": "Well."}), chunk({}, "stop")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def cancel_any(guest: str | None = None) -> str:
    """Cancel the bookings of a guest, or of all guests."""
    print(f"  cancelled: the bookings of {guest or 'all guests'}")
    return "cancelled"


def cancel_given(guest: str) -> str:
    """Cancel the bookings of a guest."""
    print(f"  cancelled: the bookings of {guest}")
    return "cancelled"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
for kind, cancel in (("optional", cancel_any), ("required", cancel_given)):
    for Model.guest in ("Ann", "Null", "True"):
        print(f"{Model.guest}, {kind}")
        asked.clear()
        agent = Agent(
            model=OpenAILike(id="gpt-4o", base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none"),
            tools=[Function(name="cancel", entrypoint=cancel)], telemetry=False,
        )
        list(agent.run(f"Cancel what {Model.guest} has booked.", stream=True))
        sent, result = asked[-1][-2:]
        words = " ".join(result["content"].split()).partition(" [")[0]
        print(f"  asked with: {sent['tool_calls'][0]['function']['arguments']}, {words}")
PY

env/bin/python -W ignore null.py 2> /dev/null | grep '^[ANT][a-z]*, \|^  cancelled\|^  asked' > seen.txt
cat > described.txt <<'TEXT'
Ann, optional
  cancelled: the bookings of Ann
  asked with: {"guest": "Ann"}, cancelled
Null, optional
  cancelled: the bookings of all guests
  asked with: {"guest": "Null"}, cancelled
True, optional
  asked with: {"guest": "True"}, 1 validation error for cancel_any guest Input should be a valid string
Ann, required
  cancelled: the bookings of Ann
  asked with: {"guest": "Ann"}, cancelled
Null, required
  asked with: {"guest": "Null"}, 1 validation error for cancel_given guest Input should be a valid string
True, required
  asked with: {"guest": "True"}, 1 validation error for cancel_given guest Input should be a valid string
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
