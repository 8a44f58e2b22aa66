#!/usr/bin/env bash
# autogen-agentchat 0.7.5: after a cancel while a tool runs, every further request of the agent is one that the API refuses.
#
# The model calls `pay` and `book` in one answer. `book` has returned, `pay` still works when the task that reads
# `run_stream` is cancelled. Then the user asks a question. Between them the state is saved and loaded, as by a web server.
# Expected: the calls have a result each, of `pay` that it was interrupted, or neither is in the context.
# Seen: the context keeps the calls without results, and so does the saved state. Chat Completions refuses such a request
# ("An assistant message with 'tool_calls' must be followed by tool messages"), now and with each later question. What
# `book` returned is lost.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check autogen-agentchat==0.7.5 "autogen-ext[openai]==0.7.5" openai==3.57.0

cat > cancel.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient

asked = []


class Model(BaseHTTPRequestHandler):
    """Calls both tools, then says one word; refuses what Chat Completions refuses."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(messages := json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"])
        calls = [
            {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("pay", "book")
        ]
        message, reason = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        if len(asked) > 1:
            message, reason = {"role": "assistant", "content": "Well."}, "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {
            "id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice], "usage": usage
        }
        called = {call["id"] for message in messages for call in message.get("tool_calls", ())}
        open_calls = called - {message.get("tool_call_id") for message in messages}
        if open_calls:
            answer = {"error": {"message": f"no tool message for {sorted(open_calls)}", "type": "invalid_request_error"}}
        body = json.dumps(answer).encode()
        self.send_response(400 if open_calls else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


async def main(url):
    pays, booked = asyncio.Event(), asyncio.Event()

    async def pay() -> str:
        """Pay."""
        pays.set()
        await asyncio.Event().wait()
        return "never"

    async def book() -> str:
        """Book."""
        print("book: has run")
        booked.set()
        return "booked 17"

    def new_agent():
        client = OpenAIChatCompletionClient(model="gpt-4o", base_url=url, api_key="none", max_retries=0)
        return AssistantAgent("agent", model_client=client, tools=[pay, book])

    agent = new_agent()

    async def read():
        async for _ in agent.run_stream(task="Pay and book."):
            pass

    task = asyncio.create_task(read())
    await asyncio.gather(pays.wait(), booked.wait())
    for _ in range(1000):  # whatever wants to run after `book` has returned
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    state = await agent.save_state()
    agent = new_agent()
    await agent.load_state(state)
    for question in ("Is it booked?", "Hello?"):
        try:
            await agent.run(task=question)
        except Exception as error:
            print(f"{question} {type(error).__name__}: {error.body['message']}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main(f"http://127.0.0.1:{server.server_port}/v1"))
PY

env/bin/python -W ignore cancel.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
book: has run
Is it booked? BadRequestError: no tool message for ['book', 'pay']
Hello? BadRequestError: no tool message for ['book', 'pay']
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
