#!/usr/bin/env bash
# llama-index-core 0.14.25 (workflows 2.26.1): the question after `cancel_run()` runs the tool that the user had stopped.
#
# A FunctionAgent calls `pay`. While `pay` works, the user stops the run: `await handler.cancel_run()`. Then the user asks
# something else with the same Context, as the documentation has it for a chat of several turns.
# Expected: `pay` stays stopped; the model is asked the new question.
# Seen: the new run first goes on with the cancelled one: `pay` is started again and pays. The model is then asked twice
# with the same messages, in which the user's question stands before the call and its result.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check llama-index-core==0.14.25 llama-index-llms-openai==0.8.3 \
  llama-index-workflows==2.26.1

cat > cancel.py <<'PY'
import asyncio
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.workflow import Context
from llama_index.llms.openai import OpenAI
from workflows.errors import WorkflowCancelledByUser

asked = []


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


class Model(BaseHTTPRequestHandler):
    """Calls `pay` once, then answers with one word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
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


async def main(url):
    starts, may_end, started = [], asyncio.Event(), asyncio.Event()

    async def pay() -> str:
        """Pay."""
        starts.append("pay")
        started.set()
        await may_end.wait()
        print(f"paid, in start {len(starts)}")
        return "paid"

    model = OpenAI(model="gpt-4o", api_base=url, api_key="none", max_retries=0)
    agent = FunctionAgent(tools=[pay], llm=model)
    memory, context = ChatMemoryBuffer.from_defaults(), Context(agent)
    handler = agent.run("Pay.", ctx=context, memory=memory)
    await started.wait()
    await handler.cancel_run()
    with contextlib.suppress(WorkflowCancelledByUser):
        await handler
    print("stopped")
    may_end.set()
    print(f"answer: {await agent.run('What did you do?', ctx=context, memory=memory)}")
    for messages in asked[1:]:
        print("; ".join(m["content"] or "call of pay" for m in messages))


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main(f"http://127.0.0.1:{server.server_port}/v1"))
PY

env/bin/python -W ignore cancel.py > seen.txt
cat > described.txt <<'TEXT'
stopped
paid, in start 2
answer: Well.
Pay.; What did you do?; call of pay; paid
Pay.; What did you do?; call of pay; paid
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
