#!/usr/bin/env bash
# @genkit-ai/compat-oai 1.42.0 with genkit 1.42.0 (npm): the finish_reason decides whether a call keeps its arguments.
#
# A model over Chat Completions says "Paying now." and streams a call of `pay` with {"amount": 125}. Its answer ends with
# "tool_calls" (`calls`), with "stop", as OpenAI ends a call that `tool_choice` has forced, and as other servers end each
# call (`stop`), or at its token limit after `{"amount": 12` (`limit`). `pay` takes any input, and without one it pays the
# whole debt.
# Expected: `calls` and `stop` are the same call, `limit` does not run; the next request has what was said beside the call.
# Seen: the page is shown the arguments each time. With `stop` and `limit` `pay` runs with "" for its input and pays the whole
# debt, and the model reads that it has sent "". An object schema raises instead, for the whole call of `stop` too. What
# was said beside a call is in no request. The final message takes arguments with "tool_calls" alone, and a text only
# where there is no call.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund genkit@1.42.0 @genkit-ai/compat-oai@1.42.0

cat > end.mjs <<'JS'
import http from "node:http";
import { openAICompatible } from "@genkit-ai/compat-oai";
import { genkit, z } from "genkit";

const chunk = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};
const call = (name, text) => chunk({ content: "Paying now." })
  + chunk({ tool_calls: [{ index: 0, id: "c1", type: "function", function: { name, arguments: text } }] });
const ends = {
  calls: (name) => call(name, '{"amount": 125}') + chunk({}, "tool_calls"),
  stop: (name) => call(name, '{"amount": 125}') + chunk({}, "stop"),
  limit: (name) => call(name, '{"amount": 12') + chunk({}, "length"),
};
let asked;
let first;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  asked.push(JSON.parse(body).messages);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const answer = asked.length === 1 ? first : chunk({ content: "Well." }) + chunk({}, "stop");
  response.end(`${answer}data: [DONE]\n\n`);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseURL = `http://127.0.0.1:${server.address().port}/v1`;
const ai = genkit({ plugins: [openAICompatible({ name: "x", apiKey: "none", baseURL, maxRetries: 0 })] });
const pay = (input) => (console.log(`  paid ${input?.amount ?? "the whole debt"}`), "paid");
const description = "Pays the amount, or the whole debt.";
const inputSchema = z.object({ amount: z.number().optional() });
const tools = {
  any: ai.defineTool({ name: "any", description }, async (input) => pay(input)),
  object: ai.defineTool({ name: "object", description, inputSchema }, async (input) => pay(input)),
};

for (const [name, tool] of Object.entries(tools)) {
  for (const [end, answer] of Object.entries(ends)) {
    console.log(`${end}, ${name}:`);
    asked = [];
    first = answer(name);
    const { stream, response } = ai.generateStream({ model: "x/m", prompt: "Pay 125.", tools: [tool] });
    response.catch(() => {});
    try {
      for await (const { content } of stream) {
        for (const { toolRequest } of content) {
          if (toolRequest) console.log(`  the page is shown a call of ${JSON.stringify(toolRequest.input)}`);
        }
      }
      await response;
      for (const { role, content, tool_calls: calls } of asked[1].slice(1)) {
        console.log(`  asked with: ${role} ${content}${calls ? `, a call of ${calls[0].function.arguments}` : ""}`);
      }
    } catch (error) {
      console.log(`  raises ${error.message.split(".")[0]}`);
    }
  }
}
process.exit(0);
JS

node end.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
calls, any:
  the page is shown a call of {"amount":125}
  paid 125
  asked with: assistant null, a call of {"amount":125}
  asked with: tool paid
stop, any:
  the page is shown a call of {"amount":125}
  paid the whole debt
  asked with: assistant null, a call of ""
  asked with: tool paid
limit, any:
  the page is shown a call of {"amount":12}
  paid the whole debt
  asked with: assistant null, a call of ""
  asked with: tool paid
calls, object:
  the page is shown a call of {"amount":125}
  paid 125
  asked with: assistant null, a call of {"amount":125}
  asked with: tool paid
stop, object:
  the page is shown a call of {"amount":125}
  raises INVALID_ARGUMENT: Schema validation failed
limit, object:
  the page is shown a call of {"amount":12}
  raises INVALID_ARGUMENT: Schema validation failed
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
