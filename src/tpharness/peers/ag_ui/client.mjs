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
import { cutOf, contentsOf, messageOf } from "./messages.mjs";
import { regrouped } from "./reads.mjs";

const VERSION = createRequire(import.meta.url)("@ag-ui/core/package.json").version;
const { HttpAgent } = needed(agUi, `@ag-ui/client ${VERSION}`, ["HttpAgent"]);
const IN_ONE_READ = process.argv[process.argv.indexOf("--reads") + 1] === "one";

const capabilities = {
  contract: "1.2",
  name: `AG-UI client${IN_ONE_READ ? ", in one read" : ""}`,
  version: VERSION,
  roles: ["client"],
  carriers: false,
  wires: ["ag-ui"],
  detects: ["network_failure", "user_cancelled"],
};

/** What the harness asks of whoever plays a client. */
function player(threadId) {
  const heard = {};
  const agent = new HttpAgent({
    url: "http://localhost/agent",
    threadId,
    fetch: async (_url, { signal }) => {
      const response = await fetch(heard.stream.url, { signal, headers: { accept: "text/event-stream" } });
      return new Response(regrouped(response.body, IN_ONE_READ, () => agent.abortRun()), response);
    },
  });
  let posts = 0;
  const begins = new Map();
  return {
    async send(parts, stream) {
      Object.assign(heard, { stream, ended: null, failed: null });
      posts += 1;
      if (parts !== null) agent.addMessage({ id: `user-${posts}`, role: "user", content: contentsOf(parts) });
      const reason = stream.end.reason ?? null;
      await agent.runAgent({ runId: `run-${posts}`, ...resumed(agent, parts === null) }, subscriber(heard)).catch(() => {});
      const { cut, error } = cutOf(heard, reason);
      const finish = { cut, isNetwork: false, errorText: error, finishReason: heard.ended?.facts.finish_reason };
      return { message: messageOf(agent.messages, begins), finish };
    },
  };
}

/** An agent does not run again before every interrupt has an answer: nobody answers one by writing something else. */
function resumed(agent, answered) {
  const status = answered ? "resolved" : "cancelled";
  const resume = (agent.pendingInterrupts ?? []).map(({ id }) => ({ interruptId: id, status }));
  return resume.length === 0 ? {} : { resume };
}

/** What the agent says of the end of a run; what ended first stands (R26). */
function subscriber(heard) {
  const facts = (event) => event.metadata?.threadprotocol ?? {};
  return {
    onRunFinishedEvent: ({ event }) => void (heard.ended ??= { outcome: event.outcome?.type, facts: facts(event) }),
    onRunErrorEvent: ({ event }) => void (heard.ended ??= { outcome: "error", event, facts: facts(event) }),
    onRunFailed: ({ error }) => void (heard.failed ??= error),
  };
}

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
    async ({ value, res }) => json(res, { threads: await received(value, player(value.thread_id)) }),
  ],
  ["POST", /^\/adopt$/, ({ value, res }) => json(res, { threads: value.threads })],
]);
