#!/usr/bin/env bash
# @voltagent/core 2.10.0 (npm) with ai 6.0.326: Stop while a tool runs, and the memory loses a tool that had finished.
#
# An agent with a memory calls `book` and `pay` in one answer. `book` has returned, and the page has shown its result; while
# `pay` works, the user presses Stop: `abortSignal`. `pay` does not look at it and pays. Then the user asks.
# Expected: the next request has both calls, the result of `book`, and of `pay` a result or that it was interrupted:
# `conversationPersistence` says of its default that it "flushes on tool completion".
# Seen: the memory has the question alone, and the next request is two questions: the model knows neither of the booking nor
# of the payment, and makes both again if it is asked to. What is flushed is what a whole step has given, and this step
# never ends; of a run without Stop the memory has everything.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @voltagent/core@2.10.0 ai@6.0.326 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > stop.mjs <<'JS'
import { once } from "node:events";
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, createTool, InMemoryStorageAdapter, Memory } from "@voltagent/core";
import { z } from "zod";

const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const calls = ["book", "pay"].map((name, index) => chunk({
  role: "assistant", tool_calls: [{ index, id: name, type: "function", function: { name, arguments: "{}" } }],
})).join("") + chunk({}, "tool_calls");
const well = chunk({ role: "assistant", content: "Well." }) + chunk({}, "stop");
let asked;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  asked.push(JSON.parse(body).messages);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${asked.length === 1 ? calls : well}data: [DONE]\n\n`);
});
await once(server.listen(0, "127.0.0.1"), "listening");
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = createOpenAICompatible({ name: "x", baseURL, apiKey: "none" })("m");

for (const ends of ["whole", "stopped"]) {
  console.log(`${ends}:`);
  asked = [];
  let release;
  const released = new Promise((resolve) => (release = resolve));
  const parameters = z.object({});
  const book = createTool({ name: "book", description: "Books.", parameters, execute: async () => "booked 17" });
  const pay = createTool({
    name: "pay", description: "Pays.", parameters,
    execute: async () => {
      await released;
      console.log("  pay: paid");
      return "paid 125";
    },
  });
  const memory = new Memory({ storage: new InMemoryStorageAdapter() });
  const agent = new Agent({ name: "a", instructions: "Pay.", model, tools: [book, pay], memory });
  const ids = { userId: "u", conversationId: "c" };
  const stop = new AbortController();
  const run = await agent.streamText("Book it and pay.", { ...ids, abortSignal: stop.signal });
  for await (const part of run.fullStream) {
    if (part.type !== "tool-result") continue;
    console.log(`  the page shows ${part.toolName}: ${part.output}`);
    if (part.toolName !== "book") continue;
    if (ends === "stopped") {
      await new Promise((resolve) => setTimeout(resolve, 1000)); // five times what the memory waits before it saves
      stop.abort();
    }
    release();
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for await (const _ of (await agent.streamText("Is it booked?", ids)).fullStream);
  for (const { role, content, tool_calls: made = [] } of asked.at(-1)) {
    if (role !== "system") console.log(`  asked with: ${role} ${content ?? made.map((call) => call.function.name)}`);
  }
}
process.exit(0);
JS

node stop.mjs 2> /dev/null | grep '^whole\|^stopped\|^  pay: \|^  the page\|^  asked' > seen.txt
cat > described.txt <<'TEXT'
whole:
  the page shows book: booked 17
  pay: paid
  the page shows pay: paid 125
  asked with: user Book it and pay.
  asked with: assistant book,pay
  asked with: tool {"type":"text","value":"booked 17"}
  asked with: tool {"type":"text","value":"paid 125"}
  asked with: assistant Well.
  asked with: user Is it booked?
stopped:
  the page shows book: booked 17
  pay: paid
  asked with: user Book it and pay.
  asked with: user Is it booked?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
