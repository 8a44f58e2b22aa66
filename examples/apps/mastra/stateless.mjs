// Mastra, `handleChatStream()`, the first example, with an agent that has no memory: the client keeps the history.
import { handleChatStream } from "@mastra/ai-sdk";
import { createUIMessageStreamResponse } from "ai";
import { Hono } from "hono";
import { mastra } from "./lib/agents.mjs";
import { listen } from "./lib/listen.mjs";

async function POST(req) {
  const params = await req.json();
  const stream = await handleChatStream({
    mastra,
    agentId: "stateless-agent",
    version: "v7",
    params,
  });
  return createUIMessageStreamResponse({ stream });
}

listen(new Hono().post("/api/chat", (c) => POST(c.req.raw)));
