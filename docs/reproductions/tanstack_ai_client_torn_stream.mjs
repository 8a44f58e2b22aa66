// npm install @tanstack/ai-client@0.33.2 && node tanstack_ai_client_torn_stream.mjs
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";

const torn = [
  { type: "RUN_STARTED", threadId: "t", runId: "r", protocolVersion: "1.0" },
  { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "pay" },
  { type: "TOOL_CALL_ARGS", toolCallId: "c1", delta: '{"to": "Ann", "sum": 1' },
];
const stopped = [
  ...torn.slice(0, 1),
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Half an ans" },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "cancelled" } },
];

async function run(events) {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const heard = [];
  const chat = new ChatClient({
    threadId: "t",
    connection: fetchServerSentEvents("http://localhost", { fetchClient: async () => new Response(body) }),
    onChunk: ({ type, outcome }) => type === "RUN_FINISHED" && heard.push(type, outcome?.type ?? "without an outcome"),
    onFinish: () => heard.push("onFinish"),
    onError: () => heard.push("onError"),
  });
  await chat.sendMessage("Hi");
  const [{ content, state, input }] = chat.getMessages().at(-1).parts;
  return [...heard, chat.getStatus(), JSON.stringify({ content, state, input })].join(" ");
}

console.log("torn:   ", await run(torn));
console.log("stopped:", await run(stopped));
