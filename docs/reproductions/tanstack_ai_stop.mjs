// npm install @tanstack/ai@0.58.0 && node tanstack_ai_stop.mjs
import { RUN_CANCEL_REASON, chat, toServerSentEventsResponse } from "@tanstack/ai";

const run = { threadId: "t", runId: "r" };
const call = [
  { type: "RUN_STARTED", ...run },
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "I look." },
  { type: "TEXT_MESSAGE_END", messageId: "m1" },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "weather", parentMessageId: "m1" },
  { type: "TOOL_CALL_END", toolCallId: "c1" },
  { type: "RUN_FINISHED", ...run, finishReason: "tool_calls" },
];

/** Stop a run when so many events of the model have been seen, and the tool, which heeds its signal, has begun. */
async function stopped(events) {
  const abortController = new AbortController();
  const stop = () => abortController.abort(RUN_CANCEL_REASON);
  const chatStream = async function* () {
    yield* call.slice(0, events);
    setTimeout(stop, 10);
    if (events < call.length) await new Promise((done) => abortController.signal.addEventListener("abort", done));
  };
  const execute = (_, { abortSignal }) =>
    new Promise((_, fail) => abortSignal.addEventListener("abort", () => fail(new Error("aborted"))));
  const tools = [{ name: "weather", description: "the weather", inputSchema: { type: "object" }, execute }];
  const fields = ["role", "toolCalls", "id", "type", "function", "name", "arguments", "content", "toolCallId"];
  const keep = { name: "keep", onAbort: ({ messages }) => console.log("held:", JSON.stringify(messages.slice(1), fields)) };
  const adapter = { kind: "text", name: "scripted", model: "scripted", chatStream };
  const messages = [{ role: "user", content: "Tokyo?" }];
  const stream = chat({ adapter, ...run, messages, tools, middleware: [keep], abortController });
  const body = await toServerSentEventsResponse(stream, { abortController }).text();
  console.log("sent:", body.match(/(?<="type":")\w+/g).join(" "));
}

await stopped(3);
await stopped(call.length);
