#!/usr/bin/env bash
# @ag-ui/client 1.0.0: a call whose arguments were cut reaches `onToolCallEndEvent` with `{}` for arguments.
#
# AG-UI 1.0 (lifecycle) obliges the server to close what is open before it ends a cancelled run, half arguments
# included, and says of the client that arguments which do not parse are for the application to decide about.
# Expected: the subscriber gets the text `{"amount": 12`, or something that says "not whole".
# Seen: `toolCallArgs` is `{}`, the same as for a call that has no arguments. A page that runs its tool in this callback
# runs it without arguments, in a run that its user has just stopped. `messages` has the half text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @ag-ui/client@1.0.0

cat > cut.mjs <<'JS'
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";

for (const args of ['{"amount": 12', "{}", '{"amount": 125}']) {
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const { threadId, runId } = JSON.parse(body);
    const events = [
      { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" },
      { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "pay" },
      { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: args },
      { type: "TOOL_CALL_END", toolCallId: "c1" },
      { type: "RUN_FINISHED", threadId, runId, outcome: { type: "cancelled" } },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/` });
  await agent.runAgent({}, {
    onToolCallEndEvent: ({ toolCallName, toolCallArgs }) => {
      console.log(`sent ${args}: ${toolCallName}(${JSON.stringify(toolCallArgs)})`);
    },
  });
  console.log(`  stored: ${agent.messages.at(-1).toolCalls[0].function.arguments}`);
  server.close();
}
process.exit(0);
JS

node cut.mjs > seen.txt
cat > described.txt <<'TEXT'
sent {"amount": 12: pay({})
  stored: {"amount": 12
sent {}: pay({})
  stored: {}
sent {"amount": 125}: pay({"amount":125})
  stored: {"amount": 125}
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
