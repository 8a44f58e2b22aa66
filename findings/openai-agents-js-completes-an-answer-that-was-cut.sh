#!/usr/bin/env bash
# @openai/agents 0.20.0 (npm) with openai 7.59.0: over Chat Completions a cut answer is `completed`, and its reason is lost.
#
# A model over Chat Completions streams "Do not take both". Its stream ends with finish_reason "stop" (`whole`), at its
# token limit with "length" (`limit`), or after the same text with neither a finish_reason nor [DONE], as when its server
# has died (`torn`). A session keeps the history.
# Expected: `torn` raises; `limit` is "incomplete" in the session, or the result has its reason.
# Seen: the three cannot be told apart: `completed` resolves, `error` is null, `finalOutput` is the half text, the session
# holds it as `status: "completed"`, and `rawResponses` has no finish_reason. Only who reads the raw chunks of the stream
# can tell.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @openai/agents@0.20.0 openai@7.59.0 zod@4.6.7

cat > cut.mjs <<'JS'
import http from "node:http";
import { Agent, MemorySession, OpenAIChatCompletionsModel, run, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";

setTracingDisabled(true);
const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const ends = {
  whole: `${chunk({}, "stop")}data: [DONE]\n\n`,
  limit: `${chunk({}, "length")}data: [DONE]\n\n`,
  torn: "",
};
let end;
const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(chunk({ role: "assistant", content: "Do not take" }) + chunk({ content: " both" }) + ends[end]);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 }), "m");

for (end of Object.keys(ends)) {
  const session = new MemorySession();
  const result = await run(new Agent({ name: "guide", model }), "Which pills?", { stream: true, session });
  for await (const _ of result);
  const outcome = await result.completed.then(() => "resolves", () => "rejects");
  const { status, content } = (await session.getItems()).at(-1);
  const reason = /finish|incomplete|length/.test(JSON.stringify(result.rawResponses)) ? "a" : "no";
  console.log(`${end}: completed ${outcome}, error ${result.error}, finalOutput "${result.finalOutput}"`);
  console.log(`  the session has "${content[0].text}" as ${status}; rawResponses have ${reason} reason`);
}
process.exit(0);
JS

node cut.mjs > seen.txt
cat > described.txt <<'TEXT'
whole: completed resolves, error null, finalOutput "Do not take both"
  the session has "Do not take both" as completed; rawResponses have no reason
limit: completed resolves, error null, finalOutput "Do not take both"
  the session has "Do not take both" as completed; rawResponses have no reason
torn: completed resolves, error null, finalOutput "Do not take both"
  the session has "Do not take both" as completed; rawResponses have no reason
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
