// What the harness asks of whoever plays a client of AG-UI, by an agent of `@ag-ui/client`: in Node and in a page.

import { cutOf, contentsOf, messageOf } from "./messages.mjs";
import { regrouped } from "./reads.mjs";

/** What the harness is told of it; each says its name and version beside it. */
export const CAPABILITIES = {
  contract: "1.2",
  roles: ["client"],
  carriers: false,
  wires: ["ag-ui"],
  detects: ["network_failure", "user_cancelled"],
};

/**
 * `answered(stream, url, init)` gets the answer to what the agent posts; `inOneRead` and `settled` are those of
 * `regrouped`.
 */
export function player({ HttpAgent, url, threadId, answered, inOneRead, settled }) {
  const heard = {};
  const agent = new HttpAgent({
    url,
    threadId,
    fetch: async (...asked) => {
      const response = await answered(heard.stream, ...asked);
      return new Response(regrouped(response.body, inOneRead, () => agent.abortRun(), settled), response);
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
