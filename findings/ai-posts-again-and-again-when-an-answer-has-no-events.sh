#!/usr/bin/env bash
# ai 7.0.173 (npm): a chat that sends the results of its client's tools by itself posts without end while answers are empty.
#
# A chat has `sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls`, as the documents have it for tools that
# run on the page. Its server has called `where`, the page has answered. The answer to that post is 200 and ends before its
# first event, as when the process behind a proxy dies once the headers are out; the seventh post is answered.
# Expected: one post more, and then an error or a chat that waits for its user: nothing has come.
# Seen: the page posts the same messages six times as fast as the answers end, and has no error at any time; it stopped
# because the server recovered. So it is if `start-step` alone has come. With `start` and `start-step`, with an `error` event
# or with 500 it posts once.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173

cat > page.mjs <<'JS'
import http from "node:http";
import { AbstractChat, DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from "ai";

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, message); };
  snapshot = (value) => structuredClone(value);
}
class Chat extends AbstractChat {
  constructor(more) { super({ ...more, state: new State() }); }
}

const events = (...all) => all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
const step = { type: "start-step" };
const asks = events({ type: "start", messageId: "m" }, step, {
  type: "tool-input-available", toolCallId: "c", toolName: "where", input: {},
}, { type: "finish-step" }, { type: "finish" });
const answers = events(step, { type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Paris." }, {
  type: "text-end", id: "t",
}, { type: "finish-step" }, { type: "finish" });
const second = {
  "no event": [200, ""],
  "start-step": [200, events(step)],
  "start and start-step": [200, events({ type: "start", messageId: "m" }, step)],
  "an error event": [200, events({ type: "error", errorText: "the model is down" })],
  "status 500": [500, ""],
};
for (const [name, [status, body]] of Object.entries(second)) {
  let posts = 0;
  const server = http.createServer((request, response) => {
    request.resume().on("end", () => {
      posts += 1;
      const [code, sent] = posts === 1 ? [200, asks] : posts < 7 ? [status, body] : [200, answers];
      response.writeHead(code, { "content-type": "text/event-stream" }).end(sent);
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  let errors = 0;
  const chat = new Chat({
    id: "chat",
    transport: new DefaultChatTransport({ api: `http://127.0.0.1:${server.address().port}/` }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onError: () => { errors += 1; },
    onToolCall: ({ toolCall }) => {
      chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: "at home" });
    },
  });
  await chat.sendMessage({ text: "Where am I?" });
  while (posts < 2 || !["ready", "error"].includes(chat.status)) await new Promise((next) => setTimeout(next, 20));
  console.log(`${name}: ${posts} posts, ${errors} errors, ${chat.status}`);
  server.closeAllConnections();
  server.close();
}
process.exit(0);
JS

node page.mjs > seen.txt
cat > described.txt <<'TEXT'
no event: 7 posts, 0 errors, ready
start-step: 7 posts, 0 errors, ready
start and start-step: 2 posts, 0 errors, ready
an error event: 2 posts, 1 errors, error
status 500: 2 posts, 1 errors, error
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
