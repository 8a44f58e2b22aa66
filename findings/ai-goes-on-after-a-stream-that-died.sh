#!/usr/bin/env bash
# ai 7.0.173 with @ai-sdk/openai-compatible 2.0.92: a run whose stream died goes on, and ends as a run that went well.
#
# The model means to call `pay` with {"amount": 125}; its stream ends after `{"amount": 12`, without a finish_reason and
# without [DONE], as when its server has died.
# Expected: the run ends with an error; nothing more is asked. So it is when the stream dies in a text.
# Seen: `onError` is called, and the run goes on: the model is asked again, is given `{}` for its own arguments and
# a parser's message for a result, and its next word ends the run. `finishReason` is "stop", and the UI stream has an
# `error` in its middle and `finish` with "stop" at its end.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > died.mjs <<'JS'
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const piece = (delta, finish_reason = null) => ({
  id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }],
});
const call = { index: 0, id: "c1", type: "function", function: { name: "pay", arguments: '{"amount": 12' } };
const died = {
  text: [piece({ role: "assistant", content: "Paying 12" })],
  call: [piece({ role: "assistant", tool_calls: [call] })],
};
for (const [name, pieces] of Object.entries(died)) {
  const asked = [];
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push(JSON.parse(body).messages);
    const first = asked.length === 1;
    const sent = first ? pieces : [piece({ role: "assistant", content: "Well." }), piece({}, "stop")];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sent.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("") + (first ? "" : "data: [DONE]\n\n"));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
  const result = streamText({
    model: createOpenAICompatible({ name: "x", baseURL, apiKey: "none" })("m"),
    tools: { pay: tool({ inputSchema: z.object({ amount: z.number() }), execute: () => console.log("paid") }) },
    prompt: "Pay 125.", stopWhen: isStepCount(3), maxRetries: 0,
    onError: () => console.log(`${name}: onError`),
  });
  const ends = [];
  for await (const chunk of result.toUIMessageStream()) {
    if (chunk.type === "error") ends.push("error");
    if (chunk.type === "finish") ends.push(`finish ${chunk.finishReason}`);
  }
  console.log(`${name}: ${asked.length} requests; on the UI stream ${ends.join(", ")}`);
  for (const { tool_calls = [] } of asked.at(-1)) {
    for (const one of tool_calls) console.log(`${name}: the model reads that it called pay(${one.function.arguments})`);
  }
  server.close();
}
process.exit(0);
JS

node died.mjs > seen.txt
cat > described.txt <<'TEXT'
text: onError
text: 1 requests; on the UI stream error, finish error
call: onError
call: 2 requests; on the UI stream error, finish stop
call: the model reads that it called pay({})
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
