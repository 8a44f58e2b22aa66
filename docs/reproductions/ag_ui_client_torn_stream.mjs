// npm install @ag-ui/client@1.0.0 && node ag_ui_client_torn_stream.mjs
import { HttpAgent } from "@ag-ui/client";

const finished = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Half an ans" },
];

async function run(events) {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const agent = new HttpAgent({ url: "http://localhost", fetch: async () => new Response(body) });
  const heard = [];
  const subscriber = Object.fromEntries(
    ["onRunFinishedEvent", "onRunErrorEvent", "onRunFailed", "onRunFinalized"].map((name) => [name, () => void heard.push(name)]),
  );
  const how = await agent.runAgent({}, subscriber).then(() => "resolves", () => "rejects");
  return [how, ...heard, JSON.stringify(agent.messages.map(({ content }) => content))].join(" ");
}

console.warn = console.error = () => {};
console.log("torn stream:", await run(finished));
console.log("error page: ", await run([]));
