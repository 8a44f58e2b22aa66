#!/usr/bin/env bash
# any-llm-sdk 1.40.2 (Python): a call without arguments that it has streamed from Claude cannot be sent back to Claude.
#
# Claude calls a tool that takes no arguments; streamed, such a call has an empty `partial_json` and nothing more. The chunks
# are joined as those of OpenAI are, and the call is sent with its result in the next request, to the same provider.
# Expected: the next request holds the call with the input {}.
# Seen: streamed, the arguments are "", and the next request raises JSONDecodeError before anything is sent, as does each
# later one with this history. Not streamed, the same call has the arguments "{}", and can be sent.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check 'any-llm-sdk[anthropic]==1.40.2' anthropic==0.125.0

cat > back.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import any_llm

asked = []
CALL = {"type": "tool_use", "id": "toolu_1", "name": "time", "input": {}}
TOOL = {"name": "time", "description": "The time.", "parameters": {"type": "object", "properties": {}}}


def message(content, reason):
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "c", "stop_sequence": None}
    return {**head, "content": content, "stop_reason": reason, "usage": usage}


class Claude(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(request["messages"])
        if len(asked) > 1:
            kind, body = "application/json", json.dumps(message([{"type": "text", "text": "Noon."}], "end_turn"))
        elif not request.get("stream"):
            kind, body = "application/json", json.dumps(message([CALL], "tool_use"))
        else:
            kind = "text/event-stream"
            delta = {"type": "input_json_delta", "partial_json": ""}
            end = {"stop_reason": "tool_use", "stop_sequence": None}
            events = [
                {"type": "message_start", "message": message([], None)},
                {"type": "content_block_start", "index": 0, "content_block": CALL},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
                {"type": "message_stop"},
            ]
            body = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Claude)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(messages, stream):
    return any_llm.completion(
        model="claude", provider="anthropic", api_key="none", api_base=f"http://127.0.0.1:{server.server_port}",
        messages=messages, tools=[{"type": "function", "function": TOOL}], max_tokens=100, stream=stream,
    )


user = {"role": "user", "content": "What time is it?"}
for stream in (False, True):
    asked.clear()
    answer = ask([user], stream)
    if stream:
        calls = [call for chunk in answer for choice in chunk.choices for call in choice.delta.tool_calls or ()]
        arguments = "".join(call.function.arguments or "" for call in calls)
        call_id = next(call.id for call in calls if call.id)
    else:
        (call,) = answer.choices[0].message.tool_calls
        arguments, call_id = call.function.arguments, call.id
    print(f"{'streamed' if stream else 'not streamed'}: arguments {arguments!r}")
    function = {"name": "time", "arguments": arguments}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]}
    try:
        ask([user, called, {"role": "tool", "tool_call_id": call_id, "content": "12:00"}], False)
        print(f"  the next request has {json.dumps(asked[1][1]['content'])}")
    except ValueError as error:
        print(f"  {type(error).__name__}: {error}; {len(asked)} request was sent")
PY

env/bin/python -W ignore back.py 2> errors.txt > seen.txt || { tail -20 errors.txt >&2; exit 1; }
cat > described.txt <<'TEXT'
not streamed: arguments '{}'
  the next request has [{"type": "tool_use", "id": "toolu_1", "name": "time", "input": {}}]
streamed: arguments ''
  JSONDecodeError: Expecting value: line 1 column 1 (char 0); 1 request was sent
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
