#!/usr/bin/env bash
# ai 7.0.173: of two approved calls the model is sent the results in the order in which they came, and later in another.
#
# A model over Chat Completions answers with two calls, c1 and c2, whose tool the user has to approve. Both are approved in one
# message; the tool of c2 is done first. Then the user writes again. Once more without approvals.
# Expected: what the model was sent stays as it was, so that its cache holds: the results stand in one order in all requests, as
# they do without approvals, where the answer is put into the order of the calls.
# Seen: after the approval c2, c1, whoever was quicker first; in the next turn c1, c2. From the first result on the provider's
# cache is of no use, and two runs of the same chat can differ.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > orders.mjs <<'JS'
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { convertToModelMessages, isStepCount, readUIMessageStream, streamText, tool, toUIMessageStream } from "ai";
import { z } from "zod";

const chunk = (choices) =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
const call = (index, milliseconds) => ({
  index, id: `c${index + 1}`, type: "function", function: { name: "book", arguments: JSON.stringify({ milliseconds }) },
});
const sent = [];
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  sent.push(JSON.parse(body).messages);
  const calls = sent.length === 1 ? { tool_calls: [call(0, 300), call(1, 0)] } : { content: "Done." };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk([{ index: 0, delta: { role: "assistant", ...calls }, finish_reason: null }]));
  response.write(chunk([{ index: 0, delta: {}, finish_reason: sent.length === 1 ? "tool_calls" : "stop" }]));
  response.end("data: [DONE]\n\n");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const model = createOpenAICompatible({
  name: "x", baseURL: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "none",
})("m");

const execute = ({ milliseconds }) => new Promise((done) => setTimeout(done, milliseconds, `booked after ${milliseconds} ms`));
const tools = { book: tool({ inputSchema: z.object({ milliseconds: z.number() }), execute }) };
const user = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });
const answer = async (messages, more) => {
  const earlier = messages.at(-1).role === "assistant" ? messages.at(-1) : undefined;
  const result = streamText({ model, tools, messages: await convertToModelMessages(messages), stopWhen: isStepCount(3), ...more });
  let last;
  const stream = toUIMessageStream({ stream: result.stream, originalMessages: messages });
  for await (const message of readUIMessageStream({ stream, message: earlier })) last = message;
  return [...(earlier ? messages.slice(0, -1) : messages), last];
};
for (const [title, more] of [["without approvals", {}], ["with approvals", { toolApproval: { book: "user-approval" } }]]) {
  sent.length = 0;
  let chat = await answer([user("u1", "Book both")], more);
  const waits = ({ state }) => state === "approval-requested";
  if (chat.at(-1).parts.some(waits)) {
    const parts = chat.at(-1).parts.map((part) =>
      waits(part) ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } } : part);
    chat = await answer([...chat.slice(0, -1), { ...chat.at(-1), parts }], more);
  }
  await answer([...chat, user("u2", "Thanks")], more);
  const orders = sent.map((messages) => messages.filter(({ role }) => role === "tool").map((one) => one.tool_call_id).join(", "));
  console.log(`${title}: ${orders.filter(Boolean).join("; then ")}`);
}
server.close();
JS
node orders.mjs > seen.txt
cat > described.txt <<'TEXT'
without approvals: c1, c2; then c1, c2
with approvals: c2, c1; then c1, c2
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
