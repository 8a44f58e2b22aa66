#!/usr/bin/env bash
# @langchain/core 1.4.0 (npm): a number that was cut after its minus becomes 0, and so does a minus alone.
#
# The model calls `adjust` with {"amount": -125}; its answer ends after `{"amount": -`, since it came to its limit. The
# same with a brace after it, which is not JSON. The same texts are streamed through `JsonOutputParser`.
# Expected: a number without a digit is left out, as `parsePartialJson` of ai 7.0.173 does it; `{"amount": -}` is an invalid
# call.
# Seen: both are a call in `tool_calls`, not in `invalid_tool_calls`, with {"amount": 0}: a number of which no digit was
# sent, and which fits the schema of the tool. The last object of the stream is the same, and nothing is raised. Whoever
# waits for the field before he acts on it gets a value that the model has not said.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @langchain/core@1.4.0 ai@7.0.173 zod@4.6.7

cat > minus.mjs <<'JS'
import { AIMessageChunk } from "@langchain/core/messages";
import { JsonOutputParser } from "@langchain/core/output_parsers";
import { parsePartialJson } from "ai";

const piece = (call) => new AIMessageChunk({ content: "", tool_call_chunks: [{ index: 0, ...call }] });
for (const text of ['{"amount": ', '{"amount": -', '{"amount": -}', '{"amount": -1']) {
  const message = piece({ id: "c1", name: "adjust", args: "" }).concat(piece({ args: text }));
  const calls = message.tool_calls.map(({ args }) => `a call with ${JSON.stringify(args)}`);
  const invalid = message.invalid_tool_calls.map(() => "an invalid call");
  let parsed;
  for await (parsed of new JsonOutputParser().transform([text], {}));
  const { value, state } = await parsePartialJson(text);
  console.log(`${text} | ${[...calls, ...invalid]} | stream ${JSON.stringify(parsed)} | ai ${JSON.stringify(value) ?? state}`);
}
JS

node minus.mjs > seen.txt
cat > described.txt <<'TEXT'
{"amount":  | a call with {} | stream {} | ai {}
{"amount": - | a call with {"amount":0} | stream {"amount":0} | ai {}
{"amount": -} | a call with {"amount":0} | stream {"amount":0} | ai failed-parse
{"amount": -1 | a call with {"amount":-1} | stream {"amount":-1} | ai {"amount":-1}
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
