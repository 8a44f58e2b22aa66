#!/usr/bin/env bash
# @tanstack/ai 0.58.0 with @ag-ui/client 1.0.0: each run with a server's tool is refused by AG-UI's client.
#
# A route answers an AG-UI client with `chat()` and `toServerSentEventsResponse()`. The model calls `book`, a tool of the
# server, and says "Booked." when it has the result.
# Expected: one RUN_STARTED, the call, its result, the text, one RUN_FINISHED.
# Seen: RUN_FINISHED comes with the end of the model's first answer; the tool has run, and its result, the text
# and a second RUN_FINISHED follow. The client rejects the run at the result, and nothing of it is in `messages`: the next
# run does not know of the booking.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @tanstack/ai@0.58.0 @ag-ui/client@1.0.0 zod@4.6.7

cat > tool.mjs <<'JS'
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";
import { chat, toServerSentEventsResponse, toolDefinition } from "@tanstack/ai";
import { z } from "zod";

const common = { timestamp: 1, model: "m" };
const answers = [
  [
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "book", toolName: "book" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: "{}" },
    { type: "TOOL_CALL_END", toolCallId: "c1", toolCallName: "book", toolName: "book", input: {} },
    { type: "RUN_FINISHED", finishReason: "tool_calls" },
  ],
  [
    { type: "TEXT_MESSAGE_START", messageId: "m2", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m2", delta: "Booked." },
    { type: "TEXT_MESSAGE_END", messageId: "m2" },
    { type: "RUN_FINISHED", finishReason: "stop" },
  ],
];
const adapter = {
  kind: "text", name: "scripted", model: "m",
  async *chatStream({ threadId, runId }) {
    for (const event of [{ type: "RUN_STARTED" }, ...answers.shift()]) yield { threadId, runId, ...common, ...event };
  },
};
const book = toolDefinition({ name: "book", description: "Book.", inputSchema: z.object({}) }).server(async () => {
  console.log("booked");
  return "17";
});
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const { threadId, runId } = JSON.parse(body);
  const messages = [{ role: "user", content: "Book." }];
  const text = await toServerSentEventsResponse(chat({ adapter, messages, tools: [book], threadId, runId })).text();
  for (const [, event] of text.matchAll(/^data: (\{.*)$/gm)) console.log(JSON.parse(event).type);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(text);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/` });
const outcome = await agent.runAgent({}).then(() => "takes", () => "rejects");
console.log(`the client ${outcome} the run and holds ${agent.messages.length} messages`);
process.exit(0);
JS

node tool.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
booked
RUN_STARTED
TOOL_CALL_START
TOOL_CALL_ARGS
TOOL_CALL_END
RUN_FINISHED
TOOL_CALL_RESULT
TEXT_MESSAGE_START
TEXT_MESSAGE_CONTENT
TEXT_MESSAGE_END
RUN_FINISHED
the client rejects the run and holds 0 messages
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
