#!/usr/bin/env bash
# langchain-anthropic 1.7.7, pydantic-ai-slim 2.68.0: a tool that fails without words locks its chat with Claude.
#
# A tool has failed and says nothing: an exception without a text, as TimeoutError() and CancelledError() are, or a command
# that has printed nothing. Stored is a ToolMessage with `status="error"` and no content, or a ToolReturnPart
# with `outcome="failed"` and none. Then the user asks.
# Expected: the request says something for it ("failed"), or leaves `is_error` out.
# Seen: both send an error without content. The API is reported to refuse that (of the first, "tool_result: content cannot be
# empty if `is_error` is true"; of the second, "text content blocks must be non-empty"), and since the result stays in the
# history, it refuses each later question of the chat as well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langchain-anthropic==1.7.7 langchain-core==1.8.3 \
  pydantic-ai-slim==2.68.0 anthropic==2.14.0

cat > ask.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

ANSWER = {
    "id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "Well."}], "usage": {"input_tokens": 1, "output_tokens": 1},
}
STREAMED = [
    {"type": "message_start", "message": {**ANSWER, "stop_reason": None, "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


class Model(BaseHTTPRequestHandler):
    """Prints the result that it is given, and says "Well."."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        contents = [message["content"] for message in request["messages"]]
        blocks = [block for content in contents if isinstance(content, list) for block in content]
        (result,) = (block for block in blocks if block["type"] == "tool_result")
        print(f"  content {json.dumps(result['content'])}, is_error {json.dumps(result.get('is_error'))}", flush=True)
        events = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in STREAMED)
        body = (events if request.get("stream") else json.dumps(ANSWER)).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if request.get("stream") else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    for text in ("no answer from the bank", ""):
        print(f"langchain-anthropic, {text!r}", flush=True)
        call = AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "c1"}])
        result = ToolMessage(text, tool_call_id="c1", status="error")
        model = ChatAnthropic(model="claude-sonnet-4-5", api_key="none", base_url=url, max_retries=0)
        await model.ainvoke([HumanMessage("Pay."), call, result, HumanMessage("Why not?")])
        print(f"pydantic-ai, {text!r}", flush=True)
        history = [
            ModelRequest(parts=[UserPromptPart("Pay.")]),
            ModelResponse(parts=[ToolCallPart("pay", "{}", tool_call_id="c1")]),
            ModelRequest(parts=[ToolReturnPart("pay", text, tool_call_id="c1", outcome="failed")]),
        ]
        claude = AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(api_key="none", base_url=url))
        await Agent(claude).run("Why not?", message_history=history)


asyncio.run(main())
PY

env/bin/python -W ignore ask.py > seen.txt
cat > described.txt <<'TEXT'
langchain-anthropic, 'no answer from the bank'
  content "no answer from the bank", is_error true
pydantic-ai, 'no answer from the bank'
  content [{"text": "no answer from the bank", "type": "text"}], is_error true
langchain-anthropic, ''
  content "", is_error true
pydantic-ai, ''
  content [{"text": "", "type": "text"}], is_error true
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
