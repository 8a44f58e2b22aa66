// As memory.mjs, and a client that leaves stops the agent, as `chatRoute()` does it: the request's signal goes to `agent.stream()`.
import { handleChatStream } from "@mastra/ai-sdk";
import { toAISdkMessages } from "@mastra/ai-sdk/ui";
import { createUIMessageStreamResponse } from "ai";
import { Hono } from "hono";
import { mastra, recall } from "./lib/agents.mjs";
import { listen } from "./lib/listen.mjs";

async function POST(req) {
  const params = await req.json();
  const stream = await handleChatStream({
    mastra,
    agentId: "hotel-agent",
    version: "v7",
    params: { ...params, abortSignal: req.signal },
  });
  return createUIMessageStreamResponse({ stream });
}

async function GET(threadId) {
  return Response.json(toAISdkMessages(await recall(threadId, "tpharness"), { version: "v7" }));
}

const app = new Hono();
app.post("/api/chat", (c) => POST(c.req.raw));
app.get("/api/chat/:id", (c) => GET(c.req.param("id")));
listen(app);
