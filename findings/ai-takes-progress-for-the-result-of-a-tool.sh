#!/usr/bin/env bash
# ai 7.0.173: after Stop the model reads the progress that a tool had shown, as its result.
#
# A tool that is an async generator shows progress by yielding: these outputs are `preliminary`, the last one counts. The
# user stops the run after "1 of 3 instalments"; the tool goes on and pays all three. Then the user asks.
# Expected: the next request says that the call was interrupted, or `convertToModelMessages` refuses the call, as it is
# refused before the first progress (MissingToolResultsError).
# Seen: the page's message has `state: "output-available"` and `preliminary: true`; the conversion ignores `preliminary`,
# and the model is given "1 of 3 instalments" as the result of a tool that ended well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 zod@4.6.7

cat > stop.mjs <<'JS'
import { convertToModelMessages, readUIMessageStream, streamText, tool } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { z } from "zod";

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const answers = [
  [{ type: "tool-call", toolCallId: "c1", toolName: "pay", input: "{}" },
    { type: "finish", finishReason: { unified: "tool-calls" }, usage }],
  [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Well." }, { type: "text-end", id: "t" },
    { type: "finish", finishReason: { unified: "stop" }, usage }],
];
const asked = [];
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => {
    asked.push(prompt);
    const chunks = [{ type: "stream-start", warnings: [] }, ...answers[asked.length - 1]];
    return { stream: simulateReadableStream({ chunks }) };
  },
});
let goOn, ended;
const mayGoOn = new Promise((resolve) => { goOn = resolve; });
const hasEnded = new Promise((resolve) => { ended = resolve; });
const pay = tool({
  inputSchema: z.object({}),
  async *execute() {
    yield "1 of 3 instalments";
    await mayGoOn;
    console.log("the tool: 3 of 3 instalments");
    ended();
    yield "3 of 3 instalments";
  },
});

const user = (text) => ({ id: text, role: "user", parts: [{ type: "text", text }] });
const stop = new AbortController();
const first = streamText({
  model, tools: { pay }, abortSignal: stop.signal, messages: await convertToModelMessages([user("Pay.")]),
});
let message;
for await (message of readUIMessageStream({ stream: first.toUIMessageStream() })) {
  if (message.parts.some((part) => part.preliminary)) {
    stop.abort();
    goOn();
  }
}
await hasEnded;
const chat = [user("Pay."), JSON.parse(JSON.stringify(message)), user("Is it paid?")];
await streamText({ model, tools: { pay }, messages: await convertToModelMessages(chat) }).text;
for (const { role, content: [part] } of asked[1]) {
  console.log(`${role} ${part.type}: ${JSON.stringify(part.text ?? part.input ?? part.output)}`);
}
JS

node stop.mjs > seen.txt
cat > described.txt <<'TEXT'
the tool: 3 of 3 instalments
user text: "Pay."
assistant tool-call: {}
tool tool-result: {"type":"text","value":"1 of 3 instalments"}
user text: "Is it paid?"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
