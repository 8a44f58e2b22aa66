#!/usr/bin/env bash
# ai 7.0.173: a page that resumes a broken stream has the answer one and a half times, and sends both to the model.
#
# A route answers with `toUIMessageStreamResponse()`, keeps the stream, and replays it to whoever comes back, as the guide to
# resumable streams has it. The connection breaks after "Do not take "; the page calls `resumeStream()`, then its user asks.
# The route gives no message ids, which is the default (`without ids`), or has `generateMessageId` (`with ids`).
# Expected: the replay takes the place of the half answer, or goes on with it: the page has resumed its own message.
# Seen: without ids the half answer stays and the replay becomes a second message after it. The page shows both, nothing is
# raised, and each later request has both: the model reads that it began, stopped, and said all of it again. The page has
# given the half answer an id of its own, and gives the replay another. For half a call the same SDK goes on with the message.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund ai@7.0.173 zod@4.6.7

cat > resume.mjs <<'JS'
import { once } from "node:events";
import http from "node:http";
import { AbstractChat, DefaultChatTransport, simulateReadableStream, streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";

const usage = { inputTokens: {}, outputTokens: {} };
const part = (delta) => ({ type: "text-delta", id: "1", delta });
const model = new MockLanguageModelV4({
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: "stream-start", warnings: [] }, { type: "text-start", id: "1" }, part("Do not "), part("take "), part("both."),
        { type: "text-end", id: "1" }, { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
      ],
    }),
  }),
});

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = (value) => structuredClone(value);
}
class Chat extends AbstractChat {}

const show = ({ role, parts }) => `${role} ${JSON.stringify(parts.filter((p) => p.text).map((p) => p.text).join(""))}`;
let posted, kept, options;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (request.method === "GET") return response.end(kept);
  posted = JSON.parse(body).messages;
  const answer = streamText({ model, prompt: "May I take both?" }).toUIMessageStreamResponse(options);
  kept = await answer.text();
  if (posted.length > 1) return response.end(kept);
  const shown = kept.slice(0, kept.indexOf("both."));  // up to the event with the last word
  response.write(shown.slice(0, shown.lastIndexOf("data: ")), () => setTimeout(() => response.destroy(), 200));
});
await once(server.listen(0, "127.0.0.1"), "listening");
const api = `http://127.0.0.1:${server.address().port}/chat`;
let n = 0;
for (const [name, more] of [["without ids", {}], ["with ids", { generateMessageId: () => `m${++n}`, originalMessages: [] }]]) {
  options = more;
  const chat = new Chat({ state: new State(), transport: new DefaultChatTransport({ api }), onError: () => {} });
  await chat.sendMessage({ text: "May I take both?" });
  console.log(`${name}: ${chat.status}, ${chat.messages.map(show).join("; ")}`);
  await chat.resumeStream();
  console.log(`  resumed: ${chat.status}, ${chat.messages.map(show).join("; ")}`);
  await chat.sendMessage({ text: "Why?" });
  console.log(`  posted: ${posted.map(show).join("; ")}`);
}
process.exit(0);
JS

node resume.mjs > seen.txt
cat > described.txt <<'TEXT'
without ids: error, user "May I take both?"; assistant "Do not take "
  resumed: ready, user "May I take both?"; assistant "Do not take "; assistant "Do not take both."
  posted: user "May I take both?"; assistant "Do not take "; assistant "Do not take both."; user "Why?"
with ids: error, user "May I take both?"; assistant "Do not take "
  resumed: ready, user "May I take both?"; assistant "Do not take both."
  posted: user "May I take both?"; assistant "Do not take both."; user "Why?"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
