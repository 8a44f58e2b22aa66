#!/usr/bin/env bash
# langroid 0.69.16: a call whose arguments were cut is carried out with what had come, and the model reads that it asked for that.
#
# The model calls `pay` with {"amount": 1200} over Chat Completions. In `limit` its token limit ends the arguments behind the
# 12 (finish_reason "length"); in `torn` the stream ends there, in regular HTTP, without a finish reason.
# Expected: the tool does not run, and the model is told that its call was not whole.
# Seen: 12 are paid in both, streamed or not (`torn` is streamed alone). The next request holds the amount 12 as what the
# model had asked for, with the result "paid". That the answer ended at the limit stands in its metadata, and nothing looks there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langroid==0.69.16 openai==3.57.0 tiktoken==0.14.0

cat > pays.py <<'PY'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tiktoken

# langroid fetches a vocabulary when it is imported; how it counts tokens does not matter here.
BYTES = tiktoken.Encoding("bytes", pat_str=r"[\s\S]", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={})
tiktoken.get_encoding = tiktoken.encoding_for_model = lambda name: BYTES

import langroid as lr  # noqa: E402
from langroid.language_models import OpenAIGPTConfig  # noqa: E402
from langroid.utils.configuration import settings  # noqa: E402

ENDS = {"whole": ('{"amount": 1200}', "tool_calls"), "limit": ('{"amount": 12', "length"), "torn": ('{"amount": 12', None)}
asked, paid = [], []


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    end = ""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(request["messages"])
        message, reason = {"role": "assistant", "content": "Well."}, "stop"
        if len(asked) == 1:
            arguments, reason = ENDS[self.end]
            function = {"name": "pay", "arguments": arguments}
            call = {"index": 0, "id": "c1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        head = {"id": "x", "created": 1, "model": "gpt-4o"}
        if request.get("stream"):
            kind, choices = "text/event-stream", [{"index": 0, "delta": message, "finish_reason": None}]
            if reason is not None:
                choices.append({"index": 0, "delta": {}, "finish_reason": reason})
            chunks = [{**head, "object": "chat.completion.chunk", "choices": [one]} for one in choices]
            body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + ("data: [DONE]\n\n" if reason else "")
        else:
            kind, choice = "application/json", {"index": 0, "message": message, "finish_reason": reason}
            body = json.dumps({**head, "object": "chat.completion", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


class Pay(lr.ToolMessage):
    request: str = "pay"
    purpose: str = "To pay an <amount>"
    amount: int

    def handle(self):
        paid.append(self.amount)
        return "paid"


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
settings.cache, settings.quiet = False, True
lines = []
for stream in (False, True):
    for Model.end in ENDS if stream else ("whole", "limit"):
        asked.clear()
        paid.clear()
        model = OpenAIGPTConfig(
            chat_model="gpt-4o", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", stream=stream
        )
        agent = lr.ChatAgent(lr.ChatAgentConfig(llm=model, use_functions_api=True, use_tools_api=True))
        agent.enable_message(Pay)
        answer = agent.llm_response("Pay 1200.")
        result = agent.agent_response(answer)
        agent.llm_response(result)
        called = next(one for one in asked[-1] if one.get("tool_calls"))["tool_calls"][0]["function"]["arguments"]
        lines.append(f"{'streamed' if stream else 'not streamed'}, {Model.end}: paid {paid}; "
                     f"then asked with {called} and {asked[-1][-1]['content']!r}")
with open("seen.txt", "w") as seen:  # what langroid prints goes elsewhere
    seen.write("\n".join(lines) + "\n")
PY

env/bin/python -W ignore pays.py > output.txt 2>&1 || { tail -20 output.txt >&2; exit 1; }
cat > described.txt <<'TEXT'
not streamed, whole: paid [1200]; then asked with {"amount": 1200, "request": "pay"} and 'paid'
not streamed, limit: paid [12]; then asked with {"amount": 12, "request": "pay"} and 'paid'
streamed, whole: paid [1200]; then asked with {"amount": 1200, "request": "pay"} and 'paid'
streamed, limit: paid [12]; then asked with {"amount": 12, "request": "pay"} and 'paid'
streamed, torn: paid [12]; then asked with {"amount": 12, "request": "pay"} and 'paid'
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
