#!/usr/bin/env bash
# @ag-ui/client 1.0.0: a stream that ends without RUN_FINISHED or RUN_ERROR looks like a finished run.
#
# AG-UI 1.0 (transports) says that a truncated stream has no outcome and is not a success. The server here sends
# RUN_STARTED and half a text, and its body ends cleanly, as behind a proxy when the agent's process has died.
# Expected: `runAgent` rejects, or reports an error to its subscriber.
# Seen: `runAgent` resolves, `onRunFailed` and `onRunErrorEvent` are not called, and the half text stands in `messages`
# without a mark. A failed run (RUN_ERROR) resolves as well, so that `await agent.runAgent()` alone says nothing: only
# `onRunFinishedEvent` does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @ag-ui/client@1.0.0

cat > ends.mjs <<'JS'
import http from "node:http";
import { HttpAgent } from "@ag-ui/client";

const endings = {
  truncated: () => [],
  failed: () => [{ type: "RUN_ERROR", message: "the model is gone" }],
  finished: (run) => [{ type: "TEXT_MESSAGE_END", messageId: "m1" }, { type: "RUN_FINISHED", ...run }],
};
for (const [name, ending] of Object.entries(endings)) {
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const { threadId, runId } = JSON.parse(body);
    const events = [
      { type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" },
      { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "It is eight" },
      ...ending({ threadId, runId }),
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/` });
  const calls = [];
  const subscriber = {};
  for (const callback of ["onRunFinishedEvent", "onRunErrorEvent", "onRunFailed"]) {
    subscriber[callback] = () => { calls.push(callback); };
  }
  const outcome = await agent.runAgent({}, subscriber).then(() => "resolves", () => "rejects");
  console.log(`${name}: ${outcome}; calls ${calls.join(", ") || "nothing"}; shows "${agent.messages.at(-1).content}"`);
  server.close();
}
process.exit(0);
JS

node ends.mjs > seen.txt
cat > described.txt <<'TEXT'
truncated: resolves; calls nothing; shows "It is eight"
failed: resolves; calls onRunErrorEvent; shows "It is eight"
finished: resolves; calls onRunFinishedEvent; shows "It is eight"
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
