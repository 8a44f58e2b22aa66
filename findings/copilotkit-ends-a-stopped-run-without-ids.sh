#!/usr/bin/env bash
# @copilotkit/shared 1.75.0 with @ag-ui/client 1.0.0: the end that CopilotKit writes after Stop is refused by the client.
#
# The user stops a run in the middle of a call's arguments. `finalizeRunEvents` closes what is open and ends the run.
# Expected by AG-UI 1.0: RUN_FINISHED has threadId and runId, and says `outcome: {type: "cancelled"}`.
# Seen: RUN_FINISHED has neither, so the official client rejects the run as malformed. Before it the half arguments get a
# TOOL_CALL_END, and a made-up TOOL_CALL_RESULT answers a call that was never whole.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @copilotkit/shared@1.75.0 @ag-ui/client@1.0.0

cat > stop.mjs <<'JS'
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";
import { finalizeRunEvents } from "@copilotkit/shared";

const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const { threadId, runId } = JSON.parse(body);
  const events = [
    { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" },
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "pay" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"amount": 12' },
  ];
  for (const event of finalizeRunEvents([...events], { stopRequested: true })) {
    console.log(JSON.stringify(event));
    events.push(event);
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/` });
console.log(await agent.runAgent({}).then(() => "the client takes the run", () => "the client rejects the run"));
process.exit(0);
JS

node stop.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
{"type":"TOOL_CALL_END","toolCallId":"c1"}
{"type":"TOOL_CALL_RESULT","toolCallId":"c1","messageId":"c1-result","role":"tool","content":"{\"status\":\"stopped\",\"reason\":\"stop_requested\",\"message\":\"Run stopped by user\"}"}
{"type":"RUN_FINISHED"}
the client rejects the run
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
