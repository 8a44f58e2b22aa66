#!/usr/bin/env bash
# ai 7.0.173 with @ai-sdk/google 4.0.121: Stop before the first word, and Gemini refuses each later message of the chat.
#
# The stream has opened a text (`text-start`), and its user presses Stop before the first word. The official chat then holds
# an answer with an empty text. The user writes again; the messages go through `convertToModelMessages` to Gemini.
# Expected: the empty answer is left out, as @ai-sdk/anthropic and the Responses API of @ai-sdk/openai 4.0.118 leave it out.
# Seen: the request has a content of the role "model" with `parts: []`. The Gemini API refuses it ("contents.parts must not be
# empty"), and since the page posts its messages each time, it refuses every later one as well.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/google@4.0.121 @ai-sdk/anthropic@4.0.105 \
  @ai-sdk/openai@4.0.118 zod@4.6.7

cat > stop.mjs <<'JS'
import http from "node:http";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { AbstractChat, convertToModelMessages, DefaultChatTransport, generateText } from "ai";

class Chat extends AbstractChat {}
const state = { status: "ready", messages: [], snapshot: structuredClone };
state.pushMessage = (message) => state.messages.push(message);
state.popMessage = () => state.messages.pop();
state.replaceMessage = (index, message) => (state.messages[index] = message);
const begun = [{ type: "start" }, { type: "start-step" }, { type: "text-start", id: "1" }];
async function route(url, { signal }) {  // goes on without a word until the page leaves
  const { readable, writable } = new TransformStream();
  const bytes = new TextEncoder().encode(begun.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
  writable.getWriter().write(bytes).catch(() => {});
  return new Response(readable.pipeThrough(new TransformStream(), { signal }));
}
const chat = new Chat({ state, transport: new DefaultChatTransport({ fetch: route }) });
const stop = setInterval(() => chat.messages[1]?.parts.at(-1).type === "text" && chat.stop(), 5);  // it is on the page
await chat.sendMessage({ text: "Which one?" });
clearInterval(stop);
console.log(`the page: ${JSON.stringify(chat.messages.map(({ parts }) => parts.at(-1).text))}`);

let asked;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  asked = JSON.parse(body);
  response.writeHead(500).end("{}");
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const settings = { apiKey: "none", baseURL: `http://127.0.0.1:${server.address().port}` };
const models = {
  google: createGoogleGenerativeAI(settings)("gemini-2.5-flash"),
  anthropic: createAnthropic(settings)("claude-sonnet-4-5"),
  openai: createOpenAI(settings)("gpt-4o"),
};
const again = { id: "again", role: "user", parts: [{ type: "text", text: "Hello?" }] };
for (const [name, model] of Object.entries(models)) {
  const messages = await convertToModelMessages([...chat.messages, again]);
  await generateText({ model, messages, maxRetries: 0 }).catch(() => {});
  const sent = asked.contents ?? asked.messages ?? asked.input;
  console.log(`${name}: ${sent.map(({ role, parts, content }) => `${role} ${(parts ?? content).length}`).join(", ")}`);
}
process.exit(0);
JS

node stop.mjs > seen.txt
cat > described.txt <<'TEXT'
the page: ["Which one?",""]
google: user 1, model 0, user 1
anthropic: user 1, user 1
openai: user 1, user 1
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
