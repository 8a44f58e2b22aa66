#!/usr/bin/env bash
# @strands-agents/sdk 1.19.0 (npm): over Chat Completions an answer with two calls runs the last one; the rest is lost.
#
# The model streams one answer with a text, a call of `book` and a call of `pay`, one after the other, and ends it with
# finish_reason "tool_calls" (`chat`). The same answer is streamed over the Responses API (`responses`).
# Expected: both tools run; the next request has the text, both calls and both results.
# Seen: with `chat` the page is shown the text and the start of both calls, `pay` runs, and `book` does not. The next request
# has the call of `pay` alone: nothing is raised, and the model reads that it neither said it would book nor tried to.
# Each block is closed only at the finish_reason, and by then the start of the next one has overwritten it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @strands-agents/sdk@1.19.0 openai@6.49.0 zod@4.6.7

cat > two.mjs <<'JS'
import http from "node:http";
import { Agent, tool } from "@strands-agents/sdk";
import { OpenAIModel } from "@strands-agents/sdk/models/openai";
import { z } from "zod";

const calls = ["book", "pay"];
const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return { id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices };
};
const piece = (index, more) => chunk({ tool_calls: [{ index, ...more }] });
const answers = {
  chat: [chunk({ role: "assistant", content: "Both, then." }), ...calls.flatMap((name, index) => [
    piece(index, { id: name, type: "function", function: { name, arguments: "" } }),
    piece(index, { function: { arguments: '{"number": 17}' } }),
  ]), chunk({}, "tool_calls")],
  responses: [{ type: "response.created", response: { id: "r" } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m", role: "assistant", content: [] } },
    { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "m", delta: "Both, then." },
    { type: "response.output_text.done", output_index: 0, content_index: 0, item_id: "m", text: "Both, then." },
    ...calls.flatMap((name, index) => {
      const item = { type: "function_call", id: `f${name}`, call_id: name, name, arguments: "" };
      const at = { output_index: index + 1, item_id: item.id };
      return [{ type: "response.output_item.added", ...at, item },
        { type: "response.function_call_arguments.delta", ...at, delta: '{"number": 17}' },
        { type: "response.function_call_arguments.done", ...at, arguments: '{"number": 17}' },
        { type: "response.output_item.done", ...at, item: { ...item, arguments: '{"number": 17}', status: "completed" } }];
    }), { type: "response.completed", response: { id: "r", status: "completed", output: [] } }],
};
let asked;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const { messages, input } = JSON.parse(body);
  asked.push(messages ?? input);
  const api = messages ? "chat" : "responses";
  response.writeHead(200, { "content-type": "text/event-stream" });
  const events = asked.length === 1 ? answers[api] : api === "chat"
    ? [chunk({ role: "assistant", content: "Well." }), chunk({}, "stop")]
    : [answers.responses[0], { ...answers.responses[2], delta: "Well." }, answers.responses.at(-1)];
  const lines = events.map((event) => `${event.type ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`);
  response.end(`${lines.join("")}${api === "chat" ? "data: [DONE]\n\n" : ""}`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const clientConfig = { baseURL: `http://127.0.0.1:${server.address().port}/v1`, maxRetries: 0 };

const textOf = (content) => (typeof content === "string" ? content : content?.map((part) => part.text).join(""));
for (const api of Object.keys(answers)) {
  console.log(api);
  asked = [];
  const tools = calls.map((name) => tool({
    name, description: name, inputSchema: z.object({ number: z.number() }),
    callback: ({ number }) => (console.log(`  ${name} runs`), `${name}: ${number}`),
  }));
  const model = new OpenAIModel({ api, modelId: "m", apiKey: "none", clientConfig });
  await new Agent({ model, tools, printer: false }).invoke("Book 17 and pay it.");
  for (const item of asked[1]) {
    const names = (item.tool_calls ?? []).map((call) => call.function.name);
    if (item.type === "function_call") names.push(item.name);
    const text = textOf(item.content ?? item.output);
    const shown = [text && `"${text}"`, names.length && `calls ${names.join(", ")}`].filter(Boolean);
    console.log(`    asked with: ${item.role ?? item.type} ${shown.join(", ")}`);
  }
}
process.exit(0);
JS

node two.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
chat
  pay runs
    asked with: user "Book 17 and pay it."
    asked with: assistant calls pay
    asked with: tool "pay: 17"
responses
  book runs
  pay runs
    asked with: user "Book 17 and pay it."
    asked with: assistant "Both, then."
    asked with: function_call calls book
    asked with: function_call calls pay
    asked with: function_call_output "book: 17"
    asked with: function_call_output "pay: 17"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
