// npm install @tanstack/ai@0.58.0 && node tanstack_ai_filter.mjs
import { chat, toServerSentEventsResponse } from "@tanstack/ai";

const run = { threadId: "t", runId: "r" };
const adapter = {
  kind: "text",
  name: "scripted",
  model: "scripted",
  async *chatStream() {
    yield { type: "RUN_STARTED", ...run };
    yield { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" };
    yield { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "I can" };
    yield { type: "TEXT_MESSAGE_END", messageId: "m1" };
    yield { type: "RUN_FINISHED", ...run, finishReason: "content_filter" }; // the provider's filter has ended the answer
  },
};
const stream = chat({ adapter, ...run, messages: [{ role: "user", content: "Hi" }] });
const { type, outcome, metadata } = JSON.parse((await toServerSentEventsResponse(stream).text()).trim().split("data: ").at(-1));
console.log(JSON.stringify({ type, outcome, metadata }));
