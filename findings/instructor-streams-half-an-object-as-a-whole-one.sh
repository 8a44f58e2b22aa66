#!/usr/bin/env bash
# instructor 1.17.0 (Python) with openai 3.3.0: streamed, an answer that was cut is an object of the asked class.
#
# A Transfer of `to` and `amount`, both required, is asked for. The model means {"to": "Ann", "amount": 125}; its answer
# comes to its token limit (finish_reason "length") after `{"to": "Ann", "amount": 12` (`late`), or before its amount
# (`early`). The same with an iterable of two transfers, cut in the second.
# Expected: each raises IncompleteOutputException in the end, as the same answer does without a stream.
# Seen: `create_partial` ends without an error, and its last object is an instance of Transfer: of 12, or with None for a
# required integer, which Transfer itself refuses. `create_iterable` gives the first transfer and ends like a whole list.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check instructor==1.17.0 openai==3.3.0 pydantic==2.14.4

cat > partial.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import instructor
import openai
from instructor.core.exceptions import IncompleteOutputException
from pydantic import BaseModel, ValidationError


class Transfer(BaseModel):
    to: str
    amount: int


class Model(BaseHTTPRequestHandler):
    """Answers with a call that was cut at the limit, as a stream or whole."""

    protocol_version = "HTTP/1.1"
    arguments = ""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = asked["tools"][0]["function"]["name"]
        function = {"name": name, "arguments": self.arguments}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"index": 0, "id": "c1", "type": "function", "function": function}]
        common = {"id": "x", "created": 1, "model": "m"}
        if asked.get("stream"):
            deltas = ((message, None), ({}, "length"))
            chunks = [
                {**common, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": d, "finish_reason": r}]}
                for d, r in deltas
            ]
            body, kind = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n", "text/event-stream"
        else:
            choices = [{"index": 0, "message": message, "finish_reason": "length"}]
            body, kind = json.dumps({**common, "object": "chat.completion", "choices": choices}), "application/json"
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
client = instructor.from_openai(openai.OpenAI(base_url=url, api_key="none", max_retries=0)).chat.completions
asks = {"model": "m", "messages": [{"role": "user", "content": "Pay 125 to Ann."}], "max_retries": 0}


def show(name, give):
    try:
        print(f"{name}: {give()}")
    except IncompleteOutputException as error:
        print(f"{name}: {type(error).__name__}")


def last():
    """Return the last partial object, and whether its own class takes its values."""
    one = list(client.create_partial(response_model=Transfer, **asks))[-1]
    kind = "a" if isinstance(one, Transfer) else "not a"
    try:
        Transfer.model_validate(one.model_dump())
    except ValidationError:
        return f"{kind} {one!r}, which Transfer refuses"
    return f"{kind} {one!r}"


for name, cut in (("late", '{"to": "Ann", "amount": 12'), ("early", '{"to": "Ann", "am')):
    Model.arguments = cut
    show(f"{name}, create", lambda: client.create(response_model=Transfer, **asks))
    show(f"{name}, create_partial", last)
Model.arguments = '{"tasks": [{"to": "Ann", "amount": 125}, {"to": "Bob", "amount": 1'
show("two, create_iterable", lambda: list(client.create_iterable(response_model=Transfer, **asks)))
PY

env/bin/python -W ignore partial.py > seen.txt
cat > described.txt <<'TEXT'
late, create: IncompleteOutputException
late, create_partial: a Transfer(to='Ann', amount=12)
early, create: IncompleteOutputException
early, create_partial: a Transfer(to='Ann', amount=None), which Transfer refuses
two, create_iterable: [Transfer(to='Ann', amount=125)]
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
