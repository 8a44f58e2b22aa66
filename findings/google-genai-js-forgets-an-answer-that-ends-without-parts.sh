#!/usr/bin/env bash
# @google/genai 3.3.0 (npm): an answer whose last chunk has no parts is forgotten, and with it the response of a tool.
#
# The model of a chat calls `pay`. The page runs it, sends its response with `sendMessageStream`, and shows the answer. Its
# last chunk has the finishReason with a text (`text`) or without parts, at the end (`stop`) or at the limit (`limit`);
# or the user leaves the loop after the first word (`left`). Then the user asks.
# Expected: the next request has the call, its response, and what the page has shown.
# Seen: it is so with `text` alone. Otherwise `getHistory(true)`, which is what is sent, leaves out the answer and the
# response of the tool, and keeps the call: the model is asked "Why?" after a call without a response. The Gemini API
# refuses such a request ("... the number of function response parts is equal to the number of function call parts").
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @google/genai@3.3.0

cat > chat.mjs <<'JS'
import http from "node:http";
import { GoogleGenAI } from "@google/genai";

const chunk = (content, finishReason) => (
  { candidates: [{ index: 0, content: { role: "model", ...content }, finishReason }] }
);
const says = (text, finishReason) => chunk({ parts: [{ text }] }, finishReason);
const call = { functionCall: { id: "c1", name: "pay", args: { amount: 125 } } };
const response = { functionResponse: { id: "c1", name: "pay", response: { result: "paid" } } };
const answers = {
  text: [says("Paid "), says("125.", "STOP")],
  stop: [says("Paid "), says("125."), chunk({}, "STOP")],
  limit: [says("Paid "), says("12"), chunk({}, "MAX_TOKENS")],
  left: [says("Paid "), says("125.", "STOP")],
};
let script;
let asked;
const server = http.createServer(async (request, reply) => {
  let body = "";
  for await (const piece of request) body += piece;
  asked = JSON.parse(body).contents;
  reply.writeHead(200, { "content-type": "text/event-stream" });
  reply.end(script.shift().map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join(""));
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const baseUrl = `http://127.0.0.1:${server.address().port}`;
const ai = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl } });

for (const [name, answer] of Object.entries(answers)) {
  script = [[chunk({ parts: [call] }, "STOP")], answer, [says("Well.", "STOP")]];
  const chat = ai.chats.create({ model: "gemini-2.5-flash" });
  for await (const _ of await chat.sendMessageStream({ message: "Pay 125." }));
  let shown = "";
  for await (const { text = "" } of await chat.sendMessageStream({ message: [response] })) {
    shown += text;
    if (name === "left") break;
  }
  for await (const _ of await chat.sendMessageStream({ message: "Why?" }));
  console.log(`${name}: shown "${shown}"; asked with`);
  for (const { role, parts } of asked) {
    console.log(`  ${role} ${parts.map((part) => part.text ?? Object.keys(part)).join(", ")}`.trimEnd());
  }
}
process.exit(0);
JS

node chat.mjs 2> /dev/null > seen.txt
cat > described.txt <<'TEXT'
text: shown "Paid 125."; asked with
  user Pay 125.
  model functionCall
  user functionResponse
  model Paid
  model 125.
  user Why?
stop: shown "Paid 125."; asked with
  user Pay 125.
  model functionCall
  user Why?
limit: shown "Paid 12"; asked with
  user Pay 125.
  model functionCall
  user Why?
left: shown "Paid "; asked with
  user Pay 125.
  model functionCall
  user Why?
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
