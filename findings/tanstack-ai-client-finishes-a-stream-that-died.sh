#!/usr/bin/env bash
# @tanstack/ai-client 0.33.2 with @tanstack/ai 0.58.0: a run that died is finished, and its half call is "input-complete".
#
# A page talks to its route over `fetchServerSentEvents`. The stream ends after half a text (`text`), or after
# `{"amount": 12` of a call that means {"amount": 125} (`call`): no TOOL_CALL_END, no RUN_FINISHED and no RUN_ERROR, as
# when the agent's process has died behind a proxy that closes its answer properly. Then the user asks.
# Expected: `onError` is called, since AG-UI says that a truncated stream has no outcome; the call is marked as not whole.
# Seen: `onFinish` is called, `onError` is not, and the status is "ready". The call, whose end was never sent, has the state
# "input-complete" with arguments that do not parse. It is posted so with the next question, without a result: the models'
# APIs refuse it ("An assistant message with 'tool_calls' must be followed by tool messages").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @tanstack/ai-client@0.33.2 @tanstack/ai@0.58.0 zod@4.6.7

cat > died.mjs <<'JS'
import http from "node:http";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";

const messageId = "m1";
const halves = {
  text: [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId, delta: "Do not take" }],
  call: [{ type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "pay", toolName: "pay", parentMessageId: messageId },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"amount": 12' }],
};
const well = [{ type: "TEXT_MESSAGE_START", messageId: "m2", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m2", delta: "Well." }, { type: "TEXT_MESSAGE_END", messageId: "m2" },
  { type: "RUN_FINISHED", finishReason: "stop" }];
let script;
let asked;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const { threadId, runId, messages } = JSON.parse(body);
  asked = messages;
  const events = [{ type: "RUN_STARTED" }, ...script.shift()];
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(events.map((event) => `data: ${JSON.stringify({ threadId, runId, timestamp: 1, ...event })}\n\n`).join(""));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const connection = fetchServerSentEvents(`http://127.0.0.1:${server.address().port}/`);

for (const [kind, half] of Object.entries(halves)) {
  script = [half, well];
  const called = [];
  const client = new ChatClient({
    connection, onError: () => called.push("onError"), onFinish: () => called.push("onFinish"),
  });
  await client.sendMessage("Pay 125.");
  const [{ type, state, content, arguments: sent }] = client.getMessages().at(-1).parts;
  console.log(`${kind}: ${called}; status ${client.getStatus()}; ${type} ${state ?? "without a state"}: ${content ?? sent}`);
  await client.sendMessage("Why?");
  for (const { role, content: text, toolCalls = [] } of asked) {
    const calls = toolCalls.map((call) => `calls ${call.function.name}(${call.function.arguments})`);
    console.log(`  posted ${role} ${text ?? calls}`);
  }
}
process.exit(0);
JS

node died.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
text: onFinish; status ready; text without a state: Do not take
  posted user Pay 125.
  posted assistant Do not take
  posted user Why?
call: onFinish; status ready; tool-call input-complete: {"amount": 12
  posted user Pay 125.
  posted assistant calls pay({"amount": 12)
  posted user Why?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
