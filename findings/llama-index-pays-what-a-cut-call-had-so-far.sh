#!/usr/bin/env bash
# llama-index-llms-openai 0.8.3 with llama-index-core 0.14.25: a call that was cut runs with the arguments it had so far.
#
# A FunctionAgent has `pay(amount: int, only_if: str = "")`. The model means {"amount": 125, "only_if": "the balance
# allows"}; its answer ends within the amount or the condition, at its token limit (`limit`) or as its server dies (`torn`).
# Expected: the call is answered with an error, or the run raises: the arguments are not JSON, and the answer did not end.
# Seen: the arguments are read by the parser that shows a half call on a page while it grows: it closes what is open and leaves
# out what it cannot read. `pay` runs with 12, with 125 and no condition, and without a number at all, as None, which is not
# an int. All six runs end with "Well." like one in which nothing was cut. The stored call has its half text, `{"amount": 12`,
# beside the result "paid": nothing in the history says with which arguments the tool has run.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check llama-index-core==0.14.25 llama-index-llms-openai==0.8.3 \
  llama-index-llms-openai-like==0.8.1 openai==2.54.0

cat > cut.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

CUTS = ('{"amount": ', '{"amount": 12', '{"amount": 125, "only_if": "the ba')
asked = []


def chunk(delta, finish_reason=None):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


class Model(BaseHTTPRequestHandler):
    """Streams a call of `pay` that is cut, and says "Well." when it is asked again."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(request["messages"])
        limit, cut = json.loads(request["user"])
        chunks, whole = [chunk({"role": "assistant", "content": "Well."}), chunk({}, "stop")], True
        if len(asked) == 1:
            call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": cut}}
            chunks = [chunk({"role": "assistant", "tool_calls": [call]}), *([chunk({}, "length")] if limit else [])]
            whole = limit
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + ("data: [DONE]\n\n" if whole else "")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def pay(amount: int, only_if: str = "") -> str:
    """Pay."""
    print(f"  paid {amount}, {only_if or 'without a condition'}")
    return "paid"


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for limit in (True, False):
        for cut in CUTS:
            print(f"{'limit' if limit else 'torn'}, {cut}")
            asked.clear()
            llm = OpenAILike(
                model="m", api_base=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0,
                is_chat_model=True, is_function_calling_model=True, additional_kwargs={"user": json.dumps([limit, cut])},
            )
            answer = await FunctionAgent(tools=[pay], llm=llm).run("Pay 125 if the balance allows it.")
            _, call, result = asked[-1]
            made = call["tool_calls"][0]["function"]["arguments"]
            print(f"  asked with the call {made} and the result {result['content']}; the run ends with {answer}")


asyncio.run(main())
PY

env/bin/python -W ignore cut.py > seen.txt
cat > described.txt <<'TEXT'
limit, {"amount": 
  paid None, without a condition
  asked with the call {"amount":  and the result paid; the run ends with Well.
limit, {"amount": 12
  paid 12, without a condition
  asked with the call {"amount": 12 and the result paid; the run ends with Well.
limit, {"amount": 125, "only_if": "the ba
  paid 125, without a condition
  asked with the call {"amount": 125, "only_if": "the ba and the result paid; the run ends with Well.
torn, {"amount": 
  paid None, without a condition
  asked with the call {"amount":  and the result paid; the run ends with Well.
torn, {"amount": 12
  paid 12, without a condition
  asked with the call {"amount": 12 and the result paid; the run ends with Well.
torn, {"amount": 125, "only_if": "the ba
  paid 125, without a condition
  asked with the call {"amount": 125, "only_if": "the ba and the result paid; the run ends with Well.
TEXT
sed -i 's/ $//' described.txt seen.txt
cat seen.txt
diff described.txt seen.txt && echo "as described"
