#!/usr/bin/env bash
# @openai/agents 0.20.0 (npm) with openai 7.59.0: it asks again for an answer without words, ten times, and forgets the booking.
#
# A model over Chat Completions calls `book`, which books. Its next answer has no words and finish_reason "stop", as models
# end that have nothing to add after a tool; or (`filtered`) "content_filter", or (`words`) a sentence. A session keeps
# the history.
# Expected: the run ends with an empty answer, or with an error after that one answer, and the session has the booking.
# Seen: the same request is sent until the limit of ten turns, each of them paid, and then the run raises
# MaxTurnsExceededError. The session has the question alone, also where the filter ends the run at once: the model that
# is asked next knows of no booking.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @openai/agents@0.20.0 openai@7.59.0 zod@4.6.7

cat > again.mjs <<'JS'
import http from "node:http";
import { Agent, MemorySession, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

setTracingDisabled(true);
const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const call = { index: 0, id: "call_1", type: "function", function: { name: "book", arguments: "{}" } };
const calls = chunk({ role: "assistant", tool_calls: [call] }) + chunk({}, "tool_calls");
const answers = {
  words: chunk({ role: "assistant", content: "Booked." }) + chunk({}, "stop"),
  nothing: chunk({ role: "assistant", content: "" }) + chunk({}, "stop"),
  filtered: chunk({ role: "assistant", content: "" }) + chunk({}, "content_filter"),
};
let kind, asked, booked;
const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  asked += 1;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${asked === 1 ? calls : answers[kind]}data: [DONE]\n\n`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 }), "m");
const book = tool({ name: "book", description: "Book.", parameters: z.object({}), execute: async () => `HOTEL-${++booked}` });

for (kind of Object.keys(answers)) {
  [asked, booked] = [0, 0];
  const session = new MemorySession();
  const result = await run(new Agent({ name: "guide", model, tools: [book] }), "Book it.", { stream: true, session });
  let outcome;
  try {
    for await (const _ of result);
    await result.completed;
    outcome = `finalOutput "${result.finalOutput}"`;
  } catch (error) {
    outcome = error.name;
  }
  const kept = (await session.getItems()).map((item) => item.type ?? item.role).join(", ");
  console.log(`${kind}: asked ${asked} times, booked ${booked} time; ${outcome}`);
  console.log(`  the session has ${kept}`);
}
process.exit(0);
JS

node again.mjs > seen.txt
cat > described.txt <<'TEXT'
words: asked 2 times, booked 1 time; finalOutput "Booked."
  the session has message, function_call, function_call_result, message
nothing: asked 10 times, booked 1 time; MaxTurnsExceededError
  the session has message
filtered: asked 2 times, booked 1 time; ModelRefusalError
  the session has message
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
