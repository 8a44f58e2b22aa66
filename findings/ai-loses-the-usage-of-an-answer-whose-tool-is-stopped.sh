#!/usr/bin/env bash
# ai 7.0.173: what an answer has used is known to nobody if its run is stopped while its tool runs.
#
# A model over Chat Completions answers with a call, ends with "tool_calls", and reports 1,200 tokens read and 30 written. The
# tool runs; the user presses Stop, which aborts the signal of `streamText`. Once more the tool fails by itself.
# Expected: the model has answered, reported its usage, and is paid for: `onAbort`, which is given steps, or the stream, or
# `totalUsage` has it, as with a tool that fails.
# Seen: `onAbort` has no steps, no `onStepFinish`, no `finish-step`, and `totalUsage` rejects. A meter that counts in
# `onFinish` and `onAbort` counts nothing of a chat whose users stop long tools.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > usage.mjs <<'JS'
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const chunk = (choices, usage) =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices, usage })}\n\n`;
const call = { index: 0, id: "c1", type: "function", function: { name: "book", arguments: "{}" } };
let asked = 0;
const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const answers = asked++ === 0;
  const delta = answers ? { role: "assistant", tool_calls: [call] } : { role: "assistant", content: "Sorry." };
  response.write(chunk([{ index: 0, delta, finish_reason: null }]));
  response.write(chunk([{ index: 0, delta: {}, finish_reason: answers ? "tool_calls" : "stop" }]));
  response.write(chunk([], { prompt_tokens: 1200, completion_tokens: 30, total_tokens: 1230 }));
  response.end("data: [DONE]\n\n");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const model = createOpenAICompatible({
  name: "x", baseURL: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "none", includeUsage: true,
})("m");

for (const end of ["fails", "is stopped"]) {
  asked = 0;
  const stop = new AbortController();
  const heard = [];
  const execute = (_, { abortSignal }) => new Promise((_, failed) => {
    abortSignal.addEventListener("abort", () => failed(new Error("stopped")));
    setTimeout(() => (end === "fails" ? failed(new Error("sold out")) : stop.abort()), 300);
  });
  const result = streamText({
    model, prompt: "Book it", tools: { book: tool({ inputSchema: z.object({}), execute }) }, stopWhen: isStepCount(3),
    abortSignal: stop.signal, onError: () => {},
    onStepFinish: ({ usage }) => heard.push(`onStepFinish ${usage.inputTokens}`),
    onFinish: ({ totalUsage }) => heard.push(`onFinish ${totalUsage.inputTokens}`),
    onAbort: ({ steps }) => heard.push(`onAbort with ${steps.length} steps`),
  });
  const total = result.totalUsage.then(({ inputTokens }) => inputTokens, ({ name }) => name);
  for await (const part of result.fullStream) if (part.type === "finish-step") heard.push("finish-step");
  console.log(`a tool that ${end}: ${heard.join(", ")}; totalUsage: ${await total}`);
}
server.close();
JS
node usage.mjs > seen.txt
cat > described.txt <<'TEXT'
a tool that fails: finish-step, onStepFinish 1200, onStepFinish 1200, finish-step, onFinish 2400; totalUsage: 2400
a tool that is stopped: onAbort with 0 steps; totalUsage: AbortError
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
