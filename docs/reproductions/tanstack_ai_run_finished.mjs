// npm install @tanstack/ai@0.58.0 && node tanstack_ai_run_finished.mjs
import { chat, toServerSentEventsResponse } from "@tanstack/ai";

const run = { threadId: "t", runId: "r" };
const answers = [
  [
    { type: "RUN_STARTED", ...run, protocolVersion: "1.0" },
    { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "weather", parentMessageId: "m1" },
    { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"city":"Tokyo"}' },
    { type: "TOOL_CALL_END", toolCallId: "c1" },
    { type: "RUN_FINISHED", ...run, finishReason: "tool_calls" },
  ],
  [
    { type: "RUN_STARTED", ...run, protocolVersion: "1.0" },
    { type: "TEXT_MESSAGE_START", messageId: "m2", role: "assistant" },
    { type: "TEXT_MESSAGE_CONTENT", messageId: "m2", delta: "Sunny." },
    { type: "TEXT_MESSAGE_END", messageId: "m2" },
    { type: "RUN_FINISHED", ...run, finishReason: "stop" },
  ],
];
const adapter = {
  kind: "text",
  name: "scripted",
  model: "scripted",
  async *chatStream() {
    yield* answers.shift();
  },
};
const weather = { name: "weather", description: "the weather", inputSchema: { type: "object" }, execute: async () => "sunny" };
const stream = chat({ adapter, ...run, messages: [{ role: "user", content: "Tokyo?" }], tools: [weather] });
for (const frame of (await toServerSentEventsResponse(stream).text()).split("\n\n").filter(Boolean)) {
  const { type, protocolVersion: version, parentMessageId: parent, messageId: id, outcome } = JSON.parse(frame.slice("data: ".length));
  console.log(type, JSON.stringify({ version, parent, id, outcome }));
}
