#!/usr/bin/env bash
# @modelcontextprotocol/client 2.4.0 and @modelcontextprotocol/sdk 1.32.2 (npm) beside mcp 2.3.0 (Python): the stream of a
# tool call ends without the tool's answer, and the clients for JavaScript go on waiting.
#
# A server of MCP's Streamable HTTP (2025-06-18) answers `tools/call` with a stream of events: one log message, and then the
# response ends, in order, as a proxy ends it when the server behind it dies. No event has an id, so nothing can be resumed.
# Expected: the call fails at once, since no answer can come any more on this stream.
# Seen: the client for Python fails at once and says why. Both for JavaScript wait until the timeout of the request (60 s
# unless the caller says otherwise, here 4 s); `onerror` and `onclose` are not called, and the timeout is all that they say.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 mcp-types==2.3.0
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @modelcontextprotocol/client@2.4.0 @modelcontextprotocol/sdk@1.32.2

cat > server.py <<'PY'
"""A server of MCP whose tool never answers: the stream of its call ends after a log message."""
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERVER = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
TOOLS = {"tools": [{"name": "pay", "inputSchema": {"type": "object"}}]}


class Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(405, b"")

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if message["method"] == "tools/call":
            note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "paying"}}
            self.answer(200, b"data: " + json.dumps(note).encode() + b"\n\n", "text/event-stream")
        elif "id" not in message:
            self.answer(202, b"")
        else:
            known = {"initialize": SERVER, "tools/list": TOOLS}.get(message["method"])
            said = {"result": known} if known else {"error": {"code": -32601, "message": "Method not found"}}
            body = {"jsonrpc": "2.0", "id": message["id"], **said}
            self.answer(200, json.dumps(body).encode(), "application/json")

    def answer(self, status, body, kind="text/plain"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_port, flush=True)
server.serve_forever()
PY

cat > call.py <<'PY'
import asyncio
import sys
import time

from mcp.client.client import Client


async def main():
    async with Client(f"http://127.0.0.1:{sys.argv[1]}/mcp") as client:
        begun = time.monotonic()
        try:
            await client.call_tool("pay", {}, read_timeout_seconds=4)
        except Exception as error:
            waited = "its timeout" if time.monotonic() - begun > 3.5 else "nothing"
            print(f"mcp: waited for {waited}: {error}")


asyncio.run(main())
PY

cat > call.mjs <<'JS'
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const address = new URL(`http://127.0.0.1:${process.argv[2]}/mcp`);
const pay = { name: "pay", arguments: {} };
const ways = {
  "@modelcontextprotocol/client": [Client, StreamableHTTPClientTransport, (one) => one.callTool(pay, { timeout: 4000 })],
  "@modelcontextprotocol/sdk": [Client1, Transport1, (one) => one.callTool(pay, undefined, { timeout: 4000 })],
};
for (const [name, [Made, Transport, call]] of Object.entries(ways)) {
  const client = new Made({ name: "c", version: "1" });
  client.onerror = (error) => console.log(`${name}: onerror ${error.message}`);
  client.onclose = () => console.log(`${name}: onclose`);
  await client.connect(new Transport(address));
  const begun = performance.now();
  await call(client).catch((error) => {
    const waited = performance.now() - begun > 3500 ? "its timeout" : "nothing";
    console.log(`${name}: waited for ${waited}: ${error.message.replace(/^MCP error \S+ /, "")}`);
  });
}
process.exit(0);
JS

coproc SERVER { exec env/bin/python server.py; }
read -r port <&"${SERVER[0]}"
{ env/bin/python call.py "$port"; node call.mjs "$port"; } > seen.txt
kill "$SERVER_PID"
cat > described.txt <<'TEXT'
mcp: waited for nothing: SSE stream ended without a response
@modelcontextprotocol/client: waited for its timeout: Request timed out
@modelcontextprotocol/sdk: waited for its timeout: Request timed out
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
