#!/usr/bin/env bash
# @mastra/core 1.71.0 with @ai-sdk/openai-compatible 2.0.92: a call that was cut runs with `{}` for arguments.
#
# `pay` takes an amount, and without one it pays the whole debt. The model streams a call of it over Chat Completions and
# means {"amount": 125}; its answer ends after `{"amount": 12`, at its token limit (`limit`) or because its server has died
# (`torn`).
# Expected: the call is refused, as its arguments are not JSON, or the tool is not run, as the answer was not finished.
# Seen: a line in the log says that the input could not be converted; the arguments become `{}`, which fit the schema, and
# the tool runs: the whole debt is paid. With `torn` the run ends with an error, and the tool has run all the same. A schema
# with a required field is what saves the others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @mastra/core@1.71.0 @ai-sdk/openai-compatible@2.0.92 zod@4.6.7

cat > cut.mjs <<'JS'
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const call = (more) => chunk({ role: "assistant", tool_calls: [{ index: 0, ...more }] });
const half = call({ id: "c1", type: "function", function: { name: "pay", arguments: "" } })
  + call({ function: { arguments: '{"amount": 12' } });
const ends = { limit: `${chunk({}, "length")}data: [DONE]\n\n`, torn: "" };
let end;
const server = http.createServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(half + ends[end]);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const model = createOpenAICompatible({ name: "x", baseURL, apiKey: "none" })("m");

for (const field of ["optional", "required"]) {
  const amount = field === "optional" ? z.number().optional() : z.number();
  const pay = createTool({
    id: "pay", description: "Pays the amount, or the whole debt.", inputSchema: z.object({ amount }),
    execute: async ({ amount: sum = "the whole debt" }) => (console.log(`paid ${sum}`), { paid: sum }),
  });
  for (end of Object.keys(ends)) {
    console.log(`${end}, the amount is ${field}`);
    const agent = new Agent({ id: "teller", name: "teller", instructions: "Pay.", model, tools: { pay }, maxRetries: 0 });
    const output = await agent.stream("Pay 125.", { maxSteps: 1, modelSettings: { maxRetries: 0 } });
    for await (const { type, payload } of output.fullStream) {
      if (type === "tool-call") console.log(`  a call with ${JSON.stringify(payload.args)}`);
      if (type === "tool-result") console.log(`  a result${payload.result.error ? ", an error" : ""}`);
    }
    console.log(`  the run ends with "${await output.finishReason}"`);
  }
}
process.exit(0);
JS

node cut.mjs 2> /dev/null | grep '^limit\|^torn\|^paid\|^  a \|^  the' > seen.txt
cat > described.txt <<'TEXT'
limit, the amount is optional
  a call with {}
paid the whole debt
  a result
  the run ends with "length"
torn, the amount is optional
  a call with {}
paid the whole debt
  a result
  the run ends with "error"
limit, the amount is required
  a call with {}
  a result, an error
  the run ends with "length"
torn, the amount is required
  a call with {}
  a result, an error
  the run ends with "error"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
