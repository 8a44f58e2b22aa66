#!/usr/bin/env bash
# @microsoft/fetch-event-source 2.0.1 (npm): a page that is hidden for a moment has its agent do everything a second time.
#
# A page posts "Pay 125." to its agent and reads the answer, whose events have no ids, as those of AG-UI, of the AI SDK and of
# Chat Completions have none. The agent pays and says "Paid. " and "Anything else?". Between the two nothing happens (`whole`), the
# connection breaks (`breaks`), or the user looks at another tab and comes back (`hidden`). All options but `onmessage` are
# left as they are.
# Expected: `breaks` rejects, and `hidden` goes on: a request that is not safe to repeat is not repeated unasked.
# Seen: both post the same body again, one second later or when the page is back: a second run pays again, and the page shows
# both answers one after the other as one. `onclose` and `onerror` are no part of it: `hidden` is no error, and an error
# without a handler is tried again for ever. `openWhenHidden: true` and an `onerror` that throws make both as expected.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund @microsoft/fetch-event-source@2.0.1

cat > twice.mjs <<'JS'
import { once } from "node:events";
import http from "node:http";
import { fetchEventSource } from "@microsoft/fetch-event-source";

// What the package needs of a page: whether it is hidden, and that this has changed.
globalThis.document = Object.assign(new EventTarget(), { hidden: false });
globalThis.window = globalThis;
const turn = (hidden) => {
  document.hidden = hidden;
  document.dispatchEvent(new Event("visibilitychange"));
};

let how, paid;
const server = http.createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  paid.push(JSON.parse(body).pay);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: Paid.\n\n");
  if (how === "whole" || paid.length > 1) response.end("data: Anything else?\n\n");
});
await once(server.listen(0, "127.0.0.1"), "listening");

async function ask(name, options) {
  how = name;
  paid = [];
  const shown = [];
  await fetchEventSource(`http://127.0.0.1:${server.address().port}/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ pay: 125 }),
    onmessage: ({ data }) => {
      shown.push(data);
      if (paid.length > 1 || shown.length > 1) return;
      if (how === "breaks") server.closeAllConnections();
      if (how === "hidden") setTimeout(() => (turn(true), turn(false)), 0);
    },
    ...options,
  }).catch((error) => console.log(`  ${error.name}`));
  console.log(`${how}${options ? ", with both options" : ""}: paid ${paid.join(" and ")}, shown: ${shown.join(" ")}`);
}

for (const name of ["whole", "breaks", "hidden"]) await ask(name);
await ask("breaks", { openWhenHidden: true, onerror: (error) => { throw error; } });
process.exit(0);
JS

node twice.mjs > seen.txt
cat > described.txt <<'TEXT'
whole: paid 125, shown: Paid. Anything else?
breaks: paid 125 and 125, shown: Paid. Paid. Anything else?
hidden: paid 125 and 125, shown: Paid. Paid. Anything else?
  TypeError
breaks, with both options: paid 125, shown: Paid.
TEXT
cat seen.txt
diff described.txt seen.txt && echo "as described"
