// npm install ai@7.0.173 && node ai_sdk_client_keeps.mjs
// AI SDK: what a chat holds of a stream. Every line is a departure of docs/INTEROP.md, by its name in the baseline.
import { AbstractChat, DefaultChatTransport } from "ai";

class Chat extends AbstractChat {}

const state = (messages) => {
  const held = { status: "ready", error: undefined, messages: [...messages], snapshot: structuredClone };
  held.pushMessage = (message) => held.messages.push(message);
  held.popMessage = () => held.messages.pop();
  held.replaceMessage = (index, message) => (held.messages[index] = message);
  return held;
};

// Give each stream as the answer to a message of one chat; return the answers, and the status of the chat.
async function keep(...streams) {
  let body;
  const transport = new DefaultChatTransport({ fetch: async () => new Response(body) });
  const chat = new Chat({ state: state([]), transport, onError: () => {} });
  for (const lines of streams) {
    body = lines.map((line) => (typeof line === "string" ? line : `data: ${JSON.stringify(line)}\n\n`)).join("");
    await chat.sendMessage({ text: "Hi" });
  }
  const parts = chat.messages.filter(({ role }) => role === "assistant").map((message) => message.parts.map(brief));
  return `${parts.map((one) => one.join(" | ")).join(" // ")} (${chat.status})`;
}

function brief({ type, state: at, text, data, input, output, errorText, mediaType }) {
  if (type === "step-start") return "step";
  const said = [text, data, input, output, errorText, mediaType].filter((value) => value !== undefined);
  return [type, at, ...said.map((value) => JSON.stringify(value))].filter((value) => value !== undefined).join(" ");
}

const start = { type: "start" };
const step = { type: "start-step" };
const stepEnds = { type: "finish-step" };
const finish = { type: "finish" };
const text = (id, delta) => [{ type: "text-start", id }, { type: "text-delta", id, delta }, { type: "text-end", id }];
const call = (id, more) => ({ type: "tool-input-available", toolCallId: id, toolName: "look", input: {}, ...more });
const output = (id, value, more) => ({ type: "tool-output-available", toolCallId: id, output: value, ...more });
const begun = [start, step, { type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Hel" }];

const streams = {
  "end-unseen": [[...begun, { type: "abort" }], begun],
  "stream-stopped": [
    [...begun, { type: "weather" }, ...text("2", "lost")],
    [...begun, { type: "tool-input-delta", toolCallId: "c", inputTextDelta: "{" }, ...text("2", "lost")],
    [...begun, { type: "finish", finishReason: "safety_filter" }],
  ],
  "prototypes-refused": [[start, step, call("c"), output("c", JSON.parse('{"__proto__":1}')), ...text("1", "lost")]],
  "last-one-wins": [[start, step, call("c"), output("c", "first"), output("c", "second"), stepEnds, finish]],
  "no-place-in-a-step": [
    [start, step, call("c"), ...text("1", "before"), output("c", "x"), stepEnds, finish],
    [start, step, call("c"), output("c", "x"), ...text("1", "behind"), stepEnds, finish],
  ],
  "finish-step-unseen": [
    [start, step, ...text("1", "whole"), stepEnds, { type: "abort" }],
    [start, step, ...text("1", "not known"), { type: "abort" }],
  ],
  "late-output-at-its-call": [
    [start, step, call("c", { providerExecuted: true }), stepEnds, step, ...text("1", "next"), output("c", "x"), finish],
  ],
  "reset-takes-data": [[start, step, { type: "data-seen", data: 1 }, ...text("1", "a"), { type: "reset-step" }, finish]],
  "transient-forgotten": [[start, step, { type: "data-tp-note", data: 1, transient: true }, ...text("1", "a"), finish]],
  "after-the-end": [[start, step, ...text("1", "a"), stepEnds, finish, "data: [DONE]\n\n", ...text("2", "b")]],
  "open-over-a-step": [[...begun, stepEnds, { type: "text-delta", id: "1", delta: "lo" }, finish]],
  "refused-input": [
    [start, step, { type: "tool-input-error", toolCallId: "c", toolName: "look", input: {}, errorText: "no" }, finish],
    [start, step, call("c"), { type: "tool-output-error", toolCallId: "c", errorText: "no" }, finish],
  ],
  "empty-names": [[start, step, call("c", { toolName: "" }), { type: "file", mediaType: "", url: "data:,a" }, finish]],
  "event-names-unread": [[start, step, 'event: ping\ndata: {"type":"data-seen","data":1}\n\n', finish]],
  "errors-are-texts": [
    [start, step, call("c"), { type: "tool-output-error", toolCallId: "c", errorText: JSON.stringify({ a: 1 }) }, finish],
    [start, step, call("c"), { type: "tool-output-error", toolCallId: "c", errorText: { a: 1 } }, finish],
  ],
  "carriers-unread": [
    [start, { type: "data-sys-tp", data: { timestamp: "2025-01-20T10:00:00Z" }, transient: true }, step, ...text("1", "a"), finish],
  ],
  "times-of-events-unread": [[start, { type: "data-tp-note", data: { timestamp: "2025-01-20T10:00:30Z" } }, finish]],
};

for (const [departure, [...each]] of Object.entries(streams))
  for (const stream of each) console.log(`${departure}: ${await keep(stream)}`);
const again = [[start, step, call("c"), stepEnds, finish], [start, step, call("c"), output("c", "x"), stepEnds, finish]];
console.log(`calls-of-earlier-messages: ${await keep(...again)}`);
