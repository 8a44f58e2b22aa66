#!/usr/bin/env bash
# @ai-sdk/langchain 3.0.99 with ai 7.0.173: an answer that came to its limit ends on the wire as one that was finished.
#
# A model over Chat Completions streams "Do not take both" and ends with finish_reason "stop", "length" or "content_filter".
# The route hands the stream of ChatOpenAI to `toUIMessageStream`.
# Expected: as `toUIMessageStream` of streamText does it: `finish` with `finishReason`, which a chat gets in `onFinish`, so
# that the page can offer to go on.
# Seen: LangChain has the reason in `response_metadata` of its last chunk; the `finish` of each stream is bare. A half
# answer is shown and stored like a whole one; with "content_filter" as well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/langchain@3.0.99 @langchain/core@1.4.0 \
  @langchain/langgraph@1.7.3 @langchain/openai@1.5.8 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > limit.mjs <<'JS'
import http from "node:http";
import { toUIMessageStream } from "@ai-sdk/langchain";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ChatOpenAI } from "@langchain/openai";
import { streamText } from "ai";

let end;
const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`${chunk({ role: "assistant", content: "Do not take both" })}${chunk({}, end)}data: [DONE]\n\n`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new ChatOpenAI({ model: "m", apiKey: "none", configuration: { baseURL }, maxRetries: 0 });
const same = createOpenAICompatible({ name: "x", baseURL, apiKey: "none" })("m");

async function ending(stream) {
  let last;
  for await (last of stream);
  return JSON.stringify(last);
}
for (end of ["stop", "length", "content_filter"]) {
  let reason;
  for await (const { response_metadata: metadata } of await model.stream("Which pills?")) {
    reason = metadata.finish_reason ?? reason;
  }
  console.log(`${end}: LangChain has "${reason}"`);
  console.log(`  @ai-sdk/langchain ${await ending(toUIMessageStream(await model.stream("Which pills?")))}`);
  console.log(`  ai ${await ending(streamText({ model: same, prompt: "Which pills?" }).toUIMessageStream())}`);
}
process.exit(0);
JS

node limit.mjs > seen.txt
cat > described.txt <<'TEXT'
stop: LangChain has "stop"
  @ai-sdk/langchain {"type":"finish"}
  ai {"type":"finish","finishReason":"stop"}
length: LangChain has "length"
  @ai-sdk/langchain {"type":"finish"}
  ai {"type":"finish","finishReason":"length"}
content_filter: LangChain has "content_filter"
  @ai-sdk/langchain {"type":"finish"}
  ai {"type":"finish","finishReason":"content-filter"}
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
