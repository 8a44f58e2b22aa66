// npm install @ag-ui/client@1.0.0 && node ag_ui_client_keeps.mjs
// AG-UI client: what it holds of a stream. Every line is a departure of docs/INTEROP.md, by its name in the baseline.
import { HttpAgent } from "@ag-ui/client";

const run = (...events) => [
  { type: "RUN_STARTED", threadId: "t", runId: "r", protocolVersion: "1.0" },
  ...events,
  { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "success" } },
];
const text = (messageId, delta) => [
  { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId, delta },
  { type: "TEXT_MESSAGE_END", messageId },
];
const call = (toolCallId, delta, parentMessageId) => [
  { type: "TOOL_CALL_START", toolCallId, toolCallName: "look", parentMessageId },
  { type: "TOOL_CALL_ARGS", toolCallId, delta },
  { type: "TOOL_CALL_END", toolCallId },
];
const result = (toolCallId, content) => ({ type: "TOOL_CALL_RESULT", messageId: `of-${toolCallId}`, toolCallId, content });
const step = (stepName, ...events) => [{ type: "STEP_STARTED", stepName }, ...events, { type: "STEP_FINISHED", stepName }];

async function held(...streams) {
  let body;
  const agent = new HttpAgent({ url: "http://localhost", fetch: async () => new Response(body) });
  for (const events of streams) {
    body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    await agent.runAgent();
  }
  return agent.messages.map(brief).join(" | ");
}

function brief({ role, content, toolCalls }) {
  const calls = (toolCalls ?? []).map((one) => `call ${one.id} ${one.function.arguments}`);
  return [role, ...(content === undefined ? [] : [JSON.stringify(content)]), ...calls].join(" ");
}

const streams = {
  "custom-events": [[run(...text("m", "a"), { type: "CUSTOM", name: "source", value: { url: "https://example.org" } })]],
  "responses-unbounded": [
    [run(...step("1", ...text("m", "a")), ...step("2", ...call("c", "{}", "m")))],
    [run(...step("1", ...text("m", "a"), ...call("c", "{}", "m")))],
  ],
  "results-placed": [[run(...call("c", "{}"), ...text("m", "while it runs"), result("c", "it is done"))]],
  "calls-behind-texts": [
    [run(...call("c", "{}", "m"), ...text("m", "behind the call"))],
    [run(...text("m", "before the call"), ...call("c", "{}", "m"))],
  ],
  "same-call-again": [[run(...call("c", '{"a":1}'), result("c", "x")), run(...call("c", '{"b":2}'), result("c", "y"))]],
};

console.warn = console.error = () => {};
for (const [departure, each] of Object.entries(streams))
  for (const one of each) console.log(`${departure}: ${await held(...one)}`);
