#!/usr/bin/env bash
# hono 4.13.19 with @hono/node-server 2.1.9: a model is read to its end for a page that has left, and stored as shown.
#
# A route streams a model's twenty words, one each 50 ms, and stores in `finally` what it has sent. The page leaves after a few
# of them, as with Stop. The route is written with `streamSSE` (`sse`), with `streamText` (`text`), or returns a Response
# whose body is a ReadableStream (`body`).
# Expected: writing to a page that has left rejects, or the callback is ended; the loop ends, the model is closed, and a few
# words are stored.
# Seen: with both helpers a write to nobody resolves like any other. The loop goes on to the twentieth word, which is paid
# for, and stores twenty as shown: the next request has an answer that its user has not read. With the body of one's own the write
# throws and all is as expected. Only who asks `stream.aborted` before each write, or registers `onAbort`, can tell.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund hono@4.13.19 @hono/node-server@2.1.9

cat > leave.mjs <<'JS'
import { once } from "node:events";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE, streamText } from "hono/streaming";

const ends = {};
async function* model(route) {
  let read = 0;
  try {
    while (read < 20) {
      yield `word ${++read}`;
      await sleep(50);
    }
  } finally {
    ends[route].model = read < 20 ? "closed" : "read to its end";
  }
}

async function answer(route, write) {
  let sent = 0;
  ends[route] = {};
  try {
    for await (const word of model(route)) {
      await write(word);
      sent += 1;
    }
  } finally {
    ends[route].stored = sent < 20 ? "a few words" : `${sent} words`;
    ends[route].over();
  }
}

const app = new Hono();
app.get("/sse", (c) => streamSSE(c, (stream) => answer("sse", (data) => stream.writeSSE({ data }))));
app.get("/text", (c) => streamText(c, (stream) => answer("text", (word) => stream.write(word))));
app.get("/body", () => new Response(new ReadableStream({
  start(controller) {
    answer("body", (word) => controller.enqueue(new TextEncoder().encode(word))).catch(() => {});
  },
})));
const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
await once(server, "listening");
for (const route of ["sse", "text", "body"]) {
  const request = http.get({ host: "127.0.0.1", port: server.address().port, path: `/${route}` });
  const [response] = await once(request, "response");
  await once(response, "data");
  const over = new Promise((resolve) => (ends[route].over = resolve));
  response.destroy();
  await over;
  console.log(`${route}: the model is ${ends[route].model}, stored: ${ends[route].stored}`);
}
process.exit(0);
JS

node leave.mjs > seen.txt
cat > described.txt <<'TEXT'
sse: the model is read to its end, stored: 20 words
text: the model is read to its end, stored: 20 words
body: the model is closed, stored: a few words
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
