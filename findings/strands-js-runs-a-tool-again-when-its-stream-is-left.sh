#!/usr/bin/env bash
# @strands-agents/sdk 1.19.0 (npm): who leaves the stream while a tool runs has the tool run a second time, unseen.
#
# The model calls `pay` for a question that has no result yet, as a model does. `pay` shows its progress by yielding. The page
# leaves the loop over `stream()` at the first progress (`progress`), or at the result of the tool (`result`), as a web server
# does whose client is gone. The same with `agent.cancel()` before it leaves (`cancelled`).
# Expected: the run ends there. The history has the call with its result, or with one that says it was interrupted.
# Seen: `break` returns only when the run has gone on to its end: the call is dropped from the history, the model is asked the
# same question again, calls `pay` again, and `pay` runs with nobody reading. With `result` everything is paid twice, and
# the history has one payment. With `cancelled` the run ends, and what has been paid is in no request. Closing the stream
# ends the tools without a result, and without one the agent's loop begins its next round.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @strands-agents/sdk@1.19.0 openai@6.49.0 zod@4.6.7

cat > leave.mjs <<'JS'
import http from "node:http";
import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";

const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
let asked;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const { messages } = JSON.parse(body);
  asked.push(messages);
  const call = { index: 0, id: `c${asked.length}`, type: "function", function: { name: "pay", arguments: "{}" } };
  const pays = JSON.stringify(messages.at(-1)).includes("Pay it.");
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${pays
    ? chunk({ role: "assistant", tool_calls: [call] }) + chunk({}, "tool_calls")
    : chunk({ role: "assistant", content: "Well." }) + chunk({}, "stop")}data: [DONE]\n\n`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const clientConfig = { baseURL: `http://127.0.0.1:${server.address().port}/v1`, maxRetries: 0 };
const model = new OpenAIModel({ api: "chat", modelId: "m", apiKey: "none", clientConfig });

const leavesAt = { progress: "toolStreamUpdateEvent", result: "toolResultEvent", cancelled: "toolStreamUpdateEvent" };
for (const [kind, type] of Object.entries(leavesAt)) {
  console.log(`${kind}:`);
  asked = [];
  const pay = tool({
    name: "pay", description: "Pays in two instalments.", inputSchema: z.object({}),
    callback: async function* () {
      for (const instalment of ["first", "second"]) {
        console.log(`  pay: ${instalment} instalment paid`);
        yield `paid the ${instalment}`;
      }
      return "paid both";
    },
  });
  const agent = new Agent({ model, tools: [pay], printer: false });
  for await (const event of agent.stream("Pay it.")) {
    if (event.type !== type) continue;
    console.log("  the page leaves");
    if (kind === "cancelled") agent.cancel();
    break;
  }
  console.log(`  the loop is left; the model was asked ${asked.length} times`);
  await agent.invoke("How often?");
  for (const { role, content, tool_calls: calls } of asked.at(-1)) {
    const text = Array.isArray(content) ? content.map((part) => part.text).join("") : content;
    console.log(`  asked with: ${role} ${calls ? `calls ${calls.map((call) => call.function.name)}` : text}`);
  }
}
process.exit(0);
JS

node leave.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
progress:
  pay: first instalment paid
  the page leaves
  pay: first instalment paid
  pay: second instalment paid
  the loop is left; the model was asked 3 times
  asked with: user Pay it.
  asked with: assistant calls pay
  asked with: tool paid both
  asked with: assistant Well.
  asked with: user How often?
result:
  pay: first instalment paid
  pay: second instalment paid
  the page leaves
  pay: first instalment paid
  pay: second instalment paid
  the loop is left; the model was asked 3 times
  asked with: user Pay it.
  asked with: assistant calls pay
  asked with: tool paid both
  asked with: assistant Well.
  asked with: user How often?
cancelled:
  pay: first instalment paid
  the page leaves
  the loop is left; the model was asked 1 times
  asked with: user Pay it.
  asked with: assistant Cancelled by user
  asked with: user How often?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
