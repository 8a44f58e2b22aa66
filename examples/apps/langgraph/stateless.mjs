// @ai-sdk/langchain, "Streaming from LangGraph": the client keeps the history.
import { toBaseMessages, toUIMessageStream } from "@ai-sdk/langchain";
import { createUIMessageStreamResponse } from "ai";
import { Hono } from "hono";
import { createGraph } from "./lib/agent.mjs";
import { listen } from "./lib/listen.mjs";

const graph = createGraph();

async function POST(req) {
  const { messages } = await req.json();

  // Convert messages and stream from a LangGraph graph
  const langchainMessages = await toBaseMessages(messages);

  const langchainStream = await graph.stream(
    { messages: langchainMessages },
    { streamMode: ["values", "messages", "tools"] },
  );

  // Convert to UI message stream response
  return createUIMessageStreamResponse({
    stream: toUIMessageStream(langchainStream),
  });
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
