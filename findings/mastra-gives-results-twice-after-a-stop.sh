#!/usr/bin/env bash
# @mastra/core 1.71.0: Stop while a tool runs, and each result of the answer comes twice in `fullStream`.
#
# The model calls `pay` and `book` in one answer. `book` has returned; while `pay` works the user presses Stop (`abortSignal`),
# and `pay` returns (`tool`). The same when the user stops it in the text that follows (`text`), and never (`never`).
# Expected: one result for each call, and a `finish` that says what `finishReason` says: "aborted".
# Seen: with `tool` the stream has both results, the end of the step, and both results once more; `toolResults` has four for
# a payment and a booking that were made once, so that whatever counts results, or acts on one, does it twice. With both
# stops `finish` has the reason "tripwire", which is for an answer that a processor has blocked.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @mastra/core@1.71.0 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > stop.mjs <<'JS'
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const tool_calls = ["pay", "book"].map((name, index) => (
  { index, id: name, type: "function", function: { name, arguments: "{}" } }
));
let kind, asked, stop;
const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  asked += 1;
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (asked === 1) response.end(`${chunk({ tool_calls })}${chunk({}, "tool_calls")}data: [DONE]\n\n`);
  else if (kind === "text") response.write(chunk({ content: "Paid and" })); // the rest never comes
  else response.end(`${chunk({ content: "Paid and booked." })}${chunk({}, "stop")}data: [DONE]\n\n`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = createOpenAICompatible({ name: "x", baseURL, apiKey: "none" })("m");

for (kind of ["never", "tool", "text"]) {
  console.log(kind);
  asked = 0;
  stop = new AbortController();
  const inputSchema = z.object({});
  const pay = createTool({
    id: "pay", description: "Pays.", inputSchema,
    execute: async () => {
      await new Promise((done) => setTimeout(done, 300)); // `book` has returned
      if (kind === "tool") stop.abort();
      await new Promise((done) => setTimeout(done, 300));
      console.log("  pay: has run");
      return "paid";
    },
  });
  const book = createTool({
    id: "book", description: "Books.", inputSchema, execute: async () => (console.log("  book: has run"), "booked"),
  });
  const agent = new Agent({ id: "desk", name: "desk", instructions: "Help.", model, tools: { pay, book }, maxRetries: 0 });
  const options = { modelSettings: { maxRetries: 0 }, abortSignal: stop.signal };
  const output = await agent.stream("Pay and book.", options);
  for await (const { type, payload } of output.fullStream) {
    if (type === "tool-result") console.log(`  result of ${payload.toolCallId}: ${payload.result}`);
    if (type === "text-delta" && kind === "text") stop.abort();
    const reason = payload?.stepResult?.reason ?? "";
    if (["step-finish", "abort", "finish"].includes(type)) console.log(`  ${type} ${reason}`.trimEnd());
  }
  console.log(`  finishReason ${await output.finishReason}, toolResults ${(await output.toolResults).length}`);
}
process.exit(0);
JS

node stop.mjs 2> /dev/null | grep '^never\|^tool\|^text\|^  [a-z]' > seen.txt
cat > described.txt <<'TEXT'
never
  book: has run
  pay: has run
  result of pay: paid
  result of book: booked
  step-finish tool-calls
  step-finish stop
  finish stop
  finishReason stop, toolResults 2
tool
  book: has run
  pay: has run
  result of pay: paid
  result of book: booked
  step-finish tool-calls
  result of pay: paid
  result of book: booked
  abort
  finish tripwire
  finishReason aborted, toolResults 4
text
  book: has run
  pay: has run
  result of pay: paid
  result of book: booked
  step-finish tool-calls
  abort
  finish tripwire
  finishReason aborted, toolResults 2
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
