#!/usr/bin/env bash
# boto3 1.44.8 (PyPI) beside @aws-sdk/client-bedrock-runtime 3.1164.0 (npm): ConverseStream ends in the middle of an event.
#
# Events of Bedrock's ConverseStream are binary: a length, its check sum, headers, a body, a check sum of all. The response is
# as long as its headers say. It ends once between two events of an answer, before `messageStop`, and once 20 bytes into
# the third event, as when what stands in front of the model dies and a proxy closes the response in order.
# Expected: an error where an event is half, since its length says so; between two events nobody can tell from the bytes.
# Seen: boto3 drops the half event and its iterator ends as after a whole answer; no check sum is looked at. The SDK for
# JavaScript raises "Truncated event message received.". Neither says that an answer without `messageStop` is not whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check boto3==1.44.8 botocore==1.44.8 2> /dev/null
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @aws-sdk/client-bedrock-runtime@3.1164.0 @smithy/node-http-handler@4.14.2

cat > server.py <<'PY'
"""ConverseStream for any model: two events, and the beginning of a third one for the model `inside`."""
import binascii
import json
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def event(name, body):
    headers = b""
    for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(body).encode()
    head = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = head + struct.pack(">I", binascii.crc32(head)) + headers + body
    return message + struct.pack(">I", binascii.crc32(message))


def text(words):
    return event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": words}})


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        half = text("5 to Ann.")[:20] if "inside" in self.path else b""
        body = event("messageStart", {"role": "assistant"}) + text("I shall pay 12") + half
        self.send_response(200)
        self.send_header("content-type", "application/vnd.amazon.eventstream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
PY

cat > ask.py <<'PY'
import sys

import boto3
from botocore.config import Config

client = boto3.client(
    "bedrock-runtime", region_name="us-east-1", endpoint_url=f"http://127.0.0.1:{sys.argv[1]}",
    aws_access_key_id="none", aws_secret_access_key="none", config=Config(retries={"total_max_attempts": 1}),
)
for model in ("between", "inside"):
    seen = []
    try:
        for event in client.converse_stream(modelId=model, messages=[{"role": "user", "content": [{"text": "Pay."}]}])["stream"]:
            seen += event
        print(f"boto3, {model}: {' '.join(seen)}; ended")
    except Exception as error:
        print(f"boto3, {model}: {' '.join(seen)}; {error}")
PY

cat > ask.mjs <<'JS'
import { BedrockRuntimeClient, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { NodeHttpHandler } from "@smithy/node-http-handler";

const client = new BedrockRuntimeClient({
  region: "us-east-1", endpoint: `http://127.0.0.1:${process.argv[2]}`, maxAttempts: 1, requestHandler: new NodeHttpHandler(),
  credentials: { accessKeyId: "none", secretAccessKey: "none" },
});
for (const modelId of ["between", "inside"]) {
  const seen = [];
  try {
    const messages = [{ role: "user", content: [{ text: "Pay." }] }];
    const { stream } = await client.send(new ConverseStreamCommand({ modelId, messages }));
    for await (const event of stream) seen.push(...Object.keys(event));
    console.log(`client-bedrock-runtime, ${modelId}: ${seen.join(" ")}; ended`);
  } catch (error) {
    console.log(`client-bedrock-runtime, ${modelId}: ${seen.join(" ")}; ${error.message}`);
  }
}
process.exit(0);
JS

coproc SERVER { exec env/bin/python server.py; }
read -r port <&"${SERVER[0]}"
{ env/bin/python ask.py "$port"; node --no-warnings ask.mjs "$port"; } > seen.txt
kill "$SERVER_PID"
cat > described.txt <<'TEXT'
boto3, between: messageStart contentBlockDelta; ended
boto3, inside: messageStart contentBlockDelta; ended
client-bedrock-runtime, between: messageStart contentBlockDelta; ended
client-bedrock-runtime, inside: messageStart contentBlockDelta; Truncated event message received.
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
