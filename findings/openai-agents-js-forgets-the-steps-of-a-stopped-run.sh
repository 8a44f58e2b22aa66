#!/usr/bin/env bash
# @openai/agents 0.20.0 (npm): the session of a run that was stopped has none of its steps, also where a tool had returned.
#
# A streamed run with a MemorySession calls `book`, which returns "booked as 4711". The second answer says so, and while it
# streams the user presses Stop: the run's `signal` is aborted. Then the user asks "Is it booked?" in the same session.
# Expected: the next request has the call of `book` and its result, as the session of the Python SDK (0.24.0) has them.
# Seen: the session holds the user's message alone, and the next request has the two questions and nothing of the booking:
# the model books again if it is asked to. `result.history` of the stopped run has the call and its result.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @openai/agents@0.20.0 openai@7.59.0 zod@4.6.7

cat > stop.mjs <<'JS'
import { Agent, MemorySession, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

setTracingDisabled(true);
const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const call = { index: 0, id: "c1", type: "function", function: { name: "book", arguments: "{}" } };
const asked = [];
const stop = new AbortController();
async function* answer(number) {
  if (number === 1) yield chunk({ role: "assistant", tool_calls: [call] }) + chunk({}, "tool_calls");
  else if (number === 3) yield chunk({ role: "assistant", content: "Well." }) + chunk({}, "stop");
  else {
    yield chunk({ role: "assistant", content: "It is" });
    await new Promise((stopped) => stop.signal.addEventListener("abort", stopped)); // nothing comes after the stop
  }
}
const fetch = async (_url, { body }) => {
  asked.push(JSON.parse(body).messages);
  const stream = ReadableStream.from(answer(asked.length)).pipeThrough(new TextEncoderStream());
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
};
const model = new OpenAIChatCompletionsModel(new OpenAI({ apiKey: "none", maxRetries: 0, fetch }), "m");
const book = tool({ name: "book", description: "Book.", parameters: z.object({}), execute: () => "booked as 4711" });
const agent = new Agent({ name: "desk", model, tools: [book] });
const session = new MemorySession();

const result = await run(agent, "Book a room.", { stream: true, session, signal: stop.signal });
for await (const event of result) if (event.data?.delta === "It is") stop.abort();
await result.completed.catch(() => {});
const named = (items) => items.map((item) => item.role ?? item.type).join(", ");
console.log(`the session: ${named(await session.getItems())}`);
console.log(`result.history: ${named(result.history)}`);
const next = await run(agent, "Is it booked?", { stream: true, session });
for await (const _ of next);
await next.completed;
console.log(`the next request: ${asked[2].map(({ role, content }) => `${role} "${content}"`).join(", ")}`);
process.exit(0);
JS

node stop.mjs > seen.txt
cat > described.txt <<'TEXT'
the session: user
result.history: user, function_call, function_call_result
the next request: user "Book a room.", user "Is it booked?"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
