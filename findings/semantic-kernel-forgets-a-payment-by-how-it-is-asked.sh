#!/usr/bin/env bash
# semantic-kernel 1.45.0 (Python): `invoke` forgets what a finished tool has done if the next step fails or is stopped.
#
# An agent's model calls `pay`, which pays, and reads the result. Then the model's next answer is an error (`fails`), or it
# calls `book` and the user stops while that runs (`stopped`). The same thread is asked "Done?", once after `invoke` and once
# after `invoke_stream`.
# Expected: both ways the model is told of the payment, which was made, and of which it had read the result.
# Seen: after `invoke_stream` it is. After `invoke` the thread holds the user's two messages and nothing else: the messages
# of finished steps are added to it only when the whole answer is there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
# The others are pinned for pip alone, which looks for them for minutes.
env/bin/pip install --quiet --disable-pip-version-check semantic-kernel==1.45.0 openai==3.57.0 azure-ai-agents==1.2.0b6 \
  azure-ai-projects==2.4.0 mcp==1.30.0 openapi-core==0.19.5 jsonschema-path==0.3.4 referencing==0.36.2

cat > forgets.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

asked, paid = [], []


def answer_to(last, end):
    """Return the message of the model, None for an error."""
    if last["role"] == "user":
        name, arguments = ("bank-pay", '{"amount": 12}') if "Pay" in json.dumps(last["content"]) else ("", "")
    elif last["tool_call_id"] == "id-bank-pay":
        if end == "fails":
            return None
        name, arguments = "bank-book", "{}"
    else:
        name, arguments = "", ""
    message = {"role": "assistant", "content": None if name else "Well."}
    if name:
        function = {"name": name, "arguments": arguments}
        message["tool_calls"] = [{"index": 0, "id": f"id-{name}", "type": "function", "function": function}]
    return message


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    end = ""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(request["messages"])
        message = answer_to(asked[-1][-1], self.end)
        head = {"id": "x", "created": 1, "model": "gpt-4o"}
        kind = "application/json"
        if message is None:
            body = json.dumps({"error": {"message": "bad", "type": "invalid_request_error"}})
        else:
            reason = "tool_calls" if "tool_calls" in message else "stop"
            if request.get("stream"):
                kind = "text/event-stream"
                choices = [{"index": 0, "delta": message, "finish_reason": None}]
                choices.append({"index": 0, "delta": {}, "finish_reason": reason})
                chunks = [{**head, "object": "chat.completion.chunk", "choices": [one]} for one in choices]
                body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n"
            else:
                choice = {"index": 0, "message": message, "finish_reason": reason}
                body = json.dumps({**head, "object": "chat.completion", "choices": [choice]})
        self.send_response(400 if message is None else 200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


class bank:
    def __init__(self):
        self.running = asyncio.Event()

    @kernel_function(name="pay", description="Pay.")
    async def pay(self, amount: int) -> str:
        paid.append(amount)
        return "paid"

    @kernel_function(name="book", description="Book.")
    async def book(self) -> str:
        self.running.set()
        await asyncio.Event().wait()
        return "booked"


def shape(message):
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())]
    return f"{message['role']} {', '.join(calls) or json.dumps(message['content'])}"


async def turn(agent, way, thread, text):
    async for _ in getattr(agent, way)(messages=text, thread=thread):
        pass


async def play(url, way, end):
    asked.clear()
    paid.clear()
    Model.end = end
    service = OpenAIChatCompletion(
        ai_model_id="gpt-4o", async_client=AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    )
    tools = bank()
    agent = ChatCompletionAgent(service=service, name="a", plugins=[tools])
    thread = ChatHistoryAgentThread()
    work = asyncio.create_task(turn(agent, way, thread, "Pay 12."))
    if end == "stopped":
        await asyncio.wait_for(tools.running.wait(), 60)
        work.cancel()
    (raised,) = await asyncio.gather(work, return_exceptions=True)
    await turn(agent, way, thread, "Done?")
    print(f"{way}, {end} ({type(raised).__name__}): paid {paid}")
    print(f"  asked: {'; '.join(map(shape, asked[-1]))}")


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for way in ("invoke", "invoke_stream"):
        for end in ("fails", "stopped"):
            await play(f"http://127.0.0.1:{server.server_port}/v1", way, end)


asyncio.run(main())
PY

env/bin/python -W ignore forgets.py 2> errors.txt > seen.txt || { tail -20 errors.txt >&2; exit 1; }
cat > described.txt <<'TEXT'
invoke, fails (ServiceResponseException): paid [12]
  asked: user "Pay 12."; user "Done?"
invoke, stopped (CancelledError): paid [12]
  asked: user "Pay 12."; user "Done?"
invoke_stream, fails (ServiceResponseException): paid [12]
  asked: user "Pay 12."; assistant bank-pay({"amount": 12}); tool "paid"; user "Done?"
invoke_stream, stopped (CancelledError): paid [12]
  asked: user "Pay 12."; assistant bank-pay({"amount": 12}); tool "paid"; user "Done?"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
