#!/usr/bin/env bash
# express 5.3.0 on Node 20 and 24: whether a left answer is ever stored depends on how its words are written.
#
# Three routes write the words of one async generator, whose `finally` stores what was said and lets the model go:
# `Readable.from(words).pipe(res)` (`pipe`), `pipeline(words, res)` (`pipeline`), and a loop that waits where it should
# (`if (!res.write(word)) await once(res, "drain")`, `drain`). The client reads a little and leaves.
# Expected: all three generators are closed when the response is, as a loop that `break`s closes its own.
# Seen: `pipeline` alone closes it. With `pipe` and `drain` the `finally` does not run at all, the response has emitted
# "close" and no "error": what was said is not stored and the model's connection stays open. No error is raised or logged.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund express@5.3.0

cat > leave.mjs <<'JS'
import { once } from "node:events";
import http from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as later } from "node:timers/promises";
import express from "express";

const stored = {}, heard = {};
async function* words(name) {
  try {
    for (;;) {
      await later(1);
      yield `data: ${"word ".repeat(20_000)}\n\n`;
    }
  } finally {
    stored[name] = true;
  }
}
const ways = {
  pipe: (name, res) => void Readable.from(words(name)).pipe(res),
  pipeline: (name, res) => pipeline(words(name), res).catch(() => {}),
  async drain(name, res) {
    for await (const word of words(name)) if (!res.write(word)) await once(res, "drain");
  },
};

const app = express();
app.get("/:name", (req, res) => {
  const { name } = req.params;
  heard[name] = [];
  for (const event of ["close", "error"]) res.on(event, () => heard[name].push(event));
  res.setHeader("content-type", "text/event-stream");
  return ways[name](name, res);
});
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
for (const name of Object.keys(ways)) {
  const request = http.get({ port: server.address().port, path: `/${name}` });
  const [response] = await once(request, "response");
  response.on("error", () => {});
  await once(response, "data");
  response.pause();  // a slow page: the server's buffer is full when it leaves
  await later(500);
  request.destroy();
  for (let n = 0; n < 30 && !stored[name]; n++) await later(100);
  console.log(`${name}: the response has heard ${heard[name]}; stored within 3 s: ${stored[name] ?? false}`);
}
process.exit(0);
JS

node leave.mjs > seen.txt
cat > described.txt <<'TEXT'
pipe: the response has heard close; stored within 3 s: false
pipeline: the response has heard close; stored within 3 s: true
drain: the response has heard close; stored within 3 s: false
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
