// The same with LangGraph's short-term memory ("Add short-term memory"): a checkpointer keeps the history of a thread,
// the client posts its last message.
import { toBaseMessages, toUIMessageStream } from "@ai-sdk/langchain";
import { MemorySaver } from "@langchain/langgraph";
import { createUIMessageStreamResponse } from "ai";
import { Hono } from "hono";
import { createGraph } from "./lib/agent.mjs";
import { listen } from "./lib/listen.mjs";

const graph = createGraph({ checkpointer: new MemorySaver() });

async function POST(req) {
  const { message, id } = await req.json();

  const langchainStream = await graph.stream(
    { messages: await toBaseMessages([message]) },
    { streamMode: ["values", "messages", "tools"], configurable: { thread_id: id } },
  );

  return createUIMessageStreamResponse({
    stream: toUIMessageStream(langchainStream),
  });
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
