// npm install @tanstack/ai-client@0.33.2 && node tanstack_ai_client_keeps.mjs
// TanStack AI's chat client: what it holds of a stream. Every line is a departure of docs/INTEROP.md, by its name in the baseline.
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";

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
const call = (toolCallId, parentMessageId) => [
  { type: "TOOL_CALL_START", toolCallId, toolCallName: "look", parentMessageId },
  { type: "TOOL_CALL_ARGS", toolCallId, delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId },
];
const thought = (messageId, delta, metadata) => [
  { type: "REASONING_START", messageId },
  { type: "REASONING_MESSAGE_START", messageId, role: "reasoning" },
  { type: "REASONING_MESSAGE_CONTENT", messageId, delta },
  { type: "REASONING_MESSAGE_END", messageId, metadata },
  { type: "REASONING_END", messageId },
];
const result = (content, metadata) => ({ type: "TOOL_CALL_RESULT", messageId: "of-c", toolCallId: "c", content, metadata });
const step = (stepName, ...events) => [{ type: "STEP_STARTED", stepName }, ...events, { type: "STEP_FINISHED", stepName }];

async function held(events) {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const connection = fetchServerSentEvents("http://localhost", { fetchClient: async () => new Response(body) });
  const chat = new ChatClient({ threadId: "t", connection });
  await chat.sendMessage("Hi");
  const parts = chat.getMessages().slice(1).map((message) => message.parts.map((part) => JSON.stringify(part)));
  return parts.map((one) => one.join(" ")).join(" // ");
}

const streams = {
  "custom-events": [run(...text("m", "a"), { type: "CUSTOM", name: "source", value: { url: "https://example.org" } })],
  "failed-tool-as-success": [run(...call("c", "m"), result("sold out", { error: true }), ...text("m2", "Sorry"))],
  "signature-unread": [run(...thought("m", "Hm.", { signature: "sig-1" }), ...text("m2", "Hello"))],
  "responses-unbounded": [
    run(...step("1", ...text("m", "a")), ...step("2", ...call("c", "m"))),
    run(...step("1", ...text("m", "a"), ...call("c", "m"))),
  ],
  "thoughts-merged": [run(...step("1", ...thought("r1", "One."), ...call("c", "m"), ...thought("r2", "Two.")))],
};
for (const [departure, each] of Object.entries(streams))
  for (const events of each) console.log(`${departure}: ${await held(events)}`);
