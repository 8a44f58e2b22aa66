// What @ag-ui/client holds after each run of a scene, and what it posts: one JSON object of scenes in, one of results out.
// A scene is a list of runs: what the user does (says, approved), and what the application answers (events, ending).
import { createServer } from "node:http";
import { once } from "node:events";
import { HttpAgent } from "@ag-ui/client";

const AT_ONCE = 8;
const GAP = 8; // ms: a stream that the client refuses loses what came in the same read as the refused event

const pause = (ms = GAP) => new Promise((resolve) => setTimeout(resolve, ms));

async function answer(response, run) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  for (const event of run.events) {
    await pause();
    response.write(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
  }
  await pause();
  if (run.ending === "lost") response.destroy();
  else if (run.ending !== "left") response.end();
}

function resumeOf(agent, run) {
  const open = agent.pendingInterrupts;
  if (open.length === 0) return undefined;
  return open.map((one) =>
    run.approved === undefined
      ? { interruptId: one.id, status: "cancelled" }
      : { interruptId: one.id, status: "resolved", payload: { approved: run.approved } },
  );
}

async function playRun(agent, run, number, seen) {
  if (run.says !== undefined) agent.messages = [...agent.messages, { id: `user-${number}`, role: "user", content: run.says }];
  const resume = resumeOf(agent, run);
  const result = { ends: "resolved", outcome: null };
  let events = 0;
  const subscriber = {
    onEvent: () => {
      events += 1;
    },
    onRunFinishedEvent: ({ outcome }) => {
      result.outcome = outcome;
    },
    onRunErrorEvent: ({ event }) => {
      result.outcome = event.code === "abort" ? "abort" : "error";
    },
  };
  const running = agent
    .runAgent({ runId: `run-${number}`, ...(resume && { resume }), tools: run.tools ?? [] }, subscriber)
    .catch((error) => {
      result.ends = /terminated|fetch failed|aborted/.test(error.message) ? "network" : "refused";
      result.message = error.message;
    });
  if (run.ending === "left") {
    await seen.sent;
    await pause(3 * GAP);
    agent.abortRun();
  }
  await running;
  await pause();
  return {
    ...result,
    posted: seen.body,
    accept: seen.accept,
    messages: structuredClone(agent.messages),
    state: structuredClone(agent.state),
    interrupts: structuredClone(agent.pendingInterrupts),
  };
}

async function playScene(runs) {
  let seen;
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.body = JSON.parse(Buffer.concat(chunks).toString());
    seen.accept = request.headers.accept;
    await answer(response, seen.run);
    seen.done();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const agent = new HttpAgent({ url: `http://127.0.0.1:${server.address().port}/`, threadId: "thread" });
  const played = [];
  for (const [index, run] of runs.entries()) {
    seen = { run };
    seen.sent = new Promise((resolve) => (seen.done = resolve));
    played.push(await playRun(agent, run, index + 1, seen));
  }
  server.closeAllConnections();
  server.close();
  return played;
}

console.error = () => {};
console.warn = () => {};
// Where the client has refused a stream, and its connection breaks afterwards, the error reaches nobody but the process.
process.on("uncaughtException", (error) => {
  if (error.message !== "terminated") throw error;
});
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const waiting = Object.entries(JSON.parse(Buffer.concat(chunks).toString()));
const results = {};
const worker = async () => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    results[next[0]] = await playScene(next[1]);
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, worker));
process.stdout.write(JSON.stringify(results));
