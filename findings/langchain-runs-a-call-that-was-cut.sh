#!/usr/bin/env bash
# LangChain (Python langchain 1.4.7 with langchain-openai 1.7.3; npm langchain 1.5.14 with @langchain/openai 1.5.8):
# an agent runs a tool whose arguments were still being sent when the model's answer ended.
#
# The model streams a call of `pay` over Chat Completions. It means {"to": "Ann", "amount": 125}; its answer ends after
# `{"to": "Ann", "amount": 12`, once at its token limit (finish_reason "length"), once because its server dies (neither a
# finish_reason nor [DONE]).
# Expected: the call is invalid, or the request fails; nothing is paid.
# Seen: both packages close the half JSON, validate it and run the tool: Ann gets 12. Nothing is raised, and the model
# is told that it asked for this.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check langchain==1.4.7 langchain-core==1.7.2 langchain-openai==1.7.3 \
  langgraph==1.2.22 openai==3.52.0
npm init -y > /dev/null
npm install --silent --no-audit --no-fund langchain@1.5.14 @langchain/core@1.4.0 @langchain/openai@1.5.8 zod@4.6.7

cat > model.py <<'PY'
"""A model over Chat Completions: its first answer breaks off in the arguments of a call, its second is whole."""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def chunk(delta, finish_reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o", "choices": [choice]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Model.asked += 1
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "pay", "arguments": ""}}
        rest = {"index": 0, "function": {"arguments": '{"to": "Ann", "amount": 12'}}
        chunks = [chunk({"role": "assistant", "tool_calls": [call]}), chunk({"tool_calls": [rest]})]
        whole = Model.asked > 1 or sys.argv[1] == "length"
        if Model.asked > 1:
            chunks = [chunk({"role": "assistant", "content": "Paid."}), chunk({}, "stop")]
        elif whole:
            chunks.append(chunk({}, "length"))
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n\n" * whole
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
PY

cat > agent.py <<'PY'
import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    print(f"Python paid {amount} to {to} ({sys.argv[1]})")
    return "paid"


model = ChatOpenAI(model="gpt-4o", base_url=f"http://127.0.0.1:{sys.argv[2]}/v1", api_key="none", max_retries=0)
question = {"messages": [("user", "Pay 125 to Ann.")]}
for _ in create_agent(model, [pay]).stream(question, stream_mode="messages"):
    pass
PY

cat > agent.mjs <<'JS'
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const configuration = { baseURL: `http://127.0.0.1:${process.argv[3]}/v1` };
const model = new ChatOpenAI({ model: "gpt-4o", apiKey: "none", configuration, maxRetries: 0, streaming: true });
const pay = tool(({ to, amount }) => {
  console.log(`JavaScript paid ${amount} to ${to} (${process.argv[2]})`);
  return "paid";
}, { name: "pay", description: "Pay somebody.", schema: z.object({ to: z.string(), amount: z.number() }) });
const question = { messages: [{ role: "user", content: "Pay 125 to Ann." }] };
for await (const _ of await createAgent({ model, tools: [pay] }).stream(question, { streamMode: "messages" }));
JS

with_model() {  # ENDING COMMAND…: with the ending and the port of a fresh model as its last arguments
  local ending=$1 port
  shift
  coproc MODEL { exec env/bin/python model.py "$ending"; }
  local process=$MODEL_PID
  read -r port <&"${MODEL[0]}"
  "$@" "$ending" "$port"
  kill "$process"
  wait "$process" 2> /dev/null || true
}
for ending in length torn; do
  with_model "$ending" env/bin/python -W ignore agent.py
  with_model "$ending" node agent.mjs
done > seen.txt
cat > described.txt <<'TEXT'
Python paid 12 to Ann (length)
JavaScript paid 12 to Ann (length)
Python paid 12 to Ann (torn)
JavaScript paid 12 to Ann (torn)
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
