// `peer:ag-ui-client`: `HttpAgent` of `@ag-ui/client` with its own transport and reader, fed over HTTP.
//
// The agent's `fetch` gets the harness's stream instead of posting to an application; all else is the package's. With
// `--reads one` a stream comes to the agent in one read, without it one event a read: the package drops what comes in
// the same read as an event for which it rejects the stream. An application that keeps threads has what stands in the
// agent's messages, and what the agent says of the end of a run.

import { createRequire } from "node:module";
import * as agUi from "@ag-ui/client";
import { json, needed, portOf, serve } from "./control.mjs";
import { received } from "./conversation.mjs";
import { CAPABILITIES, player } from "./player.mjs";

const VERSION = createRequire(import.meta.url)("@ag-ui/core/package.json").version;
const { HttpAgent } = needed(agUi, `@ag-ui/client ${VERSION}`, ["HttpAgent"]);
const IN_ONE_READ = process.argv[process.argv.indexOf("--reads") + 1] === "one";

const capabilities = { ...CAPABILITIES, name: `AG-UI client${IN_ONE_READ ? ", in one read" : ""}`, version: VERSION };

const chat = (threadId) =>
  player({
    HttpAgent,
    url: "http://localhost/agent",
    threadId,
    answered: (stream, _url, { signal }) => fetch(stream.url, { signal, headers: { accept: "text/event-stream" } }),
    inOneRead: IN_ONE_READ,
  });

// Where the package has rejected a stream, and the connection breaks afterwards, the error reaches nobody.
process.on("uncaughtException", (error) => {
  if (error.message === "terminated") return;
  console.error(error);
  process.exit(1);
});

serve(portOf(process.argv), [
  ["GET", /^\/capabilities$/, ({ res }) => json(res, capabilities)],
  [
    "POST",
    /^\/receive$/,
    async ({ value, res }) => json(res, { threads: await received(value, chat(value.thread_id)) }),
  ],
  ["POST", /^\/adopt$/, ({ value, res }) => json(res, { threads: value.threads })],
]);
