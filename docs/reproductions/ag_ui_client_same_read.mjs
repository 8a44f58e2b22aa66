// npm install @ag-ui/client@1.0.0 && node ag_ui_client_same_read.mjs
import { HttpAgent } from "@ag-ui/client";

const line = (event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
const answer = [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "It is 18 degrees." },
  { type: "TEXT_MESSAGE_END", messageId: "m" },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
  "[DONE]", // as servers of OpenAI's API end a stream
].map(line);

async function held(reads) {
  const pieces = [...reads];
  const body = new ReadableStream({
    async pull(controller) {
      await new Promise((later) => setTimeout(later, 10));
      if (pieces.length > 0) controller.enqueue(new TextEncoder().encode(pieces.shift()));
      else controller.close();
    },
  });
  const agent = new HttpAgent({ url: "http://localhost", fetch: async () => new Response(body) });
  await agent.runAgent().catch(() => {});
  return JSON.stringify(agent.messages.map(({ content }) => content));
}

console.warn = console.error = () => {};
console.log("one event a read", await held(answer));
console.log("all in one read ", await held([answer.join("")]));
