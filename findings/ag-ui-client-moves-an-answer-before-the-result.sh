#!/usr/bin/env bash
# @ag-ui/client 1.0.0: a message that goes on after a tool's result is stored before it.
#
# AG-UI 1.0 (text messages, tool calls) lets a server open a text message again, and lets a later call name an earlier
# message as its parent. The server here says "Booking.", calls a tool, sends its result, and goes on in the same message:
# "Booked: 17." and one more call.
# Expected: what was said after the result stands after it, so that the next request to the model has the order in which
# things happened.
# Seen: the text and the second call join the message before the result. The next run is given
# text "Booking. Booked: 17." with both calls, and then the results: the model reads that it knew the number before the
# tool was called, and called both tools at once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @ag-ui/client@1.0.0

cat > order.mjs <<'JS'
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";

const text = (delta) => [
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
];
const cycle = (toolCallId, toolCallName, content) => [
  { type: "TOOL_CALL_START", toolCallId, toolCallName, parentMessageId: "m1" },
  { type: "TOOL_CALL_ARGS", toolCallId, delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId },
  { type: "TOOL_CALL_RESULT", messageId: `result-of-${toolCallId}`, toolCallId, content },
];
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const { threadId, runId } = JSON.parse(body);
  const events = [
    { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" },
    ...text("Booking."), ...cycle("c1", "book", "17"), ...text(" Booked: 17."), ...cycle("c2", "mail", "sent"),
    { type: "RUN_FINISHED", threadId, runId },
  ];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/` });
await agent.runAgent({});
for (const { role, content, toolCalls = [] } of agent.messages) {
  console.log([role, JSON.stringify(content), ...toolCalls.map((call) => `${call.function.name}()`)].join(" "));
}
process.exit(0);
JS

node order.mjs > seen.txt
cat > described.txt <<'TEXT'
assistant "Booking. Booked: 17." book() mail()
tool "17"
tool "sent"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
