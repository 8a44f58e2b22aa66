#!/usr/bin/env bash
# ag-ui-langgraph 0.0.47: a call whose first chunk has its arguments reaches the page without arguments.
#
# An agent of LangGraph is served over AG-UI. Its model streams a call of `pay` over Chat Completions, once with the name first
# and the arguments after it (`apart`), once with the whole call in one chunk, as servers send it that parse a call
# before they send it (`together`), and once two whole calls in one chunk (`two`).
# Expected: TOOL_CALL_START, TOOL_CALL_ARGS with the arguments, TOOL_CALL_END, for each call, before its result.
# Seen: with `together` no TOOL_CALL_ARGS comes: the page shows a payment without an amount, and its own tool would be run
# without arguments; so stands the call in what the page keeps if it stops now, since only the MESSAGES_SNAPSHOT at the
# end of the run has them. With `two` the second call begins after both tools have run: a page that asks its user
# before it pays is too late.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ag-ui-langgraph==0.0.47 ag-ui-protocol==1.0.0 langchain==1.5.2 \
  langchain-core==1.8.3 langchain-openai==1.7.3 langgraph==1.2.24 openai==3.57.0 fastapi==0.165.0

cat > call.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ag_ui.core import RunAgentInput
from ag_ui_langgraph import LangGraphAgent
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver


def piece(index, arguments, name=None):
    call = {"index": index, "function": {"arguments": arguments}}
    return call | {"id": f"c{index}", "type": "function", "function": {"name": name, **call["function"]}} if name else call


pay, book = '{"amount": 125}', '{"city": "Oslo"}'
CALLS = {
    "apart": [[piece(0, "", "pay")], [piece(0, pay)]],
    "together": [[piece(0, pay, "pay")]],
    "two": [[piece(0, pay, "pay"), piece(1, book, "book")]],
}


class Model(BaseHTTPRequestHandler):
    """Streams the calls that its question names, and "Done." after their results."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        last = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"][-1]
        deltas = [{"tool_calls": calls} for calls in CALLS.get(last["content"], ())] or [{"content": "Done."}]
        ends = [*((delta, None) for delta in deltas), ({}, "tool_calls" if last["content"] in CALLS else "stop")]
        body = "".join(
            "data: " + json.dumps({
                "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o",
                "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}],
            }) + "\n\n" for delta, reason in ends
        ) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


def tool_of(name):
    async def tool(amount: int = 0, city: str = "") -> str:
        """Do something."""
        print(f"  {name} runs")
        return "done"

    tool.__name__ = name
    return tool


async def main(url):
    for name in CALLS:
        print(name)
        model = ChatOpenAI(model="gpt-4o", base_url=url, api_key="none", max_retries=0, streaming=True)
        graph = create_agent(model, [tool_of("pay"), tool_of("book")], checkpointer=InMemorySaver())
        posted = {
            "threadId": "t", "runId": "r", "state": {}, "tools": [], "context": [], "forwardedProps": {},
            "messages": [{"id": "u", "role": "user", "content": name}],
        }
        async for event in LangGraphAgent(name="a", graph=graph).run(RunAgentInput.model_validate(posted)):
            if event.type in ("TOOL_CALL_START", "TOOL_CALL_ARGS"):
                print(f"  {event.type.value} {event.tool_call_id} {getattr(event, 'delta', '')}".rstrip())


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
asyncio.run(main(f"http://127.0.0.1:{server.server_port}"))
PY

env/bin/python -W ignore call.py > seen.txt
cat > described.txt <<'TEXT'
apart
  TOOL_CALL_START c0
  TOOL_CALL_ARGS c0 {"amount": 125}
  pay runs
together
  TOOL_CALL_START c0
  pay runs
two
  TOOL_CALL_START c0
  pay runs
  book runs
  TOOL_CALL_START c1
  TOOL_CALL_ARGS c1 {"city": "Oslo"}
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
