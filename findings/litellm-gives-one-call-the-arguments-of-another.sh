#!/usr/bin/env bash
# litellm 1.110.2: as Anthropic's API over a Chat Completions model, it gives one call the arguments of another.
#
# A model calls `refund` with {"amount": 125} and `pay` without arguments, in one answer. Each piece names its call by `index`,
# as Chat Completions has it: each call is whole before the next begins (`one by one`), both begin before the arguments of the
# first come (`both first`), or both have arguments, whose pieces come by turns (`by turns`). The stream is read by
# `litellm.anthropic_messages`, as by a proxy in front of Claude's clients, and by the helper of OpenAI's SDK.
# Expected: both readers have the same calls.
# Seen: with `both first` litellm has `refund` without arguments and `pay` of 125, two whole calls that nobody has made. With
# `by turns` the second has the pieces of both. A block of Anthropic's stream is open until the next begins, and what
# comes later for the first call goes into the one that is open, whatever its index.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check litellm==1.110.2 openai==2.54.0

cat > calls.py <<'PY'
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import litellm
import openai

REFUND, PAY = 0, 1


def chunk(reason=None, **delta):
    choices = [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}


def begin(index):
    function = {"name": ("refund", "pay")[index], "arguments": ""}
    return chunk(tool_calls=[{"index": index, "id": f"c{index}", "type": "function", "function": function}])


def more(index, arguments):
    return chunk(tool_calls=[{"index": index, "function": {"arguments": arguments}}])


STREAMS = {
    "one by one": [begin(REFUND), more(REFUND, '{"amount": 125}'), begin(PAY)],
    "both first": [begin(REFUND), begin(PAY), more(REFUND, '{"amount": 125}')],
    "by turns": [
        begin(REFUND), begin(PAY), more(REFUND, '{"amount": '), more(PAY, '{"amount": '), more(REFUND, "125}"), more(PAY, "7}"),
    ],
}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        chunks = STREAMS[json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]]
        events = [*chunks, chunk("tool_calls")]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def show(reader, calls):
    print(f"  {reader}: {', '.join(f'{name}({arguments})' for name, arguments in calls)}")


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    asked = [{"role": "user", "content": "Refund 125, and pay what is due."}]
    for name in STREAMS:
        print(f"{name}:")
        client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
        with client.chat.completions.stream(model=name, messages=asked) as stream:
            made = stream.get_final_completion().choices[0].message.tool_calls
        show("openai ", [(call.function.name, call.function.arguments) for call in made])
        schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
        calls = {}
        answer = await litellm.anthropic_messages(
            model=f"hosted_vllm/{name}", api_base=url, api_key="none", max_tokens=100, stream=True, messages=asked,
            tools=[{"name": tool, "description": tool, "input_schema": schema} for tool in ("refund", "pay")],
        )
        async for piece in answer:
            for line in piece.decode().splitlines():
                event = json.loads(line[5:]) if line.startswith("data:") else {}
                if event.get("type") == "content_block_start":
                    calls[event["index"]] = (event["content_block"]["name"], "")
                if event.get("type") == "content_block_delta":
                    called, arguments = calls[event["index"]]
                    calls[event["index"]] = (called, arguments + event["delta"]["partial_json"])
        show("litellm", calls.values())


asyncio.run(main())
PY

LITELLM_LOCAL_MODEL_COST_MAP=True env/bin/python -W ignore calls.py 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
one by one:
  openai : refund({"amount": 125}), pay()
  litellm: refund({"amount": 125}), pay()
both first:
  openai : refund({"amount": 125}), pay()
  litellm: refund(), pay({"amount": 125})
by turns:
  openai : refund({"amount": 125}), pay({"amount": 7})
  litellm: refund(), pay({"amount": {"amount": 125}7})
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
